"""Search in the turns of one person among those of a hundred, and in the conversations of two."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, latencies, quantile
from benchmarks.search import QUERIES, TOP_K, clustered
from ffai.core.memory import TurnVectorStore
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.table import columns_of
from ffai.core.scope import MemoryScope

ACTORS = 100
CONVERSATIONS = 100
"""Conversations that each two neighbours have."""
AT_ONCE = 50_000
ROUNDS = 20


def figures(size: int = 1_000_000) -> Iterator[Figure]:
    """Measure searches in 1% of the turns, and check them against all vectors of that 1% in double precision."""
    random = np.random.default_rng(7)
    store, of_one = TurnVectorStore(), []
    for start in range(0, size, AT_ONCE):
        vectors = clustered(random, min(AT_ONCE, size - start))
        turns = columns_of([said(start + place) for place in range(len(vectors))])
        store._extend(turns, vectors.astype(np.float64)[:, None])
        of_one.append(vectors[::ACTORS])
    rows = np.concatenate(of_one)
    queries, whose = clustered(random, QUERIES), MemoryScope.user("actor-0")
    for query in queries[:2]:  # the first search reads who said what
        found = [hit.turn_index for hit in store.search(query, TOP_K, scope=whose)]
        assert found == right(rows, query), "the search found other rows"
    of_one_median = _median(store, queries, whose)
    yield Figure(f"search scoped to 1% of {size:,} turns, top {TOP_K}", of_one_median, "ms", 2.0)
    two = MemoryScope.shared("actor-0", "actor-1")
    found = {hit.turn_index % ACTORS for hit in store.search(queries[0], TOP_K, scope=two)}
    assert found <= {0, 1}, "the search found turns of others"
    what = f"search in the {CONVERSATIONS} conversations of two, 2% of {size:,} turns, top {TOP_K}"
    yield Figure(what, _median(store, queries, two), "ms", 10.0)


def _median(store: TurnVectorStore, queries: NDArray[np.float32], whose: MemoryScope) -> float:
    """Return how long a search takes, in milliseconds, in the round in which others had least to do."""
    rounds = [latencies(lambda place: store.search(queries[place], TOP_K, scope=whose), QUERIES) for _ in range(ROUNDS)]
    return min(quantile(times, 0.5) for times in rounds) / 1000


def scope_of(number: int) -> MemoryScope:
    """Return the scope of the person whose turn the one with a number is; a hundred of them take turns."""
    actor = number % ACTORS
    conversation = f"conversation-{actor // 2}-{number // ACTORS % CONVERSATIONS}"
    return MemoryScope.user(f"actor-{actor}", conversation=conversation)


def said(number: int) -> NewTurn:
    """Make a turn as it is noted, without a long text."""
    notes = {"turn_id": str(number), "response_at": 5, "scope": scope_of(number).to_metadata()}
    turn = {"role": "assistant", "content": [], "timestamp": float(number), "metadata": {"ffai": notes}}
    return NewTurn(str(number), "How?\nThus.", json.dumps(turn), "{}")


def right(rows: NDArray[np.float32], query: NDArray[np.float32]) -> list[int]:
    """Return where the best of one person's turns are, best first."""
    best: list[int] = (np.argsort(-(rows.astype(np.float64) @ query), kind="stable")[:TOP_K] * ACTORS).tolist()
    return best
