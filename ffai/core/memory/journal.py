"""The journal: every accepted turn, on disk before anything else happens to it.

One SQLite database. A turn *arrives*, and waits until it is embedded or given up as *failed*; then it moves to the
*indexed* turns, with its vector. Each of these changes takes the next number, so "what is new since change n" is one
query. A number is never used twice: what is dropped leaves the last one as a fact. A caller waits for one row at the
end of one table, without an index or a counter beside it: each of these was measured to cost half as much again.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ffai._fork import held_over_forks, renew_after_fork
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_file import (
    CONTENTS,
    IN_MEMORY,
    TURN,
    WAIT_FOR_LOCK,
    WAIT_TO_OPEN,
    WAITING,
    Arrival,
    Contents,
    Durability,
    FailedTurn,
    IndexedTurn,
    connect,
    in_our_words,
    told,
    transaction,
)
from ffai.core.similarity import Vector

_LAST_CHANGE = (
    "max((SELECT coalesce(max(change), 0) FROM arrivals), (SELECT coalesce(max(change), 0) FROM indexed),"
    " (SELECT value FROM facts WHERE name = 'last_change'))"
)
_NEXT_CHANGE = f"{_LAST_CHANGE} + 1"
_ARRIVE = f"INSERT INTO arrivals (change, {TURN}) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?)"
_NO_LIMIT = 2**63 - 1
_DUE = "failed = 0 AND retry_at <= ?"
_SAME = "change = ? AND turn_id = ?"  # a batch outlives a change of journals, and their numbers are their own


class Journal:
    """One journal file, used by any number of threads, and by other processes through journals of their own.

    Args:
        path: the SQLite file; its folder is made if it is missing. ``":memory:"`` writes no file.
        durability: ``"process"`` survives the end of the process, however it ends; ``"power"`` also a power cut, at
            the price of one disk flush a turn.
        wait: seconds to wait for other processes that are making it.

    Raises:
        DamagedFileError: the file is not a journal, or is damaged.
        JournalError: the folder or the file can't be written.
    """

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

    # Writing

    def append(self, turn: NewTurn) -> int:
        """Accept a turn; it is durable when this returns.

        Returns:
            The number of this change.

        Raises:
            JournalError: it can't be written now (full disk, lock of another process).
        """
        row = (turn.turn_id, turn.text, turn.turn, turn.metadata)
        try:  # and no context manager: the caller waits
            with self._lock:
                return self._db.execute(_ARRIVE, row).lastrowid or 0
        except (sqlite3.Error, OSError) as error:
            raise in_our_words(self.path, error) from error

    def append_all(self, turns: Sequence[NewTurn]) -> None:
        """Accept several turns in one change; see :meth:`append`. None is kept where that fails."""
        with self._writing() as db:
            db.executemany(_ARRIVE, [(turn.turn_id, turn.text, turn.turn, turn.metadata) for turn in turns])

    def index(
        self,
        turns: Sequence[tuple[NewTurn, Sequence[Vector]]],
        arrived: Sequence[Arrival] = (),
        *,
        model: str | None = None,
    ) -> None:
        """Keep the vectors of turns.

        Args:
            turns: each with its own vector and its parts'; a turn that is indexed already gets new ones.
            arrived: those that waited, here or in another journal; they wait no longer.
            model: the model that made them, where it is another one than before.

        Raises:
            JournalError: they can't be written now; none of them is.
        """
        with self._writing() as db:
            for turn, vectors in turns:
                self._index(db, turn, vectors[0].tobytes())
                db.execute("DELETE FROM parts WHERE turn_id = ?", (turn.turn_id,))
                parts = [(turn.turn_id, part, vector.tobytes()) for part, vector in enumerate(vectors[1:])]
                db.executemany("INSERT INTO parts VALUES (?, ?, ?)", parts)
            waiting = db.executemany(f"DELETE FROM arrivals WHERE {_SAME}", [_key(arrival) for arrival in arrived])
            if waiting.rowcount < len(arrived):  # they wait under other numbers where the journal had to begin again
                ids = [(arrival.new.turn_id,) for arrival in arrived]
                db.executemany("DELETE FROM arrivals WHERE turn_id = ?", ids)
            if model is not None:
                db.execute("INSERT OR REPLACE INTO facts VALUES ('model', ?)", (model,))

    @staticmethod
    def _index(db: sqlite3.Connection, turn: NewTurn, vector: bytes) -> None:
        db.execute(
            f"INSERT OR REPLACE INTO indexed (change, {TURN}, vector) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?, ?)",
            (turn.turn_id, turn.text, turn.turn, turn.metadata, vector),
        )

    def fail(self, arrived: Sequence[Arrival], reason: str) -> None:
        """Give turns up, and keep them with the reason."""
        with self._writing() as db:
            for arrival in arrived:
                db.execute(
                    f"UPDATE arrivals SET change = {_NEXT_CHANGE}, failed = 1, tries = tries + 1, retry_at = 0,"
                    f" reason = ? WHERE {_SAME}",
                    (reason, *_key(arrival)),
                )

    def postpone(self, arrived: Sequence[Arrival], until: float, reason: str) -> None:
        """Let turns wait until a time (seconds since the epoch) before they are tried again."""
        with self._writing() as db:
            db.executemany(
                f"UPDATE arrivals SET tries = tries + 1, retry_at = ?, reason = ? WHERE {_SAME}",
                [(until, reason, *_key(arrival)) for arrival in arrived],
            )

    def retry_failed(self) -> int:
        """Let failed and postponed turns wait to be embedded again, now.

        Returns:
            How many.
        """
        with self._writing() as db:
            changes = db.execute("SELECT change FROM arrivals WHERE failed = 1 OR retry_at > 0").fetchall()
            for change in changes:
                db.execute(
                    f"UPDATE arrivals SET change = {_NEXT_CHANGE}, failed = 0, tries = 0, retry_at = 0, reason = NULL"
                    " WHERE change = ?",
                    change,
                )
        return len(changes)

    def embed_again(self, turns: Sequence[NewTurn]) -> None:
        """Let turns wait for a vector of another model, whether they are here or not."""
        with self._writing() as db:
            for turn in turns:
                db.execute("DELETE FROM indexed WHERE turn_id = ?", (turn.turn_id,))
            rows = [(turn.turn_id, turn.text, turn.turn, turn.metadata) for turn in turns]
            db.executemany(_ARRIVE, rows)
            db.execute("INSERT OR REPLACE INTO facts VALUES ('embedding_again', '1')")

    def settle(self, *, saved_to: int) -> None:
        """Drop indexed turns up to a change: files hold them. Vectors of parts stay."""
        with self._writing() as db:
            db.execute("DELETE FROM indexed WHERE change <= ?", (saved_to,))
            db.execute("DELETE FROM facts WHERE name = 'embedding_again'")

    def start_above(self, change: int) -> None:
        """Let no later change have a number that a file has used already."""
        with self._writing() as db:
            db.execute("UPDATE facts SET value = max(value, ?) WHERE name = 'last_change'", (change,))

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the collection."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def clear(self) -> None:
        """Drop everything but the journal's id, its numbers and the model's name."""
        with self._writing() as db:
            for table in ("arrivals", "indexed", "parts"):
                db.execute(f"DELETE FROM {table}")
            db.execute("DELETE FROM facts WHERE name = 'embedding_again'")
        self.checkpoint(truncate=True)

    def take_over(self, contents: Contents) -> None:
        """Keep what another journal holds, as :meth:`contents` gives it."""
        with self._writing() as db:
            db.executemany(
                f"INSERT INTO arrivals (change, {WAITING}) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?, ?, ?, ?, ?)",
                contents.arrivals,
            )
            for *turn, vector in contents.indexed:
                self._index(db, NewTurn(*turn), vector)
            db.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", contents.parts)
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", contents.facts)
            db.executemany("DELETE FROM arrivals WHERE turn_id = ?", [(row[0],) for row in contents.indexed])
            db.executemany("DELETE FROM indexed WHERE turn_id = ?", [(row[0],) for row in contents.arrivals])

    # Reading

    def contents(self) -> Contents:
        """Return everything but the journal's id."""
        return Contents(*(self._read(query) for query in CONTENTS))

    def due(self, limit: int) -> list[Arrival]:
        """Return the turns that wait and whose time has come, oldest first."""
        rows = self._read(
            f"SELECT {TURN}, change, tries FROM arrivals WHERE {_DUE} ORDER BY change LIMIT ?", time.time(), limit
        )
        return [Arrival(row[4], NewTurn(*row[:4]), row[5]) for row in rows]

    def next_retry(self) -> float | None:
        """Return when the next postponed turn is due (seconds since the epoch); ``None`` if none is postponed."""
        due: float | None = self._read("SELECT min(retry_at) FROM arrivals WHERE failed = 0 AND retry_at > 0")[0][0]
        return due

    def count_due(self, up_to: int = _NO_LIMIT) -> int:
        """Count the turns that wait and whose time has come, of those that arrived up to a change."""
        query = f"SELECT count(*) FROM arrivals WHERE {_DUE} AND change <= ?"
        count: int = self._read(query, time.time(), up_to)[0][0]
        return count

    def count_unembedded(self) -> int:
        """Count the turns without a vector."""
        count: int = self._read("SELECT count(*) FROM arrivals")[0][0]
        return count

    def count(self) -> int:
        """Count all turns, whatever their state."""
        count: int = self._read("SELECT (SELECT count(*) FROM arrivals) + (SELECT count(*) FROM indexed)")[0][0]
        return count

    def failed(self) -> list[FailedTurn]:
        """Return the turns that failed or are postponed, oldest first."""
        rows = self._read(
            f"SELECT turn_id, text, reason, tries FROM arrivals WHERE NOT ({_DUE}) ORDER BY change", time.time()
        )
        return [FailedTurn(*row) for row in rows]

    def unembedded(self) -> list[NewTurn]:
        """Return the turns without a vector, oldest first."""
        return [NewTurn(*row) for row in self._read(f"SELECT {TURN} FROM arrivals ORDER BY change")]

    def unembedded_ids(self, since: int = 0) -> set[str]:
        """Return the ids of the turns without a vector; only of those that came after a change."""
        return {row[0] for row in self._read("SELECT turn_id FROM arrivals WHERE change > ?", since)}

    def indexed_since(self, change: int) -> list[IndexedTurn]:
        """Return the turns that were indexed after a change, in that order."""
        rows = self._read(f"SELECT {TURN}, change, vector FROM indexed WHERE change > ? ORDER BY change", change)
        return [IndexedTurn(row[4], NewTurn(*row[:4]), np.frombuffer(row[5])) for row in rows]

    def count_indexed_since(self, change: int) -> int:
        """Count the turns that were indexed after a change."""
        count: int = self._read("SELECT count(*) FROM indexed WHERE change > ?", change)[0][0]
        return count

    def all_parts(self) -> dict[str, list[Vector]]:
        """Return the vectors of the parts of all long turns, by turn id."""
        parts: dict[str, list[Vector]] = {}
        for turn_id, vector in self._read("SELECT turn_id, vector FROM parts ORDER BY turn_id, part"):
            parts.setdefault(turn_id, []).append(np.frombuffer(vector))
        return parts

    def last_change(self) -> int:
        """Return the number of the last change."""
        number: int = self._read(f"SELECT {_LAST_CHANGE}")[0][0]
        return number

    def fact(self, name: str) -> str | None:
        """Return a fact about the collection."""
        rows = self._read("SELECT value FROM facts WHERE name = ?", name)
        return rows[0][0] if rows else None

    # Housekeeping

    def checkpoint(self, *, truncate: bool = False) -> None:
        """Move what the write-ahead log holds into the database.

        Args:
            truncate: empty the log too, so that nothing which was dropped can be read from it; writers wait for that.
        """
        with self._checkpointing, contextlib.suppress(sqlite3.Error):  # a reader is in the way, the disk full: later
            for checkpointer in self._connections[1:]:
                checkpointer.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if truncate else 'PASSIVE'})")

    def close(self) -> None:
        """Close the database; no file stays open. It can't be used afterwards."""
        with self._lock:
            self._closed = True
            _close_all(reversed(self._connections))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Make several statements one change: all of them are kept, or none. What they drop leaves its number."""
        with told(self.path), self._lock, transaction(self._db, "BEGIN IMMEDIATE"):
            self._db.execute(f"UPDATE facts SET value = {_LAST_CHANGE} WHERE name = 'last_change'")
            yield self._db

    def _read(self, query: str, *values: Any) -> list[Any]:
        with told(self.path), self._lock:
            return self._db.execute(query, values).fetchall()


def _close_all(connections: Iterable[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()


def _key(arrival: Arrival) -> tuple[int, str]:
    return arrival.change, arrival.new.turn_id
