"""An embedder that fails: whose turn it is about, what is tried again, and what is kept."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffai.core.memory import FlushResult, Memory
from ffai.errors import EmbeddingError, MissingKeyError, ModelUnavailableError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder

SOON = 0.01
"""Seconds before the next try, as a server may say it."""


class LimitError(Exception):
    """What a provider's library raises for a rate limit."""

    status_code = 429
    retry_after = SOON


class OverloadedError(EmbeddingError):
    def __init__(self, retry_after: float | None = SOON) -> None:
        super().__init__("overloaded", transient=True, retry_after=retry_after)


class Refusing(FakeEmbedder):
    """Fails in one way or another while it is told to.

    Args:
        error: what to raise for a text, or ``None``.
    """

    def __init__(self, error: Callable[[str], BaseException | None]) -> None:
        super().__init__()
        self.error: Callable[[str], BaseException | None] | None = error

    def embed(self, texts: list[str]) -> Any:
        vectors = super().embed(texts)
        for error in map(self.error, texts) if self.error else ():
            if error is not None:
                raise error
        return vectors

    def recover(self) -> None:
        self.error = None


class Spoiling(FakeEmbedder):
    """Gives what it is told to for texts that hold a word.

    Args:
        vector: what it gives instead of a vector.
    """

    def __init__(self, vector: Any) -> None:
        super().__init__(4 * 8)
        self.bad = vector

    def embed(self, texts: list[str]) -> Any:
        good = super().embed(texts)
        return [self.bad if "bad" in text else row.tolist() for text, row in zip(texts, good, strict=True)]


def bad(error: BaseException) -> Callable[[str], BaseException | None]:
    return lambda text: error if "bad" in text else None


def remember(memory: Memory, *prompts: str) -> list[str]:
    return [memory.remember(prompt, "x") for prompt in prompts]


def settled(memory: Memory) -> FlushResult:
    """Flush until no turn waits, not even for another try."""
    deadline = time.monotonic() + 20
    while True:
        memory.flush(20)
        status = memory.status()
        if not status.pending and all(turn.attempts == 3 for turn in status.failed):
            return memory.flush(20)
        assert time.monotonic() < deadline


# Which turn it is about


@pytest.mark.parametrize("place", ["in memory", "in files"])
def test_turn_2_of_3_fails_and_is_mended_later(opened: Opener, tmp_path: Path, place: str) -> None:
    embedder = Refusing(bad(RuntimeError("no such word")))
    memory = opened(tmp_path if place == "in files" else None, embedder)
    ids = remember(memory, "first", "bad", "third")
    assert memory.flush() == FlushResult(indexed=2, pending=0, failed=1)
    (failed,) = memory.status().failed
    assert (failed.turn_id, failed.text, failed.attempts) == (ids[1], "bad\nx", 1)
    assert failed.reason == "RuntimeError: no such word"
    assert {hit.turn_id for hit in memory.search("first")} == {ids[0], ids[2]}

    embedder.recover()
    assert memory.retry_failed() == 1
    assert memory.flush() == FlushResult(indexed=3, pending=0, failed=0)
    assert memory.status().failed == ()
    assert memory.retry_failed() == 0
    assert {hit.turn_id for hit in memory.search("bad")} == set(ids)


def test_a_retry_that_fails_again_is_kept_again(opened: Opener) -> None:
    memory = opened(embedder=Refusing(bad(RuntimeError("no"))))
    remember(memory, "bad", "good")
    for _ in range(3):
        assert memory.flush() == FlushResult(1, 0, 1)
        assert memory.retry_failed() == 1


def test_a_failed_turn_is_still_known_after_a_restart_and_can_be_mended_then(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, Refusing(bad(RuntimeError("no"))))
    ids = remember(memory, "first", "bad", "third")
    assert memory.close() == FlushResult(2, 0, 1)
    again = opened(tmp_path)
    assert again.flush() == FlushResult(2, 0, 1)
    assert [turn.turn_id for turn in again.status().failed] == [ids[1]]
    assert again.status().failed[0].reason == "RuntimeError: no"
    again.retry_failed()
    assert again.flush() == FlushResult(3, 0, 0)
    again.close()
    assert opened(tmp_path).flush() == FlushResult(3, 0, 0)


def test_in_a_large_batch_only_the_refused_turns_fail(opened: Opener, tmp_path: Path) -> None:
    embedder = Refusing(bad(RuntimeError("no")))
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    prompts = [f"{'bad' if number in (0, 13, 14, 31, 40) else 'good'} {number}" for number in range(50)]
    remember(memory, *prompts)
    embedder.gate.set()
    assert memory.flush() == FlushResult(45, 0, 5)
    assert [turn.text for turn in memory.status().failed] == [f"bad {number}\nx" for number in (0, 13, 14, 31, 40)]
    assert [entry.text for entry in memory.store.iter_entries()] == [f"{p}\nx" for p in prompts if "good" in p]


@pytest.mark.parametrize(
    "vector",
    [
        [0.0] * 32,
        [float("nan")] + [1.0] * 31,
        [float("inf")] + [1.0] * 31,
        [1.0] * 31,
        [1.0] * 33,
        [],
        None,
        "text",
        [[1.0] * 32],
    ],
)
def test_a_vector_that_can_not_be_used_fails_its_turn_alone(opened: Opener, vector: Any) -> None:
    embedder = Spoiling(vector)
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, "first", "bad", "third")
    embedder.gate.set()
    assert memory.flush() == FlushResult(2, 0, 1)
    (failed,) = memory.status().failed
    assert failed.text == "bad\nx"
    assert "vector" in failed.reason
    assert all(np.isfinite(hit.score) for hit in memory.search("first"))


def test_a_first_vector_of_the_wrong_size_costs_only_its_turn_where_the_size_is_known(opened: Opener) -> None:
    embedder = Spoiling([1.0] * 7)
    memory = opened(embedder=embedder)
    remember(memory, "bad")
    assert memory.flush() == FlushResult(0, 0, 1)
    remember(memory, "good")
    assert memory.flush() == FlushResult(1, 0, 1)


@pytest.mark.parametrize("missing", [-1, 1])
def test_a_wrong_number_of_vectors_is_no_vector_for_anyone(opened: Opener, missing: int) -> None:
    class Miscounting(FakeEmbedder):
        def embed(self, texts: list[str]) -> Any:
            vectors = super().embed(texts)
            if not any("bad" in text for text in texts):
                return vectors
            return vectors[:missing] if missing < 0 else [*vectors, vectors[0]]

    embedder = Miscounting()
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, "first", "bad", "third")
    embedder.gate.set()
    assert memory.flush() == FlushResult(2, 0, 1)
    assert "vectors for 1 texts" in memory.status().failed[0].reason
    assert {hit.text for hit in memory.search("first")} == {"first\nx", "third\nx"}


def test_an_error_of_any_kind_ends_no_thread(opened: Opener) -> None:
    class PanicError(BaseException):
        """As a library written in Rust raises it."""

    memory = opened(embedder=Refusing(bad(PanicError("poisoned"))))
    remember(memory, "first", "bad", "third")
    assert memory.flush() == FlushResult(2, 0, 1)
    assert memory.status().failed[0].reason == "PanicError: poisoned"


# Trying again


@pytest.mark.parametrize("error", [LimitError("slow down"), OverloadedError()])
def test_what_works_at_the_third_try_is_indexed_once(opened: Opener, error: Exception) -> None:
    class Twice(FakeEmbedder):
        def embed(self, texts: list[str]) -> Any:
            vectors = super().embed(texts)
            if len(self.calls) <= 2:
                raise error
            return vectors

    embedder = Twice()
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, "a", "b", "c")
    embedder.gate.set()
    deadline = time.monotonic() + 20
    while memory.flush(20) != FlushResult(3, 0, 0):
        assert time.monotonic() < deadline
    assert sorted(entry.text for entry in memory.store.iter_entries()) == ["a\nx", "b\nx", "c\nx"]
    assert Counter(text for call in embedder.calls for text in call).most_common(1)[0][1] <= 3


def test_a_turn_that_waits_for_another_try_counts_as_failed_and_says_why(opened: Opener, tmp_path: Path) -> None:
    embedder = Refusing(bad(OverloadedError(retry_after=3600)))
    memory = opened(tmp_path, embedder)
    remember(memory, "bad")
    assert memory.flush() == FlushResult(0, 0, 1)
    (waiting,) = memory.status().failed
    assert (waiting.text, waiting.attempts) == ("bad\nx", 1)
    assert "overloaded" in waiting.reason
    started = time.monotonic()
    assert memory.search("anything") == []
    assert memory.close() == FlushResult(0, 0, 1)
    assert time.monotonic() - started < 1.5, "nobody waits for the next try"
    again = opened(tmp_path)
    assert again.flush() == FlushResult(0, 0, 1), "the next start is not too early either"
    assert again.retry_failed() == 1
    assert again.flush() == FlushResult(1, 0, 0)


def test_after_three_tries_a_turn_is_given_up_and_kept(opened: Opener) -> None:
    embedder = Refusing(bad(OverloadedError()))
    memory = opened(embedder=embedder)
    remember(memory, "bad")
    assert settled(memory) == FlushResult(0, 0, 1)
    assert memory.status().failed[0].attempts == 3
    assert len(embedder.calls) == 3
    embedder.recover()
    memory.retry_failed()
    assert memory.flush() == FlushResult(1, 0, 0)


def test_a_turn_that_always_times_out_does_not_take_its_neighbours_along(opened: Opener) -> None:
    embedder = Refusing(bad(OverloadedError()))
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, "first", "bad", "third", "fourth")
    embedder.gate.set()
    assert settled(memory) == FlushResult(3, 0, 1)
    assert memory.status().failed[0].text == "bad\nx"


def test_a_server_that_is_too_busy_is_not_asked_for_each_turn(opened: Opener) -> None:
    embedder = Refusing(lambda text: LimitError("slow down"))
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, "first", "second", "third", "fourth")
    embedder.gate.set()
    assert settled(memory) == FlushResult(0, 0, 4)
    assert len(embedder.calls) <= 6


def test_turns_that_come_during_a_wait_are_not_held_up(opened: Opener) -> None:
    memory = opened(embedder=Refusing(bad(OverloadedError(retry_after=3600))))
    remember(memory, "bad")
    memory.flush()
    remember(memory, "good")
    assert memory.flush() == FlushResult(1, 0, 1)
    assert memory.search("good")[0].text == "good\nx"


@pytest.mark.parametrize("retry_after", [1e12, float("inf"), float("nan"), -5, "soon"])
def test_a_server_may_say_any_nonsense_about_when_to_come_back(opened: Opener, retry_after: Any) -> None:
    error = LimitError("slow down")
    error.retry_after = retry_after
    memory = opened(embedder=Refusing(bad(error)))
    remember(memory, "bad")
    assert memory.flush() == FlushResult(0, 0, 1)
    remember(memory, "good")
    assert memory.flush() == FlushResult(1, 0, 1)
    assert memory.retry_failed() == 1


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailableError("not downloaded"),
        MissingKeyError("openai/x", "OPENAI_API_KEY"),
        EmbeddingError("wrong key", status_code=401),
    ],
)
def test_an_error_about_the_model_is_not_asked_for_each_turn(opened: Opener, error: Exception) -> None:
    embedder = Refusing(lambda text: error)
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    remember(memory, *[f"turn {number}" for number in range(20)])
    embedder.gate.set()
    assert memory.flush() == FlushResult(0, 0, 20)
    assert len(embedder.calls) <= 2


def test_an_embedder_that_always_fails_is_not_asked_for_ever(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    embedder = Refusing(lambda text: RuntimeError("broken"))
    memory = opened(embedder=embedder)
    remember(memory, *[f"turn {number}" for number in range(10)])
    assert memory.flush() == FlushResult(0, 0, 10)
    asked = len(embedder.calls)
    assert asked < 40
    memory.flush()
    memory.close()
    assert len(embedder.calls) == asked
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_the_one_who_remembers_never_sees_an_error(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    memory = opened(embedder=Refusing(lambda text: RuntimeError("broken")))
    turn_id = memory.remember("a", "b")
    memory.close()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "broken" in warnings[0]
    assert "retry_failed" in warnings[0]
    assert memory.status().failed[0].turn_id == turn_id


# Long turns


def test_a_fact_past_what_the_model_reads_is_found(opened: Opener, tmp_path: Path) -> None:
    noise = [f"noise{number}" for number in range(600)]
    long = " ".join([*noise[:300], "the", "treasure", "lies", "in", "Zanzibar", *noise[300:]])
    memory = opened(tmp_path, FakeEmbedder(max_words=50))
    for number in range(20):
        memory.remember(f"small talk {number}", " ".join(noise[number * 5 : number * 5 + 30]))
    memory.remember("tell me a story", long)
    (hit,) = memory.search("treasure in Zanzibar", top_k=1)
    assert hit.response == long
    assert memory.count() == 21
    assert hit.score > 0.2
    memory.close()
    again = opened(tmp_path, FakeEmbedder(max_words=50))
    assert again.search("treasure in Zanzibar", top_k=1) == [hit]
    assert again.count() == 21
    again.remember("one", "more")
    again.close()
    assert opened(tmp_path, FakeEmbedder(max_words=50)).search("treasure in Zanzibar", top_k=1) == [hit]


def test_the_parts_of_a_long_turn_live_through_a_change_of_the_model(opened: Opener, tmp_path: Path) -> None:
    long = " ".join([*(f"noise{number}" for number in range(300)), "Zanzibar"])
    memory = opened(tmp_path, FakeEmbedder(max_words=50))
    memory.remember("tell me a story", long)
    memory.remember("small", "talk")
    memory.reindex(FakeEmbedder(512, max_words=50, model="another"))
    best = memory.search("Zanzibar", top_k=1)
    assert best[0].response == long
    memory.close()
    assert opened(tmp_path, FakeEmbedder(512, max_words=50, model="another")).search("Zanzibar", top_k=1) == best


def test_a_turn_too_long_for_the_model_is_taken_in_pieces(opened: Opener, tmp_path: Path) -> None:
    words = [f"w{number:03d}" for number in range(200)]
    text = " ".join(words)
    embedder = Refusing(lambda t: ValueError("too many tokens") if len(t) > 300 else None)
    memory = opened(tmp_path, embedder)
    memory.remember(text, "")
    memory.remember("short", "talk")
    assert memory.flush() == FlushResult(2, 0, 0)
    for word in ("w000", "w100", "w199"):
        hits = memory.search(word, top_k=1)
        assert hits[0].text == text, word
    memory.close()
    assert opened(tmp_path).search("w199", top_k=1)[0].text == text


def test_a_turn_of_1000_characters_is_found_where_100_are_allowed(opened: Opener) -> None:
    text = "".join(f"word{number:03d} " for number in range(125))
    assert len(text) == 1000
    memory = opened(embedder=Refusing(lambda t: ValueError("too long") if len(t) > 100 else None))
    memory.remember(text, "")
    assert memory.flush() == FlushResult(1, 0, 0)
    assert memory.search("word124 word123")[0].text == text


def test_a_long_turn_that_is_refused_for_another_reason_is_given_up(opened: Opener) -> None:
    embedder = Refusing(lambda text: ValueError("not this one"))
    memory = opened(embedder=embedder)
    memory.remember("long " * 2000, "")
    assert memory.flush() == FlushResult(0, 0, 1)
    assert len(embedder.calls) < 30


# An embedder that can't be shared


class Bare:
    """Takes no weak references."""

    __slots__ = ("inner", "inside")


class Fragile(Bare):
    """Raises "Already borrowed", as tokenizers do, where two threads enter it. It says nothing about threads."""

    __slots__ = ()

    def __init__(self) -> None:
        self.inner, self.inside = FakeEmbedder(delay=0.001), 0

    def embed(self, texts: list[str]) -> Any:
        self.inside += 1
        try:
            if self.inside > 1:
                raise RuntimeError("Already borrowed")
            return self.inner.embed(texts)
        finally:
            self.inside -= 1


class FragileAsMost(Fragile):
    """An object like any other."""


@pytest.mark.parametrize("kind", [Fragile, FragileAsMost])
def test_an_embedder_is_never_entered_by_two_threads_at_once(opened: Opener, kind: type[Fragile]) -> None:
    embedder = kind()
    memory = opened(embedder=embedder)
    other = opened(embedder=embedder)  # two memories over one model
    failures: list[Exception] = []

    def search() -> None:
        try:
            for _ in range(25):
                memory.search("turn", wait=0)
        except Exception as error:
            failures.append(error)

    searchers = [threading.Thread(target=search) for _ in range(4)]
    for searcher in searchers:
        searcher.start()
    for number in range(50):
        memory.remember(f"turn {number}", "x")
        other.remember(f"turn {number}", "x")
    for searcher in searchers:
        searcher.join()
    assert failures == []
    assert memory.flush() == other.flush() == FlushResult(50, 0, 0)


def test_a_query_goes_before_the_next_batch(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    memory.remember("first", "x")
    memory.flush()
    with embedder.held():
        for number in range(100):
            memory.remember(f"turn {number}", "x")
        embedder.entered.clear()
        assert embedder.entered.wait(10)
        searching = threading.Thread(target=memory.search, args=("query",), kwargs={"wait": 0})
        searching.start()
        while ["query"] not in embedder.calls:
            pass
    searching.join(10)
    memory.flush()
    assert embedder.calls.index(["query"]) < len(embedder.calls) - 1
