"""What the turns of a table note about themselves, read when it is first asked for."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column
from ffai.core.memory.turn_json import TurnNotes, read_notes
from ffai.core.scope import MemoryScope
from ffai.core.similarity import Vector

Entries = NDArray[np.intp]

_AT_ONCE = 1024
"""Turns that are read while nobody else can look: a few milliseconds."""
_UNREAD = -1


class Noted:
    """When each turn was said, and in which scope. A turn is read once.

    Args:
        turns: the turn dicts of a table, as JSON.
        lock: one at a time reads turns that were not read yet.

    Examples:
        >>> noted = Noted(['{"timestamp": 2.5}', "{}"], threading.Lock())
        >>> noted.timestamps(np.array([0, 1])).tolist()
        [2.5, -inf]
    """

    def __init__(self, turns: Sequence[str], lock: threading.Lock) -> None:
        self._turns, self._lock = turns, lock
        self._room = 0
        self._timestamps, self._scopes = Column(np.float64), Column(np.int32)
        self._number_of: dict[MemoryScope, int] = {}

    def timestamps(self, entries: Entries) -> Vector:
        """Return when turns were said, in seconds since the epoch; minus infinity where they don't tell."""
        self._read(entries)
        found: Vector = self._timestamps.view(self._room)[entries]
        return found

    def scopes(self, entries: Entries) -> NDArray[np.int32]:
        """Return numbers that are equal for turns of the same scope."""
        self._read(entries)
        found: NDArray[np.int32] = self._scopes.view(self._room)[entries]
        return found

    def _read(self, entries: Entries) -> None:
        while True:
            with self._lock:
                self._make_room(int(entries.max(initial=-1)) + 1)
                unread = entries[self._scopes.view(self._room)[entries] == _UNREAD]
                if not unread.size:
                    return
                self._read_some(unread[:_AT_ONCE])

    def _make_room(self, room: int) -> None:
        if (more := room - self._room) > 0:
            self._timestamps.extend(np.full(more, -math.inf))
            self._scopes.extend(np.full(more, _UNREAD))
            self._room = room

    def _read_some(self, entries: Entries) -> None:
        notes = [read_notes(self._turns[entry]) for entry in entries.tolist()]
        timestamps, scopes = self._timestamps.view(self._room), self._scopes.view(self._room)
        timestamps[entries] = [-math.inf if note.timestamp is None else note.timestamp for note in notes]
        scopes[entries] = [self._number_of.setdefault(_whose(note), len(self._number_of)) for note in notes]

    def of(self, kept: Entries, turns: Sequence[str]) -> Noted:
        """Return what is known of some of the turns.

        Args:
            kept: their entries here, ascending.
            turns: the turn dicts of a table that has only these.
        """
        fresh = Noted(turns, self._lock)
        with self._lock:
            read = kept[: np.searchsorted(kept, self._room)]
            fresh._timestamps.extend(self._timestamps.view(self._room)[read])
            fresh._scopes.extend(self._scopes.view(self._room)[read])
            fresh._room, fresh._number_of = len(read), dict(self._number_of)
        return fresh


def _whose(note: TurnNotes) -> MemoryScope:
    """Return the scope without what is only shown: a person who was renamed is the same."""
    return MemoryScope.stored({**note.scope, "actor_name": None})
