"""The tables of the journal that hold what was taught, and threads: small, and changed in place."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ffai.core.memory.journal_database import JournalDatabase
from ffai.core.memory.journal_file import KNOWLEDGE, THREADS
from ffai.core.similarity import Vector

_MARKS = ", ".join("?" * len(KNOWLEDGE.split(", ")))
_NEW = ", ".join(f"{name} = excluded.{name}" for name in KNOWLEDGE.split(", ")[2:] if name != "created_at")
_IN_ITS_PLACE = f" ON CONFLICT (place, key) DO UPDATE SET {_NEW}, change = excluded.change"
_FORGOTTEN = "SELECT 1 FROM forgotten WHERE turn_id IN (SELECT value FROM json_each(?))"
_WITHOUT_VECTORS = KNOWLEDGE.removesuffix(", vector")
_LAST = "SELECT coalesce(max(value), 0) FROM facts WHERE name = 'knowledge_change'"
_NO_LIMIT = 2**63 - 1
_OTHERS = tuple(f"content IS NOT NULL AND model {other}" for other in ("IS NULL AND ?1 IS NOT NULL", "< ?1", "> ?1"))
"""What has no vector of a model. Each is found by an index, ``IS NOT`` by looking through all there is."""


class KnowledgeRow(NamedTuple):
    """Something that was taught."""

    place: str
    """Whose it is: the person and the conversation of a scope, as JSON."""
    key: str
    value: str
    """A JSON object."""
    cites: str
    """Ids of the turns it was made from: a JSON list. It is forgotten together with them."""
    content: str | None
    """What is embedded; ``None`` for what is not found by meaning."""
    created_at: float
    updated_at: float
    model: str | None = None
    """What made the vector, or failed to; ``None`` while it waits for one."""
    reason: str | None = None
    """Why it has no vector from that model; ``None`` where it has one."""
    vectors: int = 0
    """How many vectors it has: its own, and those of the parts of a long text."""
    vector: bytes | None = None
    """The vectors, one after the other."""


class ThreadRow(NamedTuple):
    """One message of a thread."""

    place: str
    number: int
    """The messages of a thread are counted from 1; the oldest go first."""
    role: str
    content: str
    said_at: float


@dataclass(frozen=True, slots=True)
class KnowledgeChanges:
    """What happened to the knowledge since a change."""

    last: int
    """Number of the last change."""
    rows: list[KnowledgeRow]
    """What was taught or embedded since, as it is now."""
    left: set[tuple[str, str]] | None
    """Place and key of all there is, where something was dropped since; else ``None``."""


class JournalKnowledge(JournalDatabase):
    """The part of a :class:`~ffai.core.memory.journal.Journal` that keeps knowledge and threads."""

    # Knowledge

    def teach(self, place: str, key: str, value: str, content: str | None, cites: Sequence[str] = ()) -> bool:
        """Keep a value, in the place of the one with its key if there is one; its vector is made later.

        Returns:
            Whether it was kept: not if a turn that it was made from has been forgotten meanwhile.
        """
        now = time.time()
        with self._writing() as db:
            if cites and db.execute(f"{_FORGOTTEN} LIMIT 1", (json.dumps(list(cites)),)).fetchone():
                return False
            change = _next_change(db)
            db.execute(
                f"INSERT INTO knowledge ({KNOWLEDGE}, change) VALUES ({_MARKS}, ?){_IN_ITS_PLACE}",
                (*KnowledgeRow(place, key, value, json.dumps(list(cites)), content, now, now), change),
            )
        return True

    def all_known(self, key: str | None = None) -> list[KnowledgeRow]:
        """Return all knowledge, or what has a key, without vectors, in the order in which it was first taught."""
        where, values = ("", ()) if key is None else (" WHERE key = ?", (key,))
        query = f"SELECT {_WITHOUT_VECTORS} FROM knowledge{where} ORDER BY rowid"
        return [KnowledgeRow(*row) for row in self._read(query, *values)]

    def count_knowledge(self) -> int:
        """Count all knowledge."""
        count: int = self._read("SELECT count(*) FROM knowledge")[0][0]
        return count

    def knowledge_change(self) -> int:
        """Return the number of the last change of the knowledge."""
        number: int = self._read(_LAST)[0][0]
        return number

    def knowledge_since(self, change: int) -> KnowledgeChanges:
        """Return what happened to the knowledge after a change, all of one moment."""
        with self._reading() as db:
            last = db.execute(_LAST).fetchone()[0]
            query = f"SELECT {KNOWLEDGE} FROM knowledge WHERE change > ? ORDER BY change"
            rows = [KnowledgeRow(*row) for row in db.execute(query, (change,))]
            dropped = db.execute("SELECT value FROM facts WHERE name = 'knowledge_dropped'").fetchone()
            left = None
            if dropped is not None and dropped[0] > change:
                left = {(row[0], row[1]) for row in db.execute("SELECT place, key FROM knowledge")}
            return KnowledgeChanges(last, rows, left)

    def without_vector(self, model: str, limit: int) -> list[KnowledgeRow]:
        """Return knowledge that has no vector of a model and was not refused by it, the oldest first."""
        rows: list[KnowledgeRow] = []
        for others in _OTHERS:
            if len(rows) < limit:
                query = f"SELECT {_WITHOUT_VECTORS} FROM knowledge WHERE {others} ORDER BY +change LIMIT ?2"
                rows += [KnowledgeRow(*row) for row in self._read(query, model, limit - len(rows))]
        return rows

    def lacks_vectors(self, model: str, up_to: int = _NO_LIMIT) -> bool:
        """Tell whether there is knowledge as :meth:`without_vector` gives it.

        Args:
            model: the model.
            up_to: only what was taught up to this change.
        """
        each = [f"EXISTS (SELECT 1 FROM knowledge WHERE {others} AND +change <= ?2)" for others in _OTHERS]
        return bool(self._read(f"SELECT {' OR '.join(each)}", model, up_to)[0][0])

    def count_without_vector(self, model: str) -> int:
        """Count knowledge as :meth:`without_vector` gives it."""
        each = [f"(SELECT count(*) FROM knowledge WHERE {others})" for others in _OTHERS]
        count: int = self._read(f"SELECT {' + '.join(each)}", model)[0][0]
        return count

    def refused(self, model: str) -> list[KnowledgeRow]:
        """Return knowledge that a model could not embed."""
        query = f"SELECT {_WITHOUT_VECTORS} FROM knowledge WHERE model = ? AND reason IS NOT NULL ORDER BY rowid"
        return [KnowledgeRow(*row) for row in self._read(query, model)]

    def keep_vectors(self, rows: Sequence[KnowledgeRow], made: Sequence[Sequence[Vector] | str], model: str) -> None:
        """Keep the vectors of knowledge that is still as it was when they were made.

        Args:
            rows: what was embedded.
            made: the vectors of each; text says why there are none.
            model: what made them.
        """
        with self._writing() as db:
            for row, outcome in zip(rows, made, strict=True):
                reason = outcome if isinstance(outcome, str) else None
                vectors = () if isinstance(outcome, str) else outcome
                joined = b"".join(vector.tobytes() for vector in vectors) or None
                db.execute(
                    "UPDATE knowledge SET model = ?, reason = ?, vectors = ?, vector = ?, change = ?"
                    " WHERE place = ? AND key = ? AND value = ? AND updated_at = ?",
                    (model, reason, len(vectors), joined, _next_change(db), *row[:3], row.updated_at),
                )

    def embed_knowledge_again(self, *, refused_alone: bool = False) -> int:
        """Let knowledge wait for a vector once more, all of it, or what was refused; returns how much."""
        query = "UPDATE knowledge SET model = NULL, reason = NULL, vectors = 0, vector = NULL, change = ?"
        with self._writing() as db:
            which = " WHERE reason IS NOT NULL" if refused_alone else ""
            return db.execute(query + which, (_next_change(db),)).rowcount

    def unteach(self, place: str, key: str | None = None) -> list[str | None]:
        """Drop what has a key in a place, or all of the place; returns what of each was embedded."""
        return self._unteach("place = ?1 AND (?2 IS NULL OR key = ?2)", place, key)

    def unteach_citing(self, turn_ids: Collection[str], places: Collection[str] | None = None) -> list[str | None]:
        """Drop what was made from some turns, in some places or in all; returns what of each was embedded."""
        cites = "SELECT 1 FROM json_each(knowledge.cites) WHERE value IN (SELECT value FROM json_each(?1))"
        within = "?2 IS NULL OR place IN (SELECT value FROM json_each(?2))"
        where = f"cites <> '[]' AND EXISTS ({cites}) AND ({within})"
        return self._unteach(where, json.dumps(list(turn_ids)), None if places is None else json.dumps(list(places)))

    def _unteach(self, where: str, *values: str | None) -> list[str | None]:
        with self._writing() as db:
            dropped = [row[0] for row in db.execute(f"SELECT content FROM knowledge WHERE {where}", values)]
            if dropped:
                db.execute(f"DELETE FROM knowledge WHERE {where}", values)
                note_dropped(db)
            return dropped

    # Threads

    def add_to_thread(self, place: str, messages: Sequence[tuple[str, str]], keep: int) -> None:
        """Add messages to a thread, and drop the oldest beyond those to be kept.

        Args:
            place: whose thread it is.
            messages: role and content of each.
            keep: how many messages are kept at the most.
        """
        now = time.time()
        with self._writing() as db:
            query = "SELECT coalesce(max(number), 0) FROM threads WHERE place = ?"
            last = db.execute(query, (place,)).fetchone()[0]
            rows = [(place, number, *message, now) for number, message in enumerate(messages, last + 1)]
            db.executemany(f"INSERT INTO threads ({THREADS}) VALUES (?, ?, ?, ?, ?)", rows)
            db.execute("DELETE FROM threads WHERE place = ? AND number <= ?", (place, last + len(rows) - keep))

    def thread(self, place: str, limit: int) -> list[ThreadRow]:
        """Return the last messages of a thread, oldest first."""
        query = f"SELECT {THREADS} FROM threads WHERE place = ? ORDER BY number DESC LIMIT ?"
        return [ThreadRow(*row) for row in self._read(query, place, limit)][::-1]

    def clear_thread(self, place: str) -> int:
        """Drop the messages of a thread; returns how many."""
        with self._writing() as db:
            _note_forgetting(db)
            return db.execute("DELETE FROM threads WHERE place = ?", (place,)).rowcount

    # Both

    def places(self) -> set[str]:
        """Return whose knowledge and threads there are."""
        return {row[0] for row in self._read("SELECT place FROM knowledge UNION SELECT place FROM threads")}


def note_dropped(db: sqlite3.Connection) -> None:
    """Let other processes see that knowledge was dropped."""
    db.execute("INSERT OR REPLACE INTO facts VALUES ('knowledge_dropped', ?)", (_next_change(db),))
    _note_forgetting(db)


def _note_forgetting(db: sqlite3.Connection) -> None:
    """Let the log be emptied by whoever can, if that does not work at once."""
    db.execute("INSERT OR REPLACE INTO facts VALUES ('forgetting', '1')")


def take_over_knowledge(db: sqlite3.Connection, knowledge: Sequence[Any], threads: Sequence[Any]) -> None:
    """Keep the knowledge and the threads of another journal; where both have some of the same key, the newer one."""
    for row in knowledge:
        db.execute(
            f"INSERT INTO knowledge ({KNOWLEDGE}, change) VALUES ({_MARKS}, ?){_IN_ITS_PLACE}"
            " WHERE excluded.updated_at > updated_at",
            (*row, _next_change(db)),
        )
    last: dict[str, int] = dict(db.execute("SELECT place, max(number) FROM threads GROUP BY place"))
    there = {tuple(row) for row in db.execute("SELECT place, role, content, said_at FROM threads")}
    for message in map(ThreadRow._make, threads):
        if (message.place, message.role, message.content, message.said_at) not in there:
            number = last[message.place] = last.get(message.place, 0) + 1
            db.execute(f"INSERT INTO threads ({THREADS}) VALUES (?, ?, ?, ?, ?)", message._replace(number=number))


def _next_change(db: sqlite3.Connection) -> int:
    change: int = db.execute(_LAST).fetchone()[0] + 1
    db.execute("INSERT OR REPLACE INTO facts VALUES ('knowledge_change', ?)", (change,))
    return change
