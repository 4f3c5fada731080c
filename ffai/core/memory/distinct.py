"""Searching for turns that differ: exact repeats count once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.filters import Scope, TurnFilter, Where
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.selection import Selection
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import as_vector


def search_distinct(
    store: TurnVectorStore,
    query: Sequence[float] | NDArray[Any],
    top_k: int,
    threshold: float | None = None,
    *,
    where: Where | None = None,
    scope: Scope | None = None,
) -> list[TurnHit]:
    """Search a store; of turns with the same text in the same scope only the closest is given, the first of equals.

    Args:
        store: the turns.
        query: shape ``(dim,)``.
        top_k: how many at the most; repeats take no place from others.
        threshold: keeps scores of at least this cosine; ``None`` keeps all.
        where: only turns with this metadata; see :meth:`TurnVectorStore.search`.
        scope: only turns of this scope.

    Returns:
        Best first. Each tells how many turns it stands for, of those that the filters allow, and when the last of
        them was said.

    Examples:
        >>> store = TurnVectorStore()
        >>> for number, text in enumerate(("again", "again", "other")):
        ...     _ = store.add(text, [1.0, len(text) - 5.0], {"timestamp": float(number)})
        >>> hits = search_distinct(store, [1.0, 0.0], top_k=2)
        >>> [(hit.text, hit.repeats, hit.last_timestamp) for hit in hits]
        [('again', 2, 1.0), ('other', 1, 2.0)]
    """
    selection, vector, asked = store._select(TurnFilter.of(where, scope)), as_vector(query), top_k
    while True:
        found = selection.closest(vector, asked, threshold)
        distinct = _first_of_equals(selection, found)
        if len(distinct) >= top_k or len(found) < asked:
            return [_with_repeats(selection, entry, score) for entry, score in distinct[:top_k]]
        asked *= 4


def _first_of_equals(selection: Selection, found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    entries = np.array([entry for entry, _ in found], dtype=np.intp)
    scopes = selection.table.noted.scopes(entries).tolist()
    first: dict[tuple[str, int], tuple[int, float]] = {}
    for (entry, score), scope in zip(found, scopes, strict=True):
        first.setdefault((selection.table.texts[entry], scope), (entry, score))
    return list(first.values())


def _with_repeats(selection: Selection, entry: int, score: float) -> TurnHit:
    """Note in a hit, which is a copy, how many turns it stands for."""
    hit, same = selection.hit(entry, score), selection.repeats_of(entry)
    if len(same) > 1:
        last = float(selection.table.noted.timestamps(same).max())
        metadata = hit.turn["metadata"] = hit.turn.get("metadata") or {}
        notes = metadata.setdefault("ffai", {}) if isinstance(metadata, dict) else None
        if isinstance(notes, dict):  # what another program has put in its place is left there
            notes["repeats"] = {"count": len(same), "last": last if math.isfinite(last) else None}
    return hit
