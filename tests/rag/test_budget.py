"""A budget is never exceeded, whatever the texts are and however they are counted."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag.budget import MARK, Fitted, fit
from ffai.rag.format import line_of
from ffai.rag.frame import Quoted, framed
from ffai.rag.tokens import count_tokens


def in_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def in_words(text: str) -> int:
    return len(text.split())


GLYPHS = ["e\u0301", "👩‍👩‍👧", "👍🏽", "🇩🇪", "据", "ที่", "\r\n", "\ud83d\ude00", "\ud83d", "a", " ", "[", "ก็", "한"]
any_text = st.text(st.characters(), max_size=40) | st.lists(st.sampled_from(GLYPHS), max_size=20).map("".join)
some_texts = st.lists(any_text, max_size=6)
budgets = st.none() | st.integers(0, 60)


@given(some_texts, st.sampled_from([len, in_bytes, in_words, count_tokens]), budgets, budgets, st.randoms())
def test_a_budget_is_never_exceeded_and_each_entry_is_told_of_once(texts, count, max_tokens, max_chars, random):
    shown = random.sample(range(len(texts)), len(texts))
    fitted = fit(texts, count=count, max_tokens=max_tokens, max_chars=max_chars, shown=shown)
    assert max_tokens is None or count(fitted.text) <= max_tokens
    assert max_chars is None or len(fitted.text) <= max_chars
    cut = () if fitted.cut is None else (fitted.cut,)
    assert sorted((*fitted.kept, *cut, *fitted.dropped)) == [*range(len(texts))]
    assert fitted.kept == tuple(entry for entry in shown if entry in fitted.kept)
    whole = [texts[entry] for entry in fitted.kept] or [fitted.cut_text or ""]
    assert fitted.text == "\n".join(whole)


@given(some_texts, budgets, budgets)
def test_only_the_worst_are_left_out_and_only_where_they_do_not_fit(texts, max_tokens, max_chars):
    fitted = fit(texts, count=in_bytes, max_tokens=max_tokens, max_chars=max_chars)
    number = len(fitted.kept)
    assert fitted.kept == tuple(range(number))
    more = "\n".join(texts[: number + 1])
    limits = [
        limit
        for limit, found in ((max_tokens, in_bytes(more)), (max_chars, len(more)))
        if limit is not None and found > limit
    ]
    assert number == len(texts) or limits


@given(any_text, st.integers(0, 30))
def test_a_cut_text_is_the_beginning_and_a_mark_and_no_character_is_halved(text, max_chars):
    fitted = fit([text], max_chars=max_chars)
    if fitted.cut is None:
        assert fitted.text in (text, "")
        return
    assert fitted.text == fitted.cut_text
    assert fitted.cut_text.endswith(MARK)
    begun = fitted.cut_text.removesuffix(MARK)
    assert begun
    assert text.startswith(begun)
    assert not ("\ud800" <= begun[-1] <= "\udbff" and "\udc00" <= text[len(begun)] <= "\udfff")
    assert regex.findall(r"\X", begun) + regex.findall(r"\X", text[len(begun) :]) == regex.findall(r"\X", text)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4"])
@pytest.mark.parametrize("max_tokens", [0, 1, 50])
@pytest.mark.parametrize(
    "unit", ["The launch moved to Friday. ", "我们昨天决定把数据库迁移推迟到星期五。", "x", "👩‍👩‍👧 "]
)
def test_ten_long_memories_and_one_longer_than_the_budget_are_never_over(unit, max_tokens, model):
    texts = [line_of("ana", unit * 400), *(line_of(f"ben{number}", unit * 20) for number in range(9))]
    fitted = fit(texts, count=lambda text: count_tokens(text, model), max_tokens=max_tokens)
    assert count_tokens(fitted.text, model) <= max_tokens
    assert (fitted.cut, fitted.dropped) == ((0, (*range(1, 10),)) if max_tokens == 50 else (None, (*range(10),)))
    assert max_tokens < 50 or count_tokens(fitted.text, model) >= 36


def test_what_is_shown_in_another_order_is_still_dropped_by_rank():
    fitted = fit(["best", "second", "worst"], count=in_words, max_tokens=2, shown=[2, 1, 0])
    assert fitted == Fitted(text="second\nbest", kept=(1, 0), dropped=(2,))


def test_the_text_as_it_is_rendered_is_what_is_counted():
    texts = [line_of(name, "tea " * 100) for name in ("ana", "ben", "carol")]

    def quoted(known):
        return framed([Quoted(lines, "chat") for lines in known.values()], now=0.0)

    one = count_tokens(quoted({0: texts[0]}))
    fitted = fit(texts, max_tokens=one + 150, render=quoted)
    assert (fitted.kept, fitted.dropped) == ((0, 1), (2,))
    assert count_tokens(fitted.text) <= one + 150
    assert fitted.text.startswith("Remembered earlier")
    assert fit(texts, max_tokens=40, render=quoted).text == ""


def test_without_a_budget_nothing_is_counted():
    counted: list[str] = []
    assert fit(["a", "b"], count=lambda text: len(counted)).text == "a\nb"
    assert fit([], max_tokens=0) == Fitted(text="")
    assert counted == []


def test_little_is_counted():
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    fit(["word"] * 1000, count=count, max_tokens=10_000)
    assert len(counted) == 1
    fit(["word"] * 1000, count=count, max_tokens=50)
    assert len(counted) <= 12
    counted.clear()
    fit(["word " * 100_000], count=count, max_tokens=50)
    assert len(counted) <= 16
    assert sum(map(len, counted)) < 2 * 500_000, "the long text is counted once, and then short ones"


def test_a_million_characters_are_cut_in_no_time():
    start = time.process_time()
    fit(["word " * 200_000], max_tokens=100)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["max_tokens", "max_chars"])
@pytest.mark.parametrize(
    ("budget", "error"), [(-1, InvalidArgumentError), (1.5, ArgumentTypeError), (True, ArgumentTypeError)]
)
def test_a_budget_that_can_not_be_one_is_refused(name, budget, error):
    with pytest.raises(error, match=name):
        fit(["a"], **{name: budget})


@pytest.mark.parametrize("shown", [[0], [0, 0], [0, 2], [1, 2]])
def test_an_order_that_does_not_name_each_entry_once_is_refused(shown):
    with pytest.raises(InvalidArgumentError, match="shown must name"):
        fit(["a", "b"], shown=shown)
