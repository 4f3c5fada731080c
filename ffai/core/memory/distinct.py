"""Searching for turns that differ: exact repeats count once."""

from __future__ import annotations

import json

from ffai.core.memory.hit import TurnHit
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector


def search_distinct(store: TurnVectorStore, query: Vector, top_k: int, threshold: float | None) -> list[TurnHit]:
    """Search a store; of turns with the same text in the same scope only the first is given.

    Args:
        store: the turns.
        query: shape ``(dim,)``.
        top_k: how many at the most; repeats take no place from others.
        threshold: keeps scores of at least this cosine; ``None`` keeps all.

    Returns:
        Best first.

    Examples:
        >>> store = TurnVectorStore()
        >>> for text in ("again", "again", "other"):
        ...     _ = store.add(text, [1.0, len(text) - 5.0], {})
        >>> [hit.text for hit in search_distinct(store, [1.0, 0.0], top_k=2, threshold=None)]
        ['again', 'other']
    """
    asked = top_k
    while True:
        hits = store.search(query, asked, threshold)
        distinct: dict[tuple[str, str], TurnHit] = {}
        for hit in hits:
            distinct.setdefault((hit.text, json.dumps(hit.scope, sort_keys=True)), hit)
        if len(distinct) >= top_k or len(hits) < asked:
            return list(distinct.values())[:top_k]
        asked *= 4
