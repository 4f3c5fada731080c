"""A memory is searched by what the caller attached and by whose turns they are; repeats count once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.history_manager import HistoryManager
from ffai.core.memory import TurnVectorStore
from ffai.core.memory.filters import TurnFilter
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeClient, FakeEmbedder
from tests.doubles.searching import distinct_hits

ALICE, BOB = (MemoryScope(actor_id=name, actor_type="user") for name in ("alice", "bob"))


def told(memory: Memory, text: str, scope: MemoryScope | None = None, **metadata: Any) -> str:
    return memory.remember(text, "Noted.", scope=scope, metadata=metadata)


@pytest.fixture
def memory() -> Memory:
    """Two people's turns, and one of nobody."""
    memory = Memory(FakeEmbedder())
    told(memory, "my code is 1234", ALICE, topic="code")
    told(memory, "my code is 9876", BOB, topic="code")
    told(memory, "my cat is grey", BOB, topic="cat", page=1)
    told(memory, "the code of the house is 0000")
    memory.flush()
    return memory


# Searching a memory


@pytest.mark.parametrize("distinct", [True, False])
async def test_a_search_finds_only_what_the_filters_allow(memory: Memory, distinct: bool) -> None:
    for wanted, right in (
        ({"scope": ALICE}, {"my code is 1234"}),
        ({"scope": {"actor_id": "bob", "actor_type": "user"}}, {"my code is 9876", "my cat is grey"}),
        ({"scope": BOB, "where": {"topic": "code"}}, {"my code is 9876"}),
        ({"where": {"page": 1}}, {"my cat is grey"}),
        ({"where": {"page": True}}, set()),
        ({"scope": {"actor_id": "carol", "actor_type": "user"}}, set()),
    ):
        found = memory.search("the code", 10, distinct=distinct, **wanted)
        assert {hit.prompt for hit in found} == right
        assert await memory.asearch("the code", 10, distinct=distinct, **wanted) == found


async def test_the_history_takes_the_same_filters() -> None:
    with FFAI(FakeClient(["Porto.", "Yes."]), memory=Memory(FakeEmbedder())) as ffai:
        ffai.generate_response("Where to?", prompt_name="travel")
        ffai.generate_response("Is it far?", prompt_name="distance")
        hits = ffai.history.search("Where to?", where={"prompt_name": "distance"})
        assert [hit.prompt for hit in hits] == ["Is it far?"]
        assert ffai.history.search("Where to?", scope=ALICE) == []
        assert await ffai.history.asearch("Where to?", where={"prompt_name": "distance"}) == hits


@pytest.mark.parametrize("wanted", [{"scope": {"user": "alice"}}, {"where": [1]}, {"scope": {"actor_id": 1}}])
async def test_a_wrong_filter_is_refused_before_anything_is_embedded(wanted: dict[str, Any]) -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder)
    told(memory, "a turn")
    memory.flush()
    calls = len(embedder.calls)
    without_memory = HistoryManager(HistoryRecorder())
    for reader in (memory, without_memory):
        with pytest.raises((ArgumentTypeError, InvalidArgumentError)):
            reader.search("the turn", **wanted)
        with pytest.raises((ArgumentTypeError, InvalidArgumentError)):
            await reader.asearch("the turn", **wanted)
    with pytest.raises((ArgumentTypeError, InvalidArgumentError)):
        memory.list(**wanted)
    assert len(embedder.calls) == calls


def test_a_scope_survives_the_file(tmp_path: Path) -> None:
    for _ in range(2):
        memory = Memory(FakeEmbedder())
        memory.persist_to(tmp_path)
        told(memory, "alice was here", ALICE)
        told(memory, "bob was here", BOB)
        memory.close()
    memory = Memory(FakeEmbedder())
    memory.persist_to(tmp_path)
    assert [hit.prompt for hit in memory.search("who was here?", scope=ALICE)] == ["alice was here"] * 2
    memory.close()


def test_a_file_of_another_program_is_filtered_too(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    metadata = ['{"\\u00e4":1}', '{"ä": 2, "ä": 1}', '{ "b" : 1 }', '{"b":"\\u00e4"}']
    owner = '{"actor_id": "alice", "actor_type": "user"}'
    turns = [
        f'{{"metadata":{{"ffai":{{"scope":{owner}}}}},"role":"user"}}',
        f'{{"role": "user", "timestamp": 1, "metadata": {{"x": {{"metadata": {{"ffai": {{"scope": {owner}}}}}}}}}}}',
        f'{{"role": "user", "content": [{{"metadata": {{"ffai": {{"scope": {owner}}}}}}}], "metadata": {{}}}}',
        f'{{"role": "user", "timestamp": "1", "metadata": {{"ffai": {{"scope": {owner}}}}}}}',
    ]
    polars.DataFrame(
        {
            "text": ["a", "b", "c", "d"],
            "embedding": [[1.0, 0.0]] * 4,
            "turn": turns,
            "metadata": metadata,
            "_schema_version": polars.Series([1] * 4, dtype=polars.Int8),
        }
    ).write_parquet(tmp_path / "ffai_turns.parquet")
    memory = Memory(FakeEmbedder(dimensions=2))
    memory.persist_to(tmp_path)

    def found(**wanted: Any) -> list[str]:
        return sorted(hit.text for hit in memory.store.search([1.0, 0.0], **wanted))

    assert found(where={"ä": 1}) == ["a", "b"]
    assert found(where={"b": 1}) == ["c"]
    assert found(where={"b": "ä"}) == ["d"]
    assert found(scope=MemoryScope.user("alice")) == ["a", "d"]
    memory.close()


# Turns that go


def test_filters_stay_right_when_turns_take_the_place_of_others(tmp_path: Path) -> None:
    memory = Memory(FakeEmbedder())
    for number in range(40):
        told(memory, f"turn {number}", ALICE if number % 2 else BOB, n=number)
    memory.flush()
    kept = TurnVectorStore()
    for entry in memory.store.iter_entries():
        kept.add(entry.text, entry.embedding, entry.turn, entry.metadata)
    before = [hit.text for hit in kept.search(np.ones(64), 40, scope=ALICE)]
    memory.persist_to(tmp_path)
    for size in (3, 30):  # few are left out of the columns, many make new ones
        memory.search("turn", scope=ALICE, where={"n": 1})
        gone = [turn.turn_id for turn in memory.list(limit=size).turns]
        memory.store._drop(gone)
        left = {turn.turn_id for turn in memory.list().turns}
        assert not left & set(gone)
        hits = memory.search("turn", 40, scope=ALICE)
        assert all(hit.scope.actor_id == "alice" and hit.turn_id in left for hit in hits)
        assert len(hits) == len(memory.list(scope=ALICE).turns)
        assert [hit.metadata["n"] for hit in memory.search("turn", where={"n": 39})] == [39]
        assert memory.search("turn", where={"n": 1}) == []
    assert len(before) == 20
    memory.close()


def test_expired_turns_are_named_for_who_drops_them() -> None:
    memory = Memory(FakeEmbedder())
    now = time.time()
    for name, at in (("past", now - 5), ("future", now + 500), ("never", None)):
        notes = {"turn_id": name, "expires_at": at}
        memory.index_turn_text(name, {"metadata": {"ffai": notes}})
    assert memory.store._expired(now) == ["past"]
    assert memory.store._expired(now + 1000) == ["past", "future"]
    assert memory.count() == 2
    assert memory.store._chosen(TurnFilter.of({}, {})) == ["past", "future", "never"]
    assert memory.store._chosen(TurnFilter.of({"a": 1}, {})) == []
    memory.store._drop(memory.store._expired(now))
    assert memory.store._expired(now) == []
    assert sorted(hit.text for hit in memory.search("past")) == ["future", "never"]


# Repeats


def test_a_hit_tells_how_many_it_stands_for() -> None:
    memory = Memory(FakeEmbedder())
    for at, scope in ((3.0, ALICE), (9.0, ALICE), (5.0, ALICE), (7.0, BOB)):
        memory.remember("Ping?", "Pong.", scope=scope, timestamp=at)
    memory.remember("Once?", "Once.", timestamp=1.0)
    memory.flush()

    def counted(**wanted: Any) -> list[tuple[str | None, int, float | None]]:
        hits = memory.search("Ping?", 2, distinct=True, **wanted)
        return [(hit.scope.actor_id, hit.repeats, hit.last_timestamp) for hit in hits]

    assert counted() == [("alice", 3, 9.0), ("bob", 1, 7.0)]
    assert counted(scope=ALICE) == [("alice", 3, 9.0)]
    plain = memory.search("Ping?", 1)[0]
    assert (plain.repeats, plain.last_timestamp) == (1, 3.0)
    assert "repeats" not in memory.list().turns[0].turn["metadata"]["ffai"]


def test_repeats_that_a_filter_leaves_out_or_that_expired_do_not_count() -> None:
    store = TurnVectorStore()
    for number, expires_at in enumerate((None, 1.0, None, None)):
        store.add(
            "same", [1.0], {"timestamp": number, "metadata": {"ffai": {"expires_at": expires_at}}}, {"n": number % 2}
        )
    assert [hit.repeats for hit in distinct_hits(store, [1.0], 5)] == [3]
    assert [
        (hit.repeats, hit.last_timestamp) for hit in distinct_hits(store, [1.0], 5, TurnFilter.of({"n": 1}, None))
    ] == [(1, 3.0)]


@pytest.mark.parametrize("turn", [{}, {"metadata": None}, {"metadata": {}, "timestamp": "x"}])
def test_repeats_without_notes_are_collapsed_too(turn: dict[str, Any]) -> None:
    store = TurnVectorStore()
    for _ in range(3):
        store.add("same", [1.0], turn)
    (hit,) = distinct_hits(store, [1.0], 5)
    assert hit.last_timestamp is None
    assert hit.repeats == 3


# Threads


def test_filtered_searches_are_right_while_others_add() -> None:
    store, failed, done = TurnVectorStore(), [], threading.Event()

    def add(name: str) -> None:
        for number in range(400):
            notes = {"turn_id": f"{name}{number}", "scope": {"actor_id": name, "actor_type": "user"}}
            store.add(f"{name} {number % 7}", [1.0, number % 5], {"metadata": {"ffai": notes}}, {"n": number % 3})

    def look(name: str) -> None:
        seen, hers = 0, TurnFilter.of(None, MemoryScope.user(name))
        while not done.is_set():
            hits = store.search([1.0, 0.0], 10_000, scope=MemoryScope.user(name), where={"n": 1})
            numbers = [int(hit.turn_id.removeprefix(name)) for hit in hits]
            if len(hits) < seen or sorted(numbers) != [1 + 3 * place for place in range(len(numbers))]:
                failed.append(hits)
            seen = len(hits)
            repeats = sum(hit.repeats for hit in distinct_hits(store, [1.0, 0.0], 100, hers))
            if repeats < seen:
                failed.append(repeats)

    adding = [threading.Thread(target=add, args=(name,)) for name in "ab"]
    looking = [threading.Thread(target=look, args=(name,)) for name in "ab"]
    for thread in (*adding, *looking):
        thread.start()
    for thread in adding:
        thread.join()
    done.set()
    for thread in looking:
        thread.join()
    assert not failed
    assert len(store.search([1.0, 0.0], 10_000, scope=MemoryScope.user("a"))) == 400
