"""Searching for turns, also for turns that differ: exact repeats count once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.filters import EVERY_TURN, TurnFilter
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.selection import Selection
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import as_vector


def search_turns(
    store: TurnVectorStore,
    query: Sequence[float] | NDArray[Any],
    *,
    wanted: TurnFilter = EVERY_TURN,
    top_k: int,
    threshold: float | None = None,
    distinct: bool = False,
) -> list[TurnHit]:
    """Search a store.

    Args:
        store: the turns.
        query: shape ``(dim,)``.
        wanted: what the turns must be like.
        top_k: how many at the most.
        threshold: keeps scores of at least this cosine; ``None`` keeps all.
        distinct: of turns with the same text in the same scope only the closest is given, the first of equals, and
            repeats take no place from others. Each hit then tells how many turns it stands for, of those that are
            wanted, and when the last of them was said.

    Returns:
        Best first.

    Examples:
        >>> store = TurnVectorStore()
        >>> for number, text in enumerate(("again", "again", "other")):
        ...     _ = store.add(text, [1.0, len(text) - 5.0], {"timestamp": float(number)})
        >>> hits = search_turns(store, [1.0, 0.0], top_k=2, distinct=True)
        >>> [(hit.text, hit.repeats, hit.last_timestamp) for hit in hits]
        [('again', 2, 1.0), ('other', 1, 2.0)]
    """
    selection, vector, asked = store._select(wanted), as_vector(query), top_k
    while True:
        found = selection.closest(vector, asked, threshold)
        if not distinct:
            return [selection.hit(entry, score) for entry, score in found]
        first = _first_of_equals(selection, found)
        if len(first) >= top_k or len(found) < asked:
            return [_with_repeats(selection, entry, score) for entry, score in first[:top_k]]
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
