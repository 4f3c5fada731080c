"""What was said lately: the messages of a time that has not ended."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ffai.core.arguments import check_ids, check_number, check_whole
from ffai.core.memory.memory import Memory
from ffai.core.memory.turn_page import StoredTurn
from ffai.core.scope_policy import Scope
from ffai.errors import InvalidArgumentError
from ffai.rag.entry import MemoryEntry
from ffai.rag.roles import passes_role_filter
from ffai.rag.said import records_of

_EARLIEST = -6e10
"""Seconds since the epoch: before anything that was said."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which messages are meant. Arguments are checked when it is made.

    Examples:
        >>> Window(hours=-1.0)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: hours must be a number of at least 0, not -1.0.
    """

    hours: float = 24.0
    """How far it reaches back; what is dated later than now is in it."""
    limit: int = 100
    """How many messages at the most: the last ones, before roles are looked at."""
    include_roles: Iterable[str] | None = None
    exclude_roles: Iterable[str] | None = None

    def __post_init__(self) -> None:
        check_number("hours", self.hours, least=0.0)
        check_whole("limit", self.limit, least=0)
        for name in ("include_roles", "exclude_roles"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(sorted(check_ids(name, getattr(self, name)))))

    def read(self, memory: Memory, scope: Scope | None) -> list[MemoryEntry]:
        """Return the messages, oldest first. No embedder is needed.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
            StoreError: they can't be read just now.
        """
        return self._of(memory.recent(self._since, self.limit, scope=scope))

    async def aread(self, memory: Memory, scope: Scope | None) -> list[MemoryEntry]:
        """Await :meth:`read`."""
        return self._of(await memory.arecent(self._since, self.limit, scope=scope))

    @property
    def _since(self) -> float:
        since = time.time() - self.hours * 3600.0
        return max(since, _EARLIEST) if math.isfinite(since) else _EARLIEST

    def _of(self, turns: Sequence[StoredTurn]) -> list[MemoryEntry]:
        records = [record for turn in turns for record in records_of(turn)]
        last = records[max(0, len(records) - self.limit) :]
        return [record for record in last if passes_role_filter(record, self.include_roles, self.exclude_roles)]


def check_minimum(min_score: float) -> float:
    """Return the least cosine of what counts as found.

    Raises:
        InvalidArgumentError, ArgumentTypeError: it is no number from -1 to 1.

    Examples:
        >>> check_minimum(0.5)
        0.5
    """
    if not -1.0 <= check_number("min_score", min_score) <= 1.0:
        raise InvalidArgumentError(f"min_score must be a cosine from -1 to 1, not {min_score!r}.")
    return float(min_score)
