"""What memory has handed out is not remembered as new when it comes back in a prompt."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ffai import FFAI, Memory, MemoryScope
from ffai.core.memory.recalled import Recalled
from ffai.rag.format import build_rag_prompt
from ffai.testing import FakeClient, FakeEmbedder

FACT = "The spare key is under the mat."
ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")


def knowing(*texts: str, instead: str = "") -> Recalled:
    recalled = Recalled()
    recalled.note(texts, instead=instead)
    return recalled


@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        (f"{FACT}\nWhere?", "Where?"),
        (f"Known:\n{FACT}\nWhere?", "Known:\nWhere?"),
        (f"Where?\n{FACT}", "Where?"),
        (f"> {FACT}\nWhere?", "Where?"),
        (f'- "{FACT}"\nWhere?', "Where?"),
        (f" * \u201c{FACT}\u201d \r\nWhere?", "Where?"),
        (f"{FACT}\n{FACT}\nWhere?\n{FACT}", "Where?"),
    ],
)
def test_whole_lines_are_left_out_with_what_quotes_them(prompt: str, left: str) -> None:
    assert knowing(FACT).without(prompt) == left


@pytest.mark.parametrize(
    "prompt",
    [
        f"I said: {FACT}",
        f"{FACT} Is it?",
        f"{FACT}{FACT}",
        f"Well, {FACT} > {FACT} or not",
        f"I know, {FACT}{FACT}",
        FACT,
        f"> {FACT}\n",
        "Nothing of it.",
        FACT[:-1],
    ],
)
def test_what_is_part_of_a_line_or_all_that_is_said_stays(prompt: str) -> None:
    assert knowing(FACT).without(prompt) == prompt


def test_a_line_that_overlaps_one_that_stays_is_left_out() -> None:
    text = "one line here\nand one line here"
    prompt = f"this is {text}\n{text}"
    assert knowing(text).without(prompt) == f"this is {text}"


def test_what_stands_instead_has_its_own_line() -> None:
    recalled = knowing("Context: a wrapped question", instead="a question")
    assert recalled.without("Context: a wrapped question\nAnswer briefly.") == "a question\nAnswer briefly."
    assert recalled.without("Context: a wrapped question") == "a question"


def test_signs_of_patterns_are_only_signs() -> None:
    text = r"(a|b)* [c] \d+ \1 $^ .+"
    assert knowing(text).without(f"{text}\nWhere?") == "Where?"
    assert knowing("a plain text here", instead=r"\1 \g<0>").without("a plain text here\nx") == "\\1 \\g<0>\nx"


def test_short_texts_may_be_said_again() -> None:
    assert knowing("Yes.").without("Yes.\nAnd now?") == "Yes.\nAnd now?"


def test_what_others_recalled_counts_as_new() -> None:
    recalled = Recalled()
    recalled.note([FACT], "alice")
    prompt = f"{FACT}\nWhere?"
    assert recalled.without(prompt, "alice") == "Where?"
    assert recalled.without(prompt, "bob") == recalled.without(prompt) == prompt


def test_the_newest_2000_are_known() -> None:
    recalled = knowing(*(f"The fact number {number}" for number in range(2000)))
    recalled.note(["The fact number 0", "One more fact"])
    kept = [number for number in range(2000) if recalled.without(f"The fact number {number}\nWhere?") == "Where?"]
    assert kept == [0, *range(2, 2000)]


def test_the_newest_ten_million_characters_are_known() -> None:
    pages = [f"{number} {'x' * 3_000_000}" for number in range(4)]
    recalled = knowing("What was said first", *pages[:3], "What was said last")
    assert recalled.without("What was said first\nWhere?") == "Where?"
    recalled.note(pages)
    assert recalled.without("What was said first\nWhere?") == "What was said first\nWhere?"
    assert recalled.without("What was said last\nWhere?") == "What was said last\nWhere?"
    recalled.clear()
    recalled.note(["What was said last", *pages[:3]])
    assert recalled.without("What was said last\nWhere?") == "Where?"


def test_wrapped_prompts_are_the_question() -> None:
    context, history = "[ana]: the key is red", "user: good day"
    for text in (context, history):
        assert knowing(text).without(build_rag_prompt("", text, "What now?")) == "What now?"
    both = build_rag_prompt("Previous conversation:\nuser: good day\n\n---\n", context, "What\nnow?")
    recalled = knowing(context, "user: good day")
    assert recalled.without(both) == "What\nnow?"


@given(st.lists(st.sampled_from([FACT, "x", "", "> ", "Where?", f"I say {FACT}"]), max_size=8))
@example([FACT, FACT])
def test_only_whole_lines_go(lines: list[str]) -> None:
    prompt = "\n".join(lines)
    kept = [line for line in lines if line != FACT]
    expected = prompt if len(kept) == len(lines) else "\n".join(kept).strip() or prompt
    assert re.sub(r"\s+", " ", knowing(FACT).without(prompt)) == re.sub(r"\s+", " ", expected)


def test_threads_may_note_and_ask_at_once() -> None:
    recalled = Recalled()

    def work(who: int) -> None:
        for number in range(200):
            recalled.note([f"The fact {who} {number}"])
            assert recalled.without(f"The fact {who} {number}\nWhere?") == "Where?"

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work, who) for who in range(4)]:
            done.result()


# Through the wrapper


def talking() -> FFAI:
    return FFAI(FakeClient(["Fine."] * 20), memory=Memory(FakeEmbedder()))


def rows_with_the_fact(ffai: FFAI) -> int:
    assert ffai.memory is not None
    ffai.flush()
    return sum(FACT in turn.text for turn in ffai.memory.list().turns)


def test_five_rounds_of_context_and_answer_leave_one_row_with_the_fact() -> None:
    with talking() as ffai:
        ffai.generate_response(FACT)
        for number in range(5):
            context = ffai.rag.build_context("the spare key")
            assert FACT in context
            prompt = build_rag_prompt("", context, f"Where is the spare key, number {number}?")
            ffai.generate_response(prompt)
            assert ffai.history.raw[-1]["prompt"] == prompt
        assert rows_with_the_fact(ffai) == 1
        assert ffai.memory is not None
        asked = [turn.prompt for turn in ffai.memory.list().turns][1:]
        assert asked == [f"Where is the spare key, number {number}?" for number in range(5)]


def test_five_rounds_of_pasted_hits_leave_one_row_with_the_fact() -> None:
    with talking() as ffai:
        ffai.generate_response(FACT)
        for number in range(5):
            [hit] = [hit for hit in ffai.history.search("the spare key", top_k=9) if FACT in hit.text]
            ffai.generate_response(f"We said:\n{hit.text}\n\nSo where is it, number {number}?")
        assert rows_with_the_fact(ffai) == 1


def test_what_another_pastes_of_what_one_recalled_is_remembered() -> None:
    with talking() as ffai:
        alice, bob = ffai.scoped(ALICE), ffai.scoped(BOB)
        alice.generate_response(FACT)
        [hit] = alice.history.search("the spare key")
        bob.generate_response(f"{hit.text}\nHe says.")
        assert rows_with_the_fact(ffai) == 2


def test_what_was_forgotten_is_new_when_it_is_said_again() -> None:
    with talking() as ffai:
        assert ffai.memory is not None
        ffai.generate_response(FACT)
        [hit] = ffai.history.search("the spare key")
        ffai.memory.forget(hit.turn_id)
        ffai.generate_response(f"{hit.text}\nPlease remember it.")
        assert rows_with_the_fact(ffai) == 1
        ffai.memory.knowledge.learn("key", FACT)
        ffai.rag.build_context("the spare key")
        ffai.memory.knowledge.forget("key")
        ffai.memory.clear()
        ffai.generate_response(f"{hit.text}\nPlease remember it.")
        assert rows_with_the_fact(ffai) == 1
