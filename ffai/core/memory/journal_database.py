"""The journal's database: connections that threads share, that survive a fork, and that leave nothing open."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ffai._fork import held_over_forks, renew_after_fork
from ffai.core.memory.journal_file import (
    IN_MEMORY,
    WAIT_FOR_LOCK,
    WAIT_TO_OPEN,
    Durability,
    connect,
    told,
    transaction,
)

Version = tuple[int, int]
_numbers = itertools.count(1)

LAST_CHANGE = (
    "max((SELECT coalesce(max(change), 0) FROM arrivals), (SELECT coalesce(max(change), 0) FROM indexed),"
    " (SELECT value FROM facts WHERE name = 'last_change'))"
)
"""The number of the last change, as SQL: what is dropped leaves its number as a fact."""


class JournalDatabase:
    """One journal file, open. See :class:`~ffai.core.memory.journal.Journal`, which says what is in it."""

    def __init__(self, path: Path | str, *, durability: Durability = "process", wait: float = WAIT_TO_OPEN) -> None:
        self.path, self._durability = path, durability
        self._lock, self._checkpointing = (held_over_forks(threading.Lock()) for _ in range(2))
        self._connections: list[sqlite3.Connection] = []  # one that is written, in a file one more for checkpoints
        self._closed = False
        # Python 3.13 warns of a connection that nobody closed.
        weakref.finalize(self, _close_all, self._connections).atexit = False
        with told(self.path):
            if path != IN_MEMORY:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._connect(wait)
        renew_after_fork(self)
        self.journal_id = self.fact("journal_id") or ""

    def _connect(self, wait: float) -> None:
        for _ in range(1 if self.path == IN_MEMORY else 2):
            self._connections.append(connect(self.path, self._durability, wait))
        self._number = next(_numbers)
        self._file = _file_at(self.path)

    @property
    def _db(self) -> sqlite3.Connection:
        if not self._connections:
            self._connect(WAIT_FOR_LOCK)
        return self._connections[0]

    def renew_after_fork(self) -> None:
        """Let go of the parent's file, to open it anew when it is used.

        SQLite keeps for the whole process which locks it has on a file. A connection that a child opens beside an
        inherited one would believe to have the parent's: the parent, when it closes, would delete the log that the
        child writes. No statement runs on the inherited ones (their lock is held over forks), so that closing them
        changes nothing.
        """
        if self.path != IN_MEMORY and not self._closed:
            with contextlib.suppress(sqlite3.Error):
                _close_all(self._connections)
            self._connections.clear()

    def is_in_place(self) -> bool:
        """Tell whether the file that is open is still the one with its name, or another process moved it aside."""
        return not self._connections or self._file == _file_at(self.path)

    def version(self) -> Version:
        """Return something that is equal as long as nobody else has changed the journal."""
        seen = int(self._read("PRAGMA data_version")[0][0])
        return self._number, seen  # each connection has a count of its own

    def fact(self, name: str) -> str | None:
        """Return a fact about the collection."""
        rows = self._read("SELECT value FROM facts WHERE name = ?", name)
        return rows[0][0] if rows else None

    def checkpoint(self, *, truncate: bool = False) -> bool:
        """Move what the write-ahead log holds into the database.

        Args:
            truncate: empty the log too, so that nothing which was dropped can be read from it; writers wait for that.

        Returns:
            Whether all was moved: no reader was in the way, and the disk was not full.
        """
        done = True
        with self._checkpointing:
            for checkpointer in self._connections[1:]:
                try:
                    query = f"PRAGMA wal_checkpoint({'TRUNCATE' if truncate else 'PASSIVE'})"
                    busy, in_log, moved = checkpointer.execute(query).fetchone()
                    done = not busy and in_log == moved
                except sqlite3.Error:
                    done = False
        return done

    def close(self) -> None:
        """Close the database; no file stays open. It can't be used afterwards."""
        with self._lock:
            self._closed = True
            _close_all(reversed(self._connections))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Make several statements one change: all of them are kept, or none. What they drop leaves its number."""
        with told(self.path), self._lock, transaction(self._db, "BEGIN IMMEDIATE"):
            self._db.execute(f"UPDATE facts SET value = {LAST_CHANGE} WHERE name = 'last_change'")
            yield self._db

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Let several queries see one moment."""
        with told(self.path), self._lock, transaction(self._db, "BEGIN"):
            yield self._db

    def _read(self, query: str, *values: Any) -> list[Any]:
        with told(self.path), self._lock:
            return self._db.execute(query, values).fetchall()


def _file_at(path: Path | str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _close_all(connections: Iterable[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()
