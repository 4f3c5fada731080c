"""Exact search, beside a NumPy float32 product with argpartition over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, latencies, quantile
from ffai.core.memory import TurnVectorStore
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.table import columns_of

DIMENSIONS, TOP_K, QUERIES = 384, 10, 15


def figures(sizes: tuple[int, ...] = (100_000, 1_000_000)) -> Iterator[Figure]:
    """Measure both for each size, in turn, and check that they find the same rows."""
    random = np.random.default_rng(7)
    store, rows = TurnVectorStore(), np.empty((0, DIMENSIONS), dtype=np.float32)
    for size in sizes:
        fresh = clustered(random, size - len(rows))
        fill(store, fresh)
        rows = np.concatenate([rows, fresh])
        queries = clustered(random, QUERIES)
        ours, theirs = [], []
        for query in queries:
            ours.append(_timed(store.search, query, TOP_K))
            theirs.append(_timed(numpy_top, rows, query))
            found = [hit.turn_index for hit in store.search(query, TOP_K)]
            assert found == numpy_top(rows, query), "the two found different rows"
        ratio = quantile(sorted(ours), 0.5) / quantile(sorted(theirs), 0.5)
        yield Figure(f"exact search of {size:,} turns, top {TOP_K}, over a NumPy product", ratio, "x", 0.25)


def _timed(call: Callable[..., object], *arguments: object) -> float:
    return latencies(lambda _: call(*arguments), 1)[0]


def clustered(random: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Make unit vectors that lie in groups, as those of conversations do."""
    centres = np.random.default_rng(1).normal(size=(500, DIMENSIONS)).astype(np.float32)
    vectors = centres[random.integers(0, len(centres), count)]
    vectors = vectors + random.normal(size=(count, DIMENSIONS)).astype(np.float32) * np.float32(0.8)
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def fill(store: TurnVectorStore, vectors: NDArray[np.float32]) -> None:
    """Add rows to a store as a file does: all at once."""
    count = len(vectors)
    turns = [NewTurn(str(number), "text", "{}", "{}") for number in range(count)]
    store._extend(columns_of(turns), vectors.astype(np.float64)[:, None])


def numpy_top(rows: NDArray[np.float32], query: NDArray[np.float32]) -> list[int]:
    """Return the best rows of unit length, best first."""
    scores = rows @ query
    best = np.argpartition(scores, len(scores) - TOP_K)[-TOP_K:]
    order: list[int] = best[np.argsort(-scores[best])].tolist()
    return order
