"""A filtered search is the search of everything with what the filter does not allow left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory import TurnHit, TurnVectorStore
from ffai.core.memory.filters import TurnFilter
from ffai.core.memory.recent_rows import GatheredRows, RecentRows
from ffai.core.memory.vectors import VectorBlocks
from ffai.core.scope import MemoryScope
from ffai.core.similarity import unit
from tests.doubles.searching import distinct_hits

EVERYTHING = 10_000

scalars = st.sampled_from([0, 1, 2, 1.0, -0.0, True, False, None, "", "1", "a", "ä", 'b"', "\\", "\n", 1e300])
values = scalars | st.lists(scalars, max_size=2)
keys = st.sampled_from(["a", "b", 'q"', "ä", "scope"])
names = st.sampled_from(["alice", "bob", "a_b", ""])
pairs = st.fixed_dictionaries({"actor_id": names, "actor_type": st.sampled_from(["user", "agent"])}) | st.just({})
scopes = st.builds(
    lambda pair, conversation: {**(pair if pair.get("actor_id") else {}), **conversation},
    pairs,
    st.fixed_dictionaries({}, optional={"conversation_id": names}),
)


@dataclass(frozen=True)
class Said:
    text: str
    metadata: dict[str, Any]
    scope: dict[str, str] | None
    parts: int
    at: float | None

    def add_to(self, store: TurnVectorStore, random: np.random.Generator) -> None:
        notes = {} if self.scope is None else {"scope": self.scope}
        turn: dict[str, Any] = {} if self.at is None else {"timestamp": self.at}
        if self.parts:  # the form of the turn makes no difference
            turn = {"role": "assistant", "content": [{"type": "text", "text": self.text}], **turn}
        turn["metadata"] = {**self.metadata, "ffai": notes}
        vectors = random.integers(-2, 3, size=(1 + self.parts, 3)).astype(float)
        store.add(self.text, vectors[0], turn, self.metadata, parts=vectors[1:])


said = st.builds(
    Said,
    text=st.sampled_from(["yes", "no", "scope", '"scope": {"actor_id": "alice"}']),
    metadata=st.dictionaries(keys, values, max_size=3),
    scope=scopes | st.none(),
    parts=st.integers(0, 2),
    at=st.none() | st.floats(-10, 10),
)


def filled(turns: list[Said], seed: int) -> TurnVectorStore:
    store, random = TurnVectorStore(), np.random.default_rng(seed)
    for turn in turns:
        turn.add_to(store, random)
    return store


def same_json(a: Any, b: Any) -> bool:
    """Compare without hashes: numbers by value, the rest by kind and value."""
    if isinstance(a, (bool, str)) or a is None or isinstance(b, (bool, str)) or b is None:
        return type(a) is type(b) and a == b
    if isinstance(a, list) or isinstance(b, list):
        alike = isinstance(a, list) and isinstance(b, list) and len(a) == len(b)
        return alike and all(same_json(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def allowed(hit: TurnHit, where: dict[str, Any], scope: dict[str, str]) -> bool:
    has_all = all(key in hit.metadata and same_json(hit.metadata[key], value) for key, value in where.items())
    return has_all and all(getattr(hit.scope, name) == value for name, value in scope.items() if value)


wheres = st.dictionaries(keys, values, max_size=2)
seeds = st.integers(0, 2**32 - 1)
queries = st.sampled_from([[1.0, 0.0, 0.0], [1.0, -2.0, 0.5], [0.0, 0.0, 0.0]])


@given(st.lists(said, max_size=40), seeds, queries, wheres, scopes, st.integers(1, 50))
def test_a_filter_only_leaves_out(
    turns: list[Said], seed: int, query: list[float], where: dict[str, Any], scope: dict[str, str], top_k: int
) -> None:
    store = filled(turns, seed)
    right = [hit for hit in store.search(query, EVERYTHING) if allowed(hit, where, scope)]
    assert store.search(query, top_k, where=where, scope=scope) == right[:top_k]
    assert (
        store.search(query, top_k, 0.5, where=where, scope=scope) == [hit for hit in right if hit.score >= 0.5][:top_k]
    )


@given(st.lists(said, max_size=40), seeds, wheres, scopes, st.integers(0, 40))
def test_a_filter_that_was_used_before_sees_what_comes_later(
    turns: list[Said], seed: int, where: dict[str, Any], scope: dict[str, str], known: int
) -> None:
    query = [1.0, 0.5, -1.0]
    store, random = TurnVectorStore(), np.random.default_rng(seed)
    for place, turn in enumerate(turns):
        turn.add_to(store, random)
        if place % 5 == known % 5:
            store.search(query, 3, where=where, scope=scope)
    assert store.search(query, 50, where=where, scope=scope) == filled(turns, seed).search(
        query, 50, where=where, scope=scope
    )


@given(st.lists(said, max_size=40), seeds, queries, wheres, scopes, st.integers(1, 50))
def test_repeats_are_counted_exactly(
    turns: list[Said], seed: int, query: list[float], where: dict[str, Any], scope: dict[str, str], top_k: int
) -> None:
    store = filled(turns, seed)
    groups: dict[tuple[str, MemoryScope], list[TurnHit]] = {}
    for hit in store.search(query, EVERYTHING):
        if allowed(hit, where, scope):
            groups.setdefault((hit.text, hit.scope), []).append(hit)
    right = [
        (group[0].turn_index, group[0].score, len(group), latest([hit.turn.get("timestamp") for hit in group]))
        for group in groups.values()
    ]
    hits = distinct_hits(store, query, top_k, TurnFilter.of(where, scope))
    assert [(hit.turn_index, hit.score, hit.repeats, hit.last_timestamp) for hit in hits] == right[:top_k]


def latest(times: list[float | None]) -> float | None:
    return max((time for time in times if time is not None), default=None)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6000)), min_size=1, max_size=8), seeds)
def test_rows_scanned_alone_score_as_in_a_scan_of_all(chosen: list[tuple[int, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    blocks = VectorBlocks(4, with_bytes=True)
    blocks.append(random.normal(size=(7000, 4)))
    query = unit(random.normal(size=4))
    every, error = blocks.scan(query, 7000)
    for step, end in chosen:  # one after the other: what the last one gathered is used again
        rows = np.arange(0, 1 + end, step)
        scores, same_error = blocks.scan_rows(query, rows)
        assert np.array_equal(scores, every[rows])
        assert same_error == error


def test_the_rows_of_the_oldest_searches_make_room() -> None:
    recent = RecentRows()
    sets = [np.arange(first, 3000 + first, 10) for first in range(4)]  # 300 rows each
    for rows in sets:
        recent.keep(GatheredRows(rows, np.zeros((300, 2), np.int8), np.ones(300, np.float32)), most=700)
    assert [len(recent.beginning_of(rows).rows) for rows in sets] == [0, 0, 300, 300]
    longer, other = np.arange(3, 3100, 10), np.append(sets[3][:-1], 2994)
    assert len(recent.beginning_of(longer).rows) == 300  # new rows at the end are scanned beside them
    assert len(recent.beginning_of(other).rows) == 0
