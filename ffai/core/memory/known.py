"""One entry of what a memory was taught."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ffai.core.memory.journal_knowledge import KnowledgeRow
from ffai.core.memory.knowledge_place import scope_at
from ffai.core.scope import MemoryScope


@dataclass(frozen=True, slots=True)
class Known:
    """Something that was taught."""

    key: str
    value: Mapping[str, Any]
    """A copy."""
    scope: MemoryScope
    """Whose it is: the empty scope where it is everybody's."""
    created_at: float
    """When it was first taught, in seconds since the epoch."""
    updated_at: float
    """When it was last taught."""
    cites: tuple[str, ...] = ()
    """Ids of the turns that it was made from."""
    score: float | None = None
    """Cosine similarity to the query, in ``[-1, 1]``; ``None`` where it was not searched for."""
    explained: Mapping[str, Any] = field(default_factory=dict)
    """What its place among those that were found is made of, where a search was asked to explain."""


def known_of(row: KnowledgeRow, score: float | None = None, explained: Mapping[str, Any] | None = None) -> Known:
    """Return a row as what was taught.

    Args:
        row: as it is kept.
        score: its cosine, where it was found by a search.
        explained: what its place is made of.
    """
    return Known(
        key=row.key,
        value=json.loads(row.value),
        scope=scope_at(row.place),
        created_at=row.created_at,
        updated_at=row.updated_at,
        cites=tuple(json.loads(row.cites)),
        score=score,
        explained=explained or {},
    )
