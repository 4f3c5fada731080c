"""The recall test with one's own questions: how many turns are found, and why others are not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import FFAI, Memory, MemoryScope, RecallReport, arecall_check, recall_check
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeClient, FakeEmbedder

ANN = MemoryScope(actor_id="ann", actor_type="user")
BOB = MemoryScope(actor_id="bob", actor_type="user")
TALK = {
    "Where is the key?": "Under the mat.",
    "Who has the car?": "Anna has it.",
    "What do we eat tonight?": "Soup with bread.",
}


class Slow(FakeEmbedder):
    """An embedder that does not come to an end with rain."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def embed(self, texts: list[str]) -> Any:
        if any("pours" in text for text in texts):
            self.goes_on.wait()
        return super().embed(texts)


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory with three turns of Ann's."""
    embedder = Slow()
    memory = Memory(embedder)
    for number, (prompt, response) in enumerate(TALK.items()):
        memory.remember(prompt, response, scope=ANN, timestamp=number, metadata={"day": number})
    memory.flush()
    yield memory
    embedder.goes_on.set()
    memory.close()


def reasons(report: RecallReport) -> list[str]:
    return [miss.reason for miss in report.misses]


def test_turns_that_are_found_first_are_recalled_at_one(memory: Memory) -> None:
    report = recall_check(memory, list(TALK.items()))
    assert dict(report.recall) == {1: 1.0, 5: 1.0, 10: 1.0}
    assert (report.questions, report.misses) == (3, ())


def test_a_turn_is_expected_by_its_id_or_by_words_of_it(memory: Memory) -> None:
    turn_id = memory.remember("Which colour has the door?", "Green.")
    for expected in (turn_id, "green", "  COLOUR has\nthe door "):
        assert recall_check(memory, [("the colour of the door", expected)]).recall[1] == 1.0


def test_a_turn_that_ranks_lower_is_a_miss_with_its_rank(memory: Memory) -> None:
    report = recall_check(memory, [("What do we eat tonight with the key?", "Under the mat")], k=1)
    (miss,) = report.misses
    assert (miss.reason, miss.rank, report.recall) == ("lower", 2, {1: 0.0})
    assert miss.score == pytest.approx(memory.search(miss.question, top_k=2)[1].score)
    assert [hit.response for hit in miss.found] == ["Soup with bread."]
    assert "rank 2" in str(report)
    assert "instead: 'What do we eat tonight? Soup with bread.'" in str(report)


def test_levels_go_as_far_as_the_hits(memory: Memory) -> None:
    pairs = [("Where is the key?", "Under the mat")]
    assert [list(recall_check(memory, pairs, k=k).recall) for k in (1, 3, 10, 20)] == [
        [1], [1, 3], [1, 5, 10], [1, 5, 10, 20]
    ]  # fmt: skip


def test_of_several_expected_turns_each_counts_its_share(memory: Memory) -> None:
    report = recall_check(memory, [("Where is the key?", ["mat", "Anna", "nowhere"]), ("Who has the car?", "Anna")])
    assert report.recall[10] == pytest.approx((2 / 3 + 1) / 2)
    assert reasons(report) == ["not stored"]


def test_why_a_turn_is_missed_is_told(memory: Memory) -> None:
    other = memory.remember("Where is Bob's bike?", "In the shed.", scope=BOB)
    memory.flush()
    memory.remember("Is it raining?", "It pours.", scope=ANN)
    report = recall_check(
        memory,
        [
            ("Is it raining?", "It pours"),
            ("Where is the bike?", other),
            ("Where is the moon?", "on the roof"),
            ("Where is the key?", "under the mat", {"where": {"day": 7}}),
            ("Anything at all?", "under the mat", {"threshold": 0.99}),
        ],
        scope=ANN,
        wait=0,
    )
    assert reasons(report) == ["waiting", "filtered out", "not stored", "filtered out", "below threshold"]
    assert report.misses[1].turn_ids == (other,)
    for words in ("flush()", "scope or where", "no such turn", "below the threshold", "missed: 5"):
        assert words in str(report)


def test_a_turn_that_could_not_be_embedded_is_told() -> None:
    class Zeros:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[0.0, 0.0] if "broken" in text else [1.0, 0.0] for text in texts]

    memory = Memory(Zeros())
    memory.remember("What is broken?", "The lamp.")
    memory.flush()
    assert reasons(recall_check(memory, [("What about the light?", "The lamp")])) == ["failed"]
    memory.close()


def test_a_forgotten_or_expired_turn_is_not_stored(memory: Memory) -> None:
    forgotten = memory.remember("What is my code?", "7431.")
    memory.remember("What is on today?", "The market.", timestamp=0.0, expires_at=1.0)
    memory.flush()
    memory.forget(forgotten)
    pairs = [("code", forgotten), ("market", "The market")]
    assert reasons(recall_check(memory, pairs)) == ["not stored", "not stored"]


def test_equal_turns_that_count_once_are_each_found() -> None:
    with FFAI(FakeClient(["Under the mat."] * 2), memory=Memory(FakeEmbedder())) as ffai:
        for _ in range(2):
            ffai.generate_response("Where is the key?")
        ffai.flush()
        assert ffai.memory is not None
        ids = [turn.turn_id for turn in ffai.memory.list().turns]
        assert recall_check(ffai, [("the key", turn_id) for turn_id in ids]).recall[1] == 1.0


def test_whatever_can_be_searched_can_be_checked(memory: Memory) -> None:
    with FFAI(FakeClient([]), memory=memory) as ffai:
        pairs = [("Where is the key?", "mat"), ("Where?", "nowhere at all")]
        for searched in (ffai, ffai.history, memory, memory.search, ffai.history.search):
            report = recall_check(searched, pairs, scope=ANN)
            assert (report.recall[1], reasons(report)) == (0.5, ["not stored"])


def test_what_cant_be_listed_leaves_a_miss_unknown(memory: Memory) -> None:
    def search(query: str, top_k: int, **asked: Any) -> Any:
        return memory.search(query, top_k, **asked)

    assert reasons(recall_check(search, [("Where?", "nowhere"), ("Where is the key?", "mat")], k=3)) == ["unknown"]
    assert reasons(recall_check(search, [("Soup with bread", "mat")], k=1)) == ["lower"]


def test_nothing_is_found_instead_where_nothing_is_stored() -> None:
    report = recall_check(Memory(FakeEmbedder()), [("Where?", "Here")])
    assert report.recall == {1: 0.0, 5: 0.0, 10: 0.0}
    assert "instead: nothing" in str(report)


async def test_the_async_twin_finds_the_same(memory: Memory) -> None:
    pairs = [("Where is the key?", "mat"), ("Where?", "nowhere")]
    report = await arecall_check(memory, pairs, k=2, scope=ANN)
    assert str(report) == str(recall_check(memory, pairs, k=2, scope=ANN))


@pytest.mark.parametrize(
    ("pairs", "error", "problem"),
    [
        ([], InvalidArgumentError, "no question"),
        ("question", ArgumentTypeError, "pairs must be"),
        ({"question": "expected"}, ArgumentTypeError, "pairs must be"),
        (7, ArgumentTypeError, "pairs must be"),
        ([("a", "b"), "ab"], ArgumentTypeError, r"pair 2 must be \(question, expected\)"),
        ([("a",)], ArgumentTypeError, "pair 1 must be "),
        ([(" ", "b")], InvalidArgumentError, "the question of pair 1 is blank"),
        ([("a", "")], InvalidArgumentError, "what pair 1 expects is blank"),
        ([("a", [])], InvalidArgumentError, "pair 1 expects nothing"),
        ([("a", 7)], ArgumentTypeError, "what pair 1 expects must be text"),
        ([("a", "b", 7)], ArgumentTypeError, "the search of pair 1 must be a dict"),
    ],
)
def test_pairs_that_cant_be_used_are_named(memory: Memory, pairs: Any, error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        recall_check(memory, pairs)


def test_what_cant_be_searched_is_refused(memory: Memory) -> None:
    pairs = [("Where?", "Here")]
    with pytest.raises(ArgumentTypeError, match="memory must be"):
        recall_check(7, pairs)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="The memory is off"):
        recall_check(FFAI(FakeClient([])), pairs)
    with pytest.raises(InvalidArgumentError, match="k must be at least 1"):
        recall_check(memory, pairs, k=0)
    with pytest.raises(TypeError):
        recall_check(memory, pairs, colour="red")


words = st.lists(st.sampled_from(["key", "mat", "car", "soup", "bread", "rain", "door"]), min_size=1, max_size=3).map(
    " ".join
)


@settings(deadline=None, max_examples=25)
@given(st.lists(words, min_size=1, max_size=12), st.lists(words, min_size=1, max_size=3), st.integers(1, 12))
def test_more_hits_never_recall_less_and_a_miss_is_what_was_not_recalled(
    said: list[str], questions: list[str], k: int
) -> None:
    memory = Memory(FakeEmbedder())
    ids = [memory.remember(text, f"answer {number}", timestamp=number) for number, text in enumerate(said)]
    memory.flush()
    report = recall_check(memory, [(question, ids) for question in questions], k=k)
    shares = list(report.recall.values())
    assert shares == sorted(shares)
    assert report.recall[k] == pytest.approx(1 - len(report.misses) / (len(ids) * len(questions)))
    assert {miss.reason for miss in report.misses} <= {"lower"}
    assert all(miss.rank is not None and miss.rank > k for miss in report.misses)
    memory.close()
