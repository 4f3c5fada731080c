"""Looking through a memory without a question: what was said last, and one turn by its id."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from ffai import Memory, MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder

ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")


def recent(memory: Memory, since: float = 0.0, limit: int = 100, **kwargs: Any) -> list[str | None]:
    return [turn.prompt for turn in memory.recent(since, limit, **kwargs)]


def states(memory: Memory) -> list[tuple[str | None, str]]:
    return [(turn.prompt, turn.state) for turn in memory.recent(0.0)]


def test_the_last_turns_of_a_time_are_given_oldest_first(opened: Opener) -> None:
    memory = opened()
    for number in (3, 1, 4, 2):
        memory.remember(f"q{number}", "a", timestamp=float(number))
    assert recent(memory) == ["q1", "q2", "q3", "q4"]
    memory.flush()
    assert recent(memory) == ["q1", "q2", "q3", "q4"]
    assert recent(memory, 2.0) == ["q2", "q3", "q4"]
    assert recent(memory, 2.0, limit=2) == ["q3", "q4"]
    assert recent(memory, limit=0) == recent(memory, 5.0) == []
    memory.remember("q0", "a", timestamp=0.5)
    assert recent(memory, limit=3) == ["q2", "q3", "q4"]


def test_turns_that_wait_or_failed_are_among_them(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder(fail=lambda text: ValueError("too hot") if "failing" in text else None)
    memory = opened(tmp_path, embedder)
    memory.remember("indexed", "a", timestamp=1.0)
    failing = memory.remember("failing", "a", timestamp=2.0)
    memory.flush()
    embedder.gate.clear()
    waiting = memory.remember("waiting", "a", timestamp=3.0)
    assert states(memory) == [("indexed", "indexed"), ("failing", "failed"), ("waiting", "waiting")]
    for turn_id, prompt in ((failing, "failing"), (waiting, "waiting")):
        turn = memory.get(turn_id)
        assert turn is not None
        assert (turn.prompt, turn.turn_id) == (prompt, turn_id)
    embedder.gate.set()
    memory.flush()
    assert states(memory) == [("indexed", "indexed"), ("failing", "failed"), ("waiting", "indexed")]


def test_what_has_expired_is_not_among_them(opened: Opener) -> None:
    memory = opened(None, FakeEmbedder(fail=lambda text: ValueError("too hot") if "failing" in text else None))
    now = time.time()
    gone = [
        memory.remember(f"{kind} {when}", "a", expires_at=now + 0.2) for kind in ("indexed", "failing") for when in "ab"
    ]
    memory.remember("stays", "a", expires_at=now + 1000)
    memory.flush()
    while time.time() <= now + 0.2:
        memory.flush(0.01)
    assert recent(memory) == ["stays"]
    assert [memory.get(turn_id) for turn_id in gone] == [None] * 4


def test_only_turns_of_the_scope_are_given(opened: Opener) -> None:
    memory = opened()
    ids = [memory.remember("Hi", scope.actor_id or "", scope=scope, metadata={"n": 1}) for scope in (ALICE, BOB)]
    for _ in range(2):
        for view in (memory.scoped(ALICE), memory):
            scope = None if view is not memory else ALICE
            assert [turn.response for turn in view.recent(0.0, scope=scope)] == ["alice"]
            assert view.get(ids[0], scope=scope) is not None
            assert view.get(ids[1], scope=scope) is None
        assert len(memory.recent(0.0, where={"n": 1})) == 2
        assert memory.recent(0.0, where={"n": 2}) == []
        memory.flush()


def test_arguments_are_checked(opened: Opener) -> None:
    memory: Any = opened()
    for call in (
        lambda: memory.recent(float("nan")),
        lambda: memory.recent(0.0, -1),
        lambda: memory.get(""),
    ):
        with pytest.raises(InvalidArgumentError):
            call()
    for call in (lambda: memory.recent("yesterday"), lambda: memory.recent(0.0, 1.5), lambda: memory.get(7)):
        with pytest.raises(ArgumentTypeError):
            call()


def test_the_place_of_a_turn_is_that_of_a_search(opened: Opener) -> None:
    memory = opened()
    assert memory.place_of("key", "none").rank is None
    for number in range(8):
        memory.remember(f"Question {number} about {'keys ' * number}", "Yes.")
    memory.flush()
    for mode in ("vector", "hybrid", "keyword"):
        hits = memory.search("keys", 20, mode=mode, explain=True)
        for rank, hit in enumerate(hits, 1):
            place = memory.place_of("keys", hit.turn_id, mode=mode)
            assert (place.rank, place.score) == (rank, pytest.approx(hit.score))
    other = memory.remember("Bananas", "Yellow.")
    assert memory.place_of("keys", other, mode="keyword").rank is None
    ranked = [hit.turn_id for hit in memory.search("keys", 20, mode="hybrid")]
    assert memory.place_of("keys", other).rank == ranked.index(other) + 1
    assert memory.place_of("keys", "unknown").rank is None


def test_the_async_calls_do_the_same(opened: Opener) -> None:
    memory = opened()
    turn_id = memory.remember("Where is the key?", "Under the mat.")
    memory.knowledge.learn("spare", "The spare key is at Bob's.")

    async def look() -> None:
        assert await memory.aget(turn_id) == memory.get(turn_id)
        assert await memory.arecent(0.0) == memory.recent(0.0)
        assert await memory.aplace_of("key", turn_id) == memory.place_of("key", turn_id)
        assert await memory.aretrieve("key") == memory.retrieve("key")

    memory.flush()
    asyncio.run(look())


def test_one_retrieval_embeds_its_question_once(opened: Opener) -> None:
    embedder = FakeEmbedder()
    memory = opened(None, embedder)
    memory.remember("Where is the key?", "Under the mat.")
    memory.knowledge.learn("spare", "The spare key is at Bob's.")
    memory.retrieve("the key", wait=None)
    calls = len(embedder.calls)
    found = memory.retrieve("the key of Bob")
    assert embedder.calls[calls:] == [["the key of Bob"]]
    assert (len(found.turns), [known.key for known in found.knowledge]) == (1, ["spare"])
    assert memory.retrieve("the key", 0).turns == ()
