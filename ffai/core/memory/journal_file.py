"""The journal's file: its tables and their rows, opening it, and reading what is left of a damaged one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ffai.core.memory.identity import NewTurn
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, JournalError

Durability = Literal["process", "power"]

IN_MEMORY = ":memory:"
WAIT_FOR_LOCK = 0.25
"""Seconds a write waits for another process before it is kept in memory instead."""

TURN = "turn_id, text, turn, metadata"
"""The columns of a turn."""
WAITING = f"{TURN}, failed, tries, retry_at, reason"

_APPLICATION_ID = 0x66666169
"""``ffai``, in the place SQLite has for telling files apart."""
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrivals (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    retry_at REAL NOT NULL DEFAULT 0,
    reason TEXT
);
CREATE TABLE IF NOT EXISTS indexed (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS parts (
    turn_id TEXT NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (turn_id, part)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A turn that waits to be embedded."""

    change: int
    new: NewTurn
    tries: int
    """How often it was tried."""


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A turn with its vectors, as the journal holds it."""

    change: int
    new: NewTurn
    vector: Vector
    """Its own vector, shape ``(dim,)``; see ``Journal.all_parts()`` for those of its parts."""


@dataclass(frozen=True, slots=True)
class FailedTurn:
    """A turn that could not be embedded. It is kept, and tried again by ``retry_failed()``."""

    turn_id: str
    text: str
    reason: str
    tries: int


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of a journal, without their changes and the journal's id."""

    arrivals: Sequence[Any] = ()
    indexed: Sequence[Any] = ()
    parts: Sequence[Any] = ()
    facts: Sequence[Any] = ()


CONTENTS = (
    f"SELECT {WAITING} FROM arrivals ORDER BY change",
    f"SELECT {TURN}, vector FROM indexed ORDER BY change",
    "SELECT turn_id, part, vector FROM parts",
    "SELECT name, value FROM facts WHERE name <> 'journal_id'",
)
"""Queries for the fields of :class:`Contents`."""


@contextlib.contextmanager
def told(path: Path | str) -> Iterator[None]:
    """Tell what goes wrong with a journal in our own words.

    Raises:
        JournalError: it can't be used just now.
        DamagedFileError: it is damaged, or no journal.
    """
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError) as error:
        raise JournalError(f"The journal {str(path)!r} can't be used: {error}") from error
    except sqlite3.DatabaseError as error:
        raise DamagedFileError(Path(path), str(error)) from error


def connect(path: Path | str, durability: Durability) -> sqlite3.Connection:
    """Open a journal's database; a new one gets its tables.

    Raises:
        sqlite3.OperationalError: it can't be opened or written now.
        sqlite3.DatabaseError: it is damaged, or no journal of this version.
    """
    connection = sqlite3.connect(path, timeout=WAIT_FOR_LOCK, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path, durability)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path | str, durability: Durability) -> None:
    _refuse_foreign(connection)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA secure_delete = ON")
    if path != IN_MEMORY:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # a writer must never pay for one
    connection.executescript(_SCHEMA)


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


def salvage(path: Path) -> Contents:
    """Read what can be read of a damaged journal."""
    found: list[list[Any]] = []
    for query in CONTENTS:
        rows: list[Any] = []
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
            rows.extend(connection.execute(query))  # keeps those before the damage
        found.append(rows)
    return Contents(*found)
