"""The journal: every accepted turn, on disk before anything else happens to it.

One SQLite database. A turn is *pending* until it is embedded (*indexed*) or given up (*failed*). Each of these
changes takes the next number of the turns table's AUTOINCREMENT counter, so "what is new since change n" is one
query, and a number is never used twice.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ffai.core.memory.identity import NewTurn
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, JournalError

Durability = Literal["process", "power"]

IN_MEMORY = ":memory:"
WAIT_FOR_LOCK = 0.25
"""Seconds a write waits for another process before it is kept in memory instead."""

_APPLICATION_ID = 0x66666169
"""``ffai``, in the place SQLite has for telling files apart."""
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT 'pending',
    text TEXT NOT NULL,
    turn TEXT NOT NULL,
    metadata TEXT NOT NULL,
    vector BLOB,
    attempts INTEGER NOT NULL DEFAULT 0,
    retry_at REAL NOT NULL DEFAULT 0,
    reason TEXT
);
CREATE INDEX IF NOT EXISTS waiting_turns ON turns (change) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS failed_turns ON turns (change) WHERE state = 'failed';
CREATE TABLE IF NOT EXISTS parts (
    turn_id TEXT NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (turn_id, part)
) WITHOUT ROWID;
"""
_NEXT_CHANGE = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'turns'"
_LAST_CHANGE = "(SELECT seq FROM sqlite_sequence WHERE name = 'turns')"
_NEW = "SELECT turn_id, text, turn, metadata FROM turns"
CONTENT = "turn_id, state, text, turn, metadata, vector, attempts, retry_at, reason"


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A turn with its vectors, as the journal holds it."""

    change: int
    new: NewTurn
    vector: Vector
    """Its own vector, shape ``(dim,)``; see :meth:`Journal.all_parts` for those of its parts."""


@dataclass(frozen=True, slots=True)
class FailedTurn:
    """A turn that could not be embedded. It is kept, and tried again by ``retry_failed()``."""

    turn_id: str
    text: str
    reason: str
    attempts: int


class Journal:
    """One journal file, used by any number of threads, and by other processes through journals of their own.

    Args:
        path: the SQLite file; its folder is made if it is missing. ``":memory:"`` writes no file.
        durability: ``"process"`` survives the end of the process, however it ends; ``"power"`` also a power cut, at
            the price of one disk flush a turn.

    Raises:
        DamagedFileError: the file is not a journal, or is damaged.
        JournalError: the folder or the file can't be written.
    """

    def __init__(self, path: Path | str, *, durability: Durability = "process") -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._told():
            if path != IN_MEMORY:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connect(path, durability)
            self._checkpointer = _connect(path, durability) if path != IN_MEMORY else None
        self.journal_id = self._identify()

    def _identify(self) -> str:
        if (found := self.fact("journal_id")) is not None:
            return found
        with self._writing() as db:
            db.execute("INSERT OR IGNORE INTO facts VALUES ('journal_id', ?)", (uuid.uuid4().hex,))
            db.execute("INSERT INTO sqlite_sequence SELECT 'turns', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence)")
        return self.fact("journal_id") or ""

    # Writing

    def append(self, turn: NewTurn) -> int:
        """Accept a turn; it is durable when this returns.

        Returns:
            The number of this change.

        Raises:
            JournalError: it can't be written now (full disk, lock of another process).
        """
        row = (turn.turn_id, turn.text, turn.turn, turn.metadata)
        with self._told(), self._lock:
            done = self._connection.execute(
                "INSERT INTO turns (turn_id, text, turn, metadata) VALUES (?, ?, ?, ?)", row
            )
        return done.lastrowid or 0

    def index(self, turns: Sequence[tuple[NewTurn, Sequence[Vector]]]) -> int:
        """Keep the vectors of turns, whether they were pending here or are new.

        Args:
            turns: each with its own vector and its parts'.

        Returns:
            The number of the last change.

        Raises:
            JournalError: they can't be written now; none of them is.
        """
        with self._writing() as db:
            for turn, vectors in turns:
                db.execute(_NEXT_CHANGE)
                db.execute(
                    "INSERT INTO turns (change, turn_id, state, text, turn, metadata, vector)"
                    f" VALUES ({_LAST_CHANGE}, ?, 'indexed', ?, ?, ?, ?)"
                    " ON CONFLICT (turn_id) DO UPDATE SET change = excluded.change, state = 'indexed',"
                    " vector = excluded.vector, reason = NULL, retry_at = 0",
                    (turn.turn_id, turn.text, turn.turn, turn.metadata, vectors[0].tobytes()),
                )
                db.execute("DELETE FROM parts WHERE turn_id = ?", (turn.turn_id,))
                db.executemany(
                    "INSERT INTO parts VALUES (?, ?, ?)",
                    [(turn.turn_id, part, vector.tobytes()) for part, vector in enumerate(vectors[1:])],
                )
        return self.last_change()

    def fail(self, turn_ids: Sequence[str], reason: str) -> None:
        """Give turns up, and keep them with the reason."""
        with self._writing() as db:
            for turn_id in turn_ids:
                db.execute(_NEXT_CHANGE)
                db.execute(
                    f"UPDATE turns SET change = {_LAST_CHANGE}, state = 'failed', reason = ?, attempts = attempts + 1,"
                    " retry_at = 0 WHERE turn_id = ? AND state = 'pending'",
                    (reason, turn_id),
                )

    def postpone(self, turn_ids: Sequence[str], until: float, reason: str) -> None:
        """Let turns wait until a time (seconds since the epoch) before they are tried again."""
        with self._writing() as db:
            db.executemany(
                "UPDATE turns SET attempts = attempts + 1, retry_at = ?, reason = ? WHERE turn_id = ?",
                [(until, reason, turn_id) for turn_id in turn_ids],
            )

    def retry_failed(self) -> int:
        """Make failed and postponed turns pending again.

        Returns:
            How many.
        """
        with self._writing() as db:
            changes = db.execute("SELECT change FROM turns WHERE state = 'failed' OR retry_at > 0").fetchall()
            for change in changes:
                db.execute(_NEXT_CHANGE)
                db.execute(
                    f"UPDATE turns SET change = {_LAST_CHANGE}, state = 'pending', attempts = 0, retry_at = 0,"
                    " reason = NULL WHERE change = ?",
                    change,
                )
        return len(changes)

    def settle(self, *, saved_to: int) -> None:
        """Drop indexed turns up to a change: files hold them. Vectors of parts stay."""
        with self._writing() as db:
            db.execute("DELETE FROM turns WHERE state = 'indexed' AND change <= ?", (saved_to,))
            db.execute("DELETE FROM facts WHERE name = 'embedding_again'")

    def require(self, turns: Sequence[NewTurn]) -> None:
        """Make turns pending, whether they are here or not: they need a vector of another model."""
        with self._writing() as db:
            for turn in turns:
                db.execute(_NEXT_CHANGE)
                db.execute(
                    f"INSERT INTO turns (change, turn_id, text, turn, metadata) VALUES ({_LAST_CHANGE}, ?, ?, ?, ?)"
                    " ON CONFLICT (turn_id) DO UPDATE SET change = excluded.change, state = 'pending', vector = NULL",
                    (turn.turn_id, turn.text, turn.turn, turn.metadata),
                )
            db.execute("INSERT OR REPLACE INTO facts VALUES ('embedding_again', '1')")

    def start_above(self, change: int) -> None:
        """Let no later change have a number that a file has used already."""
        with self._writing() as db:
            db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'turns' AND seq < ?", (change, change))

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the collection."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def clear(self) -> None:
        """Drop everything but the journal's id and its numbers."""
        with self._writing() as db:
            db.execute("DELETE FROM turns")
            db.execute("DELETE FROM parts")

    def take_over(self, turns: Sequence[Any], parts: Sequence[Any]) -> None:
        """Keep what another journal holds, as :meth:`contents` gives it."""
        with self._writing() as db:
            for row in turns:
                db.execute(_NEXT_CHANGE)
                db.execute(
                    f"INSERT INTO turns (change, {CONTENT}) VALUES ({_LAST_CHANGE}, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (turn_id) DO UPDATE SET change = excluded.change, state = excluded.state,"
                    " vector = excluded.vector, attempts = excluded.attempts, retry_at = excluded.retry_at,"
                    " reason = excluded.reason",
                    row,
                )
            db.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", parts)

    # Reading

    def contents(self) -> tuple[list[Any], list[Any]]:
        """Return all turns and all parts, for :meth:`take_over`."""
        return self._read(f"SELECT {CONTENT} FROM turns ORDER BY change"), self._read("SELECT * FROM parts")

    def due(self, limit: int) -> list[tuple[NewTurn, int]]:
        """Return the oldest pending turns whose time has come, each with how often it was tried."""
        rows = self._read(
            "SELECT turn_id, text, turn, metadata, attempts FROM turns"
            " WHERE state = 'pending' AND retry_at <= ? ORDER BY change LIMIT ?",
            time.time(),
            limit,
        )
        return [(NewTurn(*row[:4]), row[4]) for row in rows]

    def next_retry(self) -> float | None:
        """Return when the next postponed turn is due (seconds since the epoch); ``None`` if none is pending."""
        due: float | None = self._read("SELECT min(retry_at) FROM turns WHERE state = 'pending' AND retry_at > 0")[0][0]
        return due

    def waiting(self, up_to: int) -> int:
        """Count the pending turns, up to a change, that are not postponed."""
        count: int = self._read(
            "SELECT count(*) FROM turns WHERE state = 'pending' AND retry_at <= ? AND change <= ?", time.time(), up_to
        )[0][0]
        return count

    def counts(self) -> dict[str, int]:
        """Count the turns by state."""
        return dict(self._read("SELECT state, count(*) FROM turns GROUP BY state"))

    def failed(self) -> list[FailedTurn]:
        """Return the turns that were given up, oldest first, and those that are postponed."""
        rows = self._read(
            "SELECT turn_id, text, reason, attempts FROM turns"
            " WHERE state = 'failed' OR (state = 'pending' AND retry_at > ?) ORDER BY change",
            time.time(),
        )
        return [FailedTurn(*row) for row in rows]

    def indexed_since(self, change: int) -> list[IndexedTurn]:
        """Return the turns that were indexed after a change, in that order."""
        rows = self._read(
            "SELECT turn_id, text, turn, metadata, change, vector FROM turns"
            " WHERE change > ? AND state = 'indexed' ORDER BY change",
            change,
        )
        return [IndexedTurn(row[4], NewTurn(*row[:4]), np.frombuffer(row[5])) for row in rows]

    def count_indexed_since(self, change: int) -> int:
        """Count the turns that were indexed after a change."""
        query = "SELECT count(*) FROM turns WHERE change > ? AND state = 'indexed'"
        count: int = self._read(query, change)[0][0]
        return count

    def unfinished(self) -> list[NewTurn]:
        """Return the turns that have no vector: pending and failed ones."""
        return [NewTurn(*row) for row in self._read(f"{_NEW} WHERE state != 'indexed' ORDER BY change")]

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

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database, without making a writer wait."""
        if self._checkpointer is not None:
            with contextlib.suppress(sqlite3.Error):  # a reader is in the way, or the disk is full: later
                self._checkpointer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the database; no file stays open. It can't be used afterwards."""
        with self._lock:
            if self._checkpointer is not None:
                self._checkpointer.close()
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Make several statements one change: all of them are kept, or none."""
        with self._told(), self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._told(), self._lock:
            return self._connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what went wrong in our own words: not now, or damaged."""
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError) as error:
            raise JournalError(f"The journal {str(self.path)!r} can't be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(Path(self.path), str(error)) from error


def _connect(path: Path | str, durability: Durability) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT_FOR_LOCK, isolation_level=None, check_same_thread=False)
    _refuse_foreign(connection)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA secure_delete = ON")
    if path != IN_MEMORY:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # a writer must never pay for one
    connection.executescript(_SCHEMA)
    return connection


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    """Raise where the file is a database of another program, or of another version of this one."""
    found = (
        connection.execute("PRAGMA application_id").fetchone()[0],
        connection.execute("PRAGMA user_version").fetchone()[0],
    )
    if found == (_APPLICATION_ID, _VERSION):
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError(f"not a journal of this version: application {found[0]}, version {found[1]}")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
