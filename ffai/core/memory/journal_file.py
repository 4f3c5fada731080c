"""The journal's file: its tables and their rows, and opening it."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ffai.core.memory.identity import NewTurn
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, JournalError

Durability = Literal["process", "power"]

IN_MEMORY = ":memory:"
WAIT_FOR_LOCK = 0.25
"""Seconds a write waits for another process before it is kept in memory instead."""

WAIT_TO_OPEN = 3.0
"""Seconds that opening waits for other processes that are making the journal."""

_APPLICATION_ID = 0x66666169
"""``ffai``, in the place SQLite has for telling files apart."""
_VERSION = 5
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE arrivals (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    retry_at REAL NOT NULL DEFAULT 0,
    reason TEXT,
    accepted_at REAL NOT NULL DEFAULT 0,
    owner TEXT
);
CREATE TABLE indexed (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE parts (
    turn_id TEXT NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (turn_id, part)
) WITHOUT ROWID;
"""
_TOMBSTONES = "CREATE TABLE forgotten (change INTEGER PRIMARY KEY, turn_id TEXT NOT NULL UNIQUE);"
_COUNTED = "CREATE INDEX indexed_change ON indexed (change);"
"""A row with its vector fills a page: counting rows would read them all, while callers wait."""
_MESSAGES = """
CREATE TABLE messages (
    turn_id TEXT NOT NULL UNIQUE, text_sum INTEGER NOT NULL, words TEXT NOT NULL, model TEXT, vectors BLOB, scales BLOB
);
"""
"""What is derived from the question and the answer of a turn, each as a message of its own."""
_KNOWLEDGE = """
CREATE TABLE knowledge (
    place TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, cites TEXT NOT NULL, content TEXT,
    created_at REAL NOT NULL, updated_at REAL NOT NULL,
    model TEXT, reason TEXT, vectors INTEGER NOT NULL DEFAULT 0, vector BLOB,
    change INTEGER NOT NULL, UNIQUE (key, place)
);
CREATE INDEX knowledge_change ON knowledge (change);
CREATE INDEX knowledge_waits ON knowledge (model, change) WHERE content IS NOT NULL;
CREATE TABLE threads (
    place TEXT NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, said_at REAL NOT NULL,
    PRIMARY KEY (place, number)
) WITHOUT ROWID;
"""
"""What was taught, and threads: see :mod:`~ffai.core.memory.journal_knowledge`."""
_UPGRADES = {
    1: "ALTER TABLE arrivals ADD COLUMN accepted_at REAL NOT NULL DEFAULT 0;"
    f"ALTER TABLE arrivals ADD COLUMN owner TEXT;{_TOMBSTONES}{_COUNTED}{_MESSAGES}{_KNOWLEDGE}",
    2: _COUNTED + _MESSAGES + _KNOWLEDGE,
    3: _MESSAGES + _KNOWLEDGE,
    4: _KNOWLEDGE,
}
"""What makes a journal of an earlier version one of this."""

TURN = "turn_id, text, turn, metadata"
"""The columns of a turn."""
WAITING = f"{TURN}, failed, tries, retry_at, reason, accepted_at"
"""The columns of a turn that waits."""


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
    vectors: list[Vector]
    """Its own vector, shape ``(dim,)``, and those of its parts."""


class MessageRow(NamedTuple):
    """What is kept of the two messages of a turn, so that it is not made again."""

    turn_id: str
    text_sum: int
    """Checksum of the turn's text: another text has other messages."""
    words: str
    """As :func:`~ffai.core.memory.words_row.as_row` writes them."""
    model: str | None = None
    """What made the vectors; ``None`` while there are none."""
    vectors: bytes | None = None
    """Two rows of whole numbers from -127 to 127, a byte each."""
    scales: bytes | None = None
    """What each row is multiplied with: two numbers in single precision."""


@dataclass(frozen=True, slots=True)
class FailedTurn:
    """A turn that could not be embedded. It is kept, and tried again by ``retry_failed()``."""

    turn_id: str
    text: str
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a collection since a change, whoever did it."""

    last: int
    """Number of the last change."""
    complete_from: int
    """What was indexed or forgotten up to this change may be missing: the memory file holds it."""
    cleared_at: int
    """Number of the change that dropped everything; 0 if none did."""
    forgotten: set[str]
    """Ids of the turns that were forgotten."""
    indexed: list[IndexedTurn]
    """Turns with the vectors they have now, in the order of their changes."""
    model: str | None
    """Name of the model that makes the vectors."""

    @property
    def last_indexed(self) -> int:
        """Number of the last change that indexed a turn; 0 if there is none."""
        return self.indexed[-1].change if self.indexed else 0


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of a journal, without their changes and the journal's id."""

    arrivals: Sequence[Any] = ()
    indexed: Sequence[Any] = ()
    parts: Sequence[Any] = ()
    facts: Sequence[Any] = ()
    knowledge: Sequence[Any] = ()
    threads: Sequence[Any] = ()


KNOWLEDGE = "place, key, value, cites, content, created_at, updated_at, model, reason, vectors, vector"
"""The columns of something that was taught."""
THREADS = "place, number, role, content, said_at"
"""The columns of a message of a thread."""
CONTENTS = (
    f"SELECT {WAITING} FROM arrivals ORDER BY change",
    f"SELECT {TURN}, vector FROM indexed ORDER BY change",
    "SELECT turn_id, part, vector FROM parts ORDER BY turn_id, part",
    "SELECT name, value FROM facts WHERE name NOT IN ('journal_id', 'last_change', 'cleared_at', 'complete_from',"
    " 'knowledge_change', 'knowledge_dropped') ORDER BY name",
    f"SELECT {KNOWLEDGE} FROM knowledge ORDER BY rowid",
    f"SELECT {THREADS} FROM threads ORDER BY place, number",
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
    except (sqlite3.Error, OSError) as error:
        raise in_our_words(path, error) from error


def in_our_words(path: Path | str, error: Exception) -> JournalError | DamagedFileError:
    """Return what an error of SQLite says of a journal; see :func:`told`."""
    if type(error) is sqlite3.DatabaseError or "decode" in str(error):  # its subclasses tell of other things
        return DamagedFileError(Path(path), str(error))
    return JournalError(f"The journal {str(path)!r} can't be used: {error}")


def connect(path: Path | str, durability: Durability, wait: float) -> sqlite3.Connection:
    """Open a journal, or make one."""
    give_up_at = time.monotonic() + wait
    while True:
        connection = sqlite3.connect(path, timeout=WAIT_FOR_LOCK, isolation_level=None, check_same_thread=False)
        with contextlib.ExitStack() as opening:
            opening.callback(connection.close)
            try:
                _prepare(connection, path, durability)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                    raise
            else:
                opening.pop_all()
                return connection


def _prepare(connection: sqlite3.Connection, path: Path | str, durability: Durability) -> None:
    with transaction(connection, "BEGIN"):  # all that is read is of one moment: another process may be making it
        state = _state(connection)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA secure_delete = ON")
    if path != IN_MEMORY:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # a writer must never pay for one
    if state != "ready":
        with transaction(connection, "BEGIN IMMEDIATE"):
            state = _state(connection)  # another process may have been quicker
            if state == "new":
                _make(connection)
            elif state != "ready":
                _run(connection, _UPGRADES[state])
                connection.execute(f"PRAGMA user_version = {_VERSION}")


def _state(connection: sqlite3.Connection) -> Literal["new", "ready"] | int:
    """Tell what a database is, or its earlier version; raises where it is another program's, or of a later version."""
    program, version = (
        connection.execute("PRAGMA application_id").fetchone()[0],
        connection.execute("PRAGMA user_version").fetchone()[0],
    )
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return "new"
    if program != _APPLICATION_ID or version not in (*_UPGRADES, _VERSION):
        raise sqlite3.DatabaseError(f"not a journal of this version: application {program}, version {version}")
    return "ready" if version == _VERSION else int(version)


def _make(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    _run(connection, _SCHEMA + _TOMBSTONES + _COUNTED + _MESSAGES + _KNOWLEDGE)
    connection.execute("INSERT INTO facts VALUES ('journal_id', ?)", (uuid.uuid4().hex,))
    connection.execute("INSERT INTO facts VALUES ('last_change', 0)")


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):  # executescript() would end the transaction
        connection.execute(statement)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Make several statements one change: all of them are kept, or none."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
