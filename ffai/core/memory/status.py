"""What a memory says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ffai.core.memory.journal_file import FailedTurn


@dataclass(frozen=True, slots=True)
class FlushResult:
    """What became of the turns that were accepted before a flush or a close."""

    indexed: int
    """Turns that a search finds."""
    pending: int
    """Turns that still wait to be embedded; with persistence the next start goes on with them."""
    failed: int
    """Turns that could not be embedded, or wait for another try."""


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """What was forgotten, and where it was."""

    turn_ids: tuple[str, ...]
    """The turns that were forgotten."""
    removed: Mapping[str, int] = field(default_factory=dict)
    """How much was removed from where: ``memory``, ``waiting``, ``journal``, ``file``, ``backup``, ``set_aside``,
    ``cache``, and from the histories that the turns are in; ``knowledge`` and ``threads`` where there was any."""
    remains: Mapping[str, str] = field(default_factory=dict)
    """Where forgotten text can still be read just now, and why; empty when it is nowhere any more."""

    @property
    def count(self) -> int:
        """How many turns were forgotten."""
        return len(self.turn_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatus:
    """A memory at one moment."""

    backend: str
    """What embeds: ``"local"``, a provider's name, or the embedder's class."""
    model: str
    """Name of the embedding model."""
    dimensions: int | None
    """Length of the vectors, in numbers; ``None`` until it is known."""
    indexed: int
    pending: int
    """Turns that wait to be embedded."""
    oldest_pending: float | None
    """Seconds that the one of them waits which waits longest; ``None`` if none does."""
    failed: tuple[FailedTurn, ...]
    """Turns that could not be embedded, or wait for another try, each with its reason."""
    unprepared: int
    """Turns whose questions and answers are not ready for searches by words and meaning; 0 until there was one."""
    knowledge: int
    """Entries of what was taught."""
    knowledge_pending: int
    """Those that wait to be embedded; ``memory.knowledge.refused()`` tells of those that could not be."""
    not_durable: int
    """Turns that the end of the process would lose, because the journal can't be written just now."""
    problem: str | None
    """Why turns are not durable, not written to the file, or not embedded just now."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """``file``, ``backup`` and ``journal``; empty where nothing is persisted."""
    notes: tuple[str, ...] = ()
    """What was found when the files were opened: damage, and what was recovered from where."""
    closed: bool = False
