"""What a `LearningMemory` gives out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from ffai.objects.memory.entry import MemoryEntry

SEMANTIC = "semantic"


class Asking(TypedDict, total=False):
    """What of the things learned is wanted."""

    key: str | None
    """Only this key."""
    query: str | None
    """What records are searched for beside the memories; nothing is searched without a searcher."""
    min_confidence: float | None
    """What is less sure is left out; ``None`` as the memory has it."""
    include_ancestors: bool
    """Whether the scopes above are looked in, where those below have nothing; they are unless it is ``False``."""
    limit: int | None
    """How many at the most; ``None`` for all."""
    semantic_limit: int
    """How many records a search gives at the most; 10 by default."""
    min_similarity: float | None
    """Of records to the query; ``None`` for what ``min_confidence`` comes to."""
    now: float | None
    """Seconds since the epoch; ``None`` for what the clock says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedEntry:
    """A memory that is sure enough to be used, or a record that a search found.

    Examples:
        >>> LearnedEntry(id="1", scope="example.com", key="selector", value="article", confidence=0.9).source
        'context'
    """

    id: str
    """Of the memory, or of the record."""
    scope: str
    """Where the memory lies; ``"semantic"`` for a record."""
    key: str
    """Of the memory; the id of a record."""
    value: Any
    """Of the memory; the public form of a record."""
    confidence: float
    """How sure it is now, 0 to 1, after what time has worn off; the similarity of a record."""
    success_count: int = 0
    failure_count: int = 0
    last_used_at: float | None = None
    """When it was used before: given out, or an outcome of it reported. Seconds since the epoch."""
    source: Literal["context", "semantic"] = "context"
    """Where it comes from: the memories, or the search."""
    similarity: float | None = None
    """Of a record to the query; ``None`` for a memory."""


def learned(entry: MemoryEntry, confidence: float) -> LearnedEntry:
    """Return a memory as it is given out."""
    return LearnedEntry(
        id=entry.id,
        scope=entry.scope,
        key=entry.key,
        value=entry.value,
        confidence=confidence,
        success_count=entry.success_count,
        failure_count=entry.failure_count,
        last_used_at=entry.last_used_at,
    )


def found(hit: Any) -> LearnedEntry:
    """Return a hit of a search as it is given out.

    Args:
        hit: has ``.similarity`` and ``.record``; its ``.public()`` is the value where it has one, its ``.id`` the key.

    Examples:
        >>> from types import SimpleNamespace
        >>> found(SimpleNamespace(id="a-1", similarity=0.8, record="a text")).confidence
        0.8
    """
    key = str(getattr(hit, "id", ""))
    similarity = float(hit.similarity)
    return LearnedEntry(
        id=key,
        scope=SEMANTIC,
        key=key,
        value=hit.public() if callable(getattr(hit, "public", None)) else hit.record,
        confidence=min(1.0, max(0.0, similarity)),
        source="semantic",
        similarity=similarity,
    )


def best_first(entries: list[LearnedEntry]) -> list[LearnedEntry]:
    """Return them in order: the surest, then the most similar, then by name."""
    return sorted(entries, key=lambda e: (-e.confidence, -(e.similarity or 0.0), e.scope, e.key, e.id))
