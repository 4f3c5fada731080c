"""Finding the turns of a table that are closest to a vector: exactly, by a rough scan and a second look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.table import Table
from ffai.core.similarity import Vector, candidates, cosine, likely_best, rounding_bound, unit

FEW = 16
"""At most an n-th of the rows are gathered and scanned alone; of more, all are scanned: memory is read in order."""

Entries = NDArray[np.intp]


def closest(
    query: Vector, table: Table, count: int, top_k: int, among: Entries | None = None
) -> tuple[Entries, Vector]:
    """Find the ``top_k`` entries closest to a vector.

    A scan gives rough scores, each at most ``error`` away. The ``top_k``-th best of a guess bounds the final one from
    below, so whatever scores less than that by more than ``error`` is out for certain, and the rest is scored again.

    Args:
        query: shape ``(dim,)``.
        table: the turns.
        count: looks among the first ``count`` entries, at least 1.
        top_k: how many are wanted, at least 1.
        among: looks at these entries only: ascending, at least one; ``None`` looks at all.

    Returns:
        The entries, best first, equal ones in their order; and their cosines.
    """
    assert table.vectors is not None  # noqa: S101 - there are entries
    vectors, direction = table.vectors, unit(query)
    rough, error = rough_scores(query, table, count, among)
    rounding = rounding_bound(query.size)

    def rows_of(places: Entries) -> tuple[Entries, Entries]:
        return table.rows_of(places if among is None else among[places])

    def score(places: Entries) -> NDArray[np.float32]:
        rows, starts = rows_of(places)
        best: NDArray[np.float32] = np.maximum.reduceat(vectors.score(direction, rows), starts)
        return best

    guess = score(likely_best(rough, top_k))
    floor = np.partition(guess, guess.size - top_k)[guess.size - top_k] if top_k <= guess.size else -2.0
    possible = np.flatnonzero(rough >= np.float32(floor - error - rounding))
    chosen = possible[candidates(score(possible), top_k, rounding)]
    exact = exact_scores(query, table, chosen if among is None else among[chosen])
    best = np.lexsort((chosen, -exact))[:top_k]
    return chosen[best] if among is None else among[chosen[best]], exact[best]


def exact_scores(query: Vector, table: Table, entries: Entries) -> Vector:
    """Return the cosines of entries, each that of its best row: shape ``(entries,)``.

    Args:
        query: shape ``(dim,)``.
        table: the turns.
        entries: in any order.
    """
    if not entries.size or table.vectors is None:
        return np.zeros(entries.size)
    rows, starts = table.rows_of(entries)
    best: Vector = np.maximum.reduceat(cosine(query, table.vectors.exact(rows)), starts)
    return best


def rough_scores(query: Vector, table: Table, count: int, among: Entries | None) -> tuple[NDArray[np.float32], float]:
    """Score entries roughly, each by the best of its rows; tell how far a score is from the exact one at the most.

    Args:
        query: shape ``(dim,)``.
        table: the turns.
        count: looks among the first ``count`` entries, at least 1.
        among: looks at these entries only: ascending, at least one; ``None`` looks at all.
    """
    assert table.vectors is not None  # noqa: S101 - there are entries
    direction = unit(query)
    if among is None and table.is_dense:
        return table.vectors.scan(direction, count)
    rows, starts = table.rows_of(np.arange(count) if among is None else among)
    if rows.size * FEW <= rows[-1]:
        scores, error = table.vectors.scan_rows(direction, rows)
    else:
        scores, error = table.vectors.scan(direction, int(rows[-1]) + 1)
        scores = scores[rows]
    return scores if starts.size == rows.size else np.maximum.reduceat(scores, starts), error
