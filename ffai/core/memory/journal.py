"""The journal: every accepted turn, on disk before anything else happens to it.

One SQLite database. A turn *arrives*, and waits until it is embedded or given up as *failed*; then it moves to the
*indexed* turns, with its vector. Each of these changes takes the next number, so "what is new since change n" is one
query. A number is never used twice: what is dropped leaves the last one as a fact. A caller waits for one row at the
end of one table, without an index or a counter beside it: each of these was measured to cost half as much again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Sequence

from ffai.core.memory.identity import NewTurn, is_content_id
from ffai.core.memory.journal_database import LAST_CHANGE
from ffai.core.memory.journal_file import TURN, WAITING, Arrival, Contents, MessageRow, in_our_words
from ffai.core.memory.journal_knowledge import note_dropped, take_over_knowledge
from ffai.core.memory.journal_reader import JournalReader
from ffai.core.memory.owner import lives
from ffai.core.similarity import Vector

_NEXT_CHANGE = f"{LAST_CHANGE} + 1"
_ARRIVE = f"INSERT INTO arrivals (change, {TURN}, accepted_at, owner) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?, ?, ?)"
_SAME = "change = ? AND turn_id = ?"  # a batch outlives a change of journals, and their numbers are their own
_THESE = "turn_id IN (SELECT value FROM json_each(?))"


class Journal(JournalReader):
    """One journal file, used by any number of threads, and by other processes through journals of their own.

    A turn waits for one process, at first for the one that accepted it; others leave it alone as long as that lives.

    Args:
        path: the SQLite file; its folder is made if it is missing. ``":memory:"`` writes no file.
        durability: ``"process"`` survives the end of the process, however it ends; ``"power"`` also a power cut, at
            the price of one disk flush a turn.
        wait: seconds to wait for other processes that are making it.

    Raises:
        DamagedFileError: the file is not a journal, or is damaged.
        JournalError: the folder or the file can't be written.
    """

    # Writing

    def append(self, turn: NewTurn) -> int:
        """Accept a turn; it is durable when this returns.

        Returns:
            The number of this change.

        Raises:
            JournalError: it can't be written now (full disk, lock of another process).
        """
        row = (turn.turn_id, turn.text, turn.turn, turn.metadata, time.time(), self.owner)
        try:  # and no context manager: the caller waits
            with self._lock:
                return self._db.execute(_ARRIVE, row).lastrowid or 0
        except (sqlite3.Error, OSError) as error:
            raise in_our_words(self.path, error) from error

    def append_all(self, turns: Sequence[NewTurn]) -> None:
        """Accept several turns in one change; see :meth:`append`. None is kept where that fails."""
        now, owner = time.time(), self.owner
        rows = [(turn.turn_id, turn.text, turn.turn, turn.metadata, now, owner) for turn in turns]
        with self._writing() as db:
            db.executemany(_ARRIVE, rows)

    def index(
        self,
        turns: Sequence[tuple[NewTurn, Sequence[Vector]]],
        arrived: Sequence[Arrival] | None = None,
        *,
        model: str | None = None,
        keep: bool = True,
    ) -> list[int | None]:
        """Keep the vectors of turns.

        Args:
            turns: each with its own vector and its parts'; a turn that is indexed already gets new ones.
            arrived: the turns as they waited; one that waits no longer (it was forgotten, or another process has
                embedded it) is left out.
            model: the model that made the vectors; nothing is kept where the collection has another one by now.
            keep: whether the journal is to hold the vectors; if not, the turns only wait no longer.

        Returns:
            For each turn the number of its change; ``None`` where it was left out.

        Raises:
            JournalError: they can't be written now; none of them is.
        """
        with self._writing() as db:
            if model is not None and _fact(db, "model") not in (None, model):
                return [None] * len(turns)
            waits = [True] * len(turns) if arrived is None else [_take_away(db, arrival) for arrival in arrived]
            return [
                self._index(db, turn, vectors) if keep and waited else (0 if waited else None)
                for (turn, vectors), waited in zip(turns, waits, strict=True)
            ]

    def add(self, turn: NewTurn, vectors: Sequence[Vector], model: str) -> int | None:
        """Keep a turn that comes with its vectors. Where the collection has another model by now, it waits for that.

        Returns:
            The number of this change; ``None``, with nothing kept, where another turn of its content has its id.
        """
        with self._writing() as db:
            query = "SELECT 1 FROM arrivals WHERE turn_id = :id UNION ALL SELECT 1 FROM indexed WHERE turn_id = :id"
            if is_content_id(turn.turn_id) and db.execute(query, {"id": turn.turn_id}).fetchone():
                return None
            if _fact(db, "model") in (None, model):
                return self._index(db, turn, vectors)
            row = (turn.turn_id, turn.text, turn.turn, turn.metadata, time.time(), self.owner)
            return db.execute(_ARRIVE, row).lastrowid or 0

    def index_again(
        self, turns: Sequence[tuple[NewTurn, Sequence[Vector]]], model: str, *, since: int
    ) -> list[int | None] | None:
        """Give all turns vectors of another model, which is the collection's from now on.

        Returns:
            For each turn the number of its change; ``None`` where another process has forgotten it meanwhile, or
            instead of them all, with nothing kept, where one has cleared everything since a change.
        """
        with self._writing() as db:
            if int(_fact(db, "cleared_at") or 0) > since:
                return None
            _note(db, "model", model)
            db.execute("DELETE FROM messages")  # a model without a name of its own may go by that of another
            gone = _forgotten(db)
            return [None if turn.turn_id in gone else self._index(db, turn, vectors) for turn, vectors in turns]

    @staticmethod
    def _index(db: sqlite3.Connection, turn: NewTurn, vectors: Sequence[Vector]) -> int:
        db.execute("DELETE FROM parts WHERE turn_id = ?", (turn.turn_id,))
        parts = [(turn.turn_id, part, vector.tobytes()) for part, vector in enumerate(vectors[1:])]
        db.executemany("INSERT INTO parts VALUES (?, ?, ?)", parts)
        return _insert_indexed(db, turn, vectors[0].tobytes())

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
                    f"UPDATE arrivals SET change = {_NEXT_CHANGE}, failed = 0, tries = 0, retry_at = 0, reason = NULL,"
                    " owner = ? WHERE change = ?",
                    (self.owner, *change),
                )
        return len(changes)

    def embed_again(self, turns: Sequence[NewTurn], model: str) -> None:
        """Let turns wait for a vector of another model, whether they are here or not; it is the collection's now."""
        with self._writing() as db:
            db.execute("DELETE FROM messages")
            gone = _forgotten(db)  # by another process, since the turns were read
            turns = [turn for turn in turns if turn.turn_id not in gone]
            for turn in turns:
                db.execute("DELETE FROM indexed WHERE turn_id = ?", (turn.turn_id,))
            now, owner = time.time(), self.owner
            rows = [(turn.turn_id, turn.text, turn.turn, turn.metadata, now, owner) for turn in turns]
            db.executemany(_ARRIVE, rows)
            _note(db, "embedding_again", "1")
            _note(db, "model", model)

    def want_messages(self, version: str) -> None:
        """Note that messages are searched; what was made of them by other rules is dropped.

        Args:
            version: of the rules by which words are made.
        """
        with self._writing() as db:
            if _fact(db, "messages") != version:
                db.execute("DELETE FROM messages")
                _note(db, "messages", version)

    def keep_messages(self, rows: Sequence[MessageRow], *, since: int) -> None:
        """Keep what was made of the messages of turns, but for those that were forgotten meanwhile.

        Args:
            rows: one a turn.
            since: the last change at a time when all these turns were there.
        """
        with self._writing() as db:
            if int(_fact(db, "cleared_at") or 0) > since:
                return
            gone = _forgotten(db)
            kept = [row for row in rows if row.turn_id not in gone]
            db.executemany("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?)", kept)

    def drop_messages(self, turn_ids: Collection[str]) -> None:
        """Drop what was made of the messages of turns."""
        with self._writing() as db:
            db.execute(f"DELETE FROM messages WHERE {_THESE}", (json.dumps(list(turn_ids)),))

    def settle(self, *, saved_to: int) -> None:
        """Drop what happened up to a change: files hold it. Vectors of parts stay."""
        with self._writing() as db:
            dropped = db.execute("DELETE FROM indexed WHERE change <= ?", (saved_to,)).rowcount
            if _fact(db, "forgetting") is None:  # else a file may hold one of these still
                dropped += db.execute("DELETE FROM forgotten WHERE change <= ?", (saved_to,)).rowcount
            if dropped:
                _note(db, "complete_from", saved_to)
            db.execute("DELETE FROM facts WHERE name = 'embedding_again'")

    def start_above(self, change: int) -> None:
        """Let no later change have a number that a file has used already."""
        with self._writing() as db:
            db.execute("UPDATE facts SET value = max(value, ?) WHERE name = 'last_change'", (change,))

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the collection."""
        with self._writing() as db:
            _note(db, name, value)

    def forget(self, turn_ids: Collection[str]) -> tuple[int, int]:
        """Drop turns, and leave their ids: other processes have them in memory, and the files hold them still.

        Returns:
            How many were waiting, and how many were indexed here.
        """
        wanted = json.dumps(list(turn_ids))
        with self._writing() as db:
            waiting = db.execute(f"DELETE FROM arrivals WHERE {_THESE}", (wanted,)).rowcount
            indexed = db.execute(f"DELETE FROM indexed WHERE {_THESE}", (wanted,)).rowcount
            for table in ("parts", "messages"):
                db.execute(f"DELETE FROM {table} WHERE {_THESE}", (wanted,))
            first = int(_fact(db, "last_change") or 0) + 1
            rows = list(enumerate(dict.fromkeys(turn_ids), first))
            db.executemany("INSERT OR REPLACE INTO forgotten VALUES (?, ?)", rows)
            _note(db, "last_change", first + len(rows))
            _note(db, "forgetting", "1")
        return waiting, indexed

    def finish_forgetting(self) -> bool:
        """Empty the log, and note that nothing forgotten is left: the files hold none of it any more.

        Returns:
            Whether that was possible: nobody was reading the log.
        """
        if not self.checkpoint(truncate=True):
            return False
        with self._writing() as db:
            db.execute("DELETE FROM facts WHERE name = 'forgetting'")
        self.checkpoint(truncate=True)
        return True

    def clear(self) -> int:
        """Drop everything but the journal's id, its numbers and the model's name. The files are not valid any more.

        Returns:
            The number of this change.
        """
        with self._writing() as db:
            for table in ("arrivals", "indexed", "parts", "messages", "forgotten", "knowledge", "threads"):
                db.execute(f"DELETE FROM {table}")
            note_dropped(db)
            db.execute("DELETE FROM facts WHERE name = 'embedding_again'")
            for name in ("clearing", "forgetting"):
                _note(db, name, "1")
            change = int(_fact(db, "last_change") or 0) + 1
            for name in ("last_change", "cleared_at", "complete_from"):
                _note(db, name, change)
        return change

    def finish_clearing(self) -> None:
        """Note that the files of before are gone."""
        with self._writing() as db:
            db.execute("DELETE FROM facts WHERE name = 'clearing'")

    def take_over(self, contents: Contents) -> None:
        """Keep what another journal holds, as :meth:`contents` gives it."""
        with self._writing() as db:
            arrivals = [(*row, self.owner) for row in contents.arrivals]
            waiting = json.dumps([row[0] for row in contents.arrivals])
            db.execute(f"DELETE FROM arrivals WHERE {_THESE}", (waiting,))
            columns = f"change, {WAITING}, owner"
            db.executemany(
                f"INSERT INTO arrivals ({columns}) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", arrivals
            )
            for *turn, vector in contents.indexed:
                _insert_indexed(db, NewTurn(*turn), vector)
            db.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", contents.parts)
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", contents.facts)
            db.executemany("DELETE FROM arrivals WHERE turn_id = ?", [(row[0],) for row in contents.indexed])
            db.execute(f"DELETE FROM indexed WHERE {_THESE}", (waiting,))
            take_over_knowledge(db, contents.knowledge, contents.threads)

    # Whose turn it is to embed

    def adopt(self) -> bool:
        """Let the turns of processes that ended wait for this one.

        Returns:
            Whether turns are left that wait for others.
        """
        others = self.owners() - {self.owner}
        ended = [owner for owner in others if not (owner and lives(owner))]
        if ended:
            with self._writing() as db:
                query = "UPDATE arrivals SET owner = ? WHERE coalesce(owner, '') IN (SELECT value FROM json_each(?))"
                db.execute(query, (self.owner, json.dumps(ended)))
        return len(ended) < len(others)

    def release(self) -> None:
        """Let the turns that wait for this process wait for any."""
        if self.owner in self.owners():
            with self._writing() as db:
                db.execute("UPDATE arrivals SET owner = NULL WHERE owner = ?", (self.owner,))


def _insert_indexed(db: sqlite3.Connection, turn: NewTurn, vector: bytes) -> int:
    db.execute("DELETE FROM forgotten WHERE turn_id = ?", (turn.turn_id,))
    row = (turn.turn_id, turn.text, turn.turn, turn.metadata, vector)
    query = f"INSERT OR REPLACE INTO indexed (change, {TURN}, vector) VALUES ({_NEXT_CHANGE}, ?, ?, ?, ?, ?)"
    return db.execute(query, row).lastrowid or 0


def _take_away(db: sqlite3.Connection, arrival: Arrival) -> bool:
    """Let a turn wait no longer; tells whether it did."""
    if db.execute(f"DELETE FROM arrivals WHERE {_SAME}", _key(arrival)).rowcount:
        return True  # else it waits under another number where the journal had to begin again
    return db.execute("DELETE FROM arrivals WHERE turn_id = ?", (arrival.new.turn_id,)).rowcount > 0


def _key(arrival: Arrival) -> tuple[int, str]:
    return arrival.change, arrival.new.turn_id


def _forgotten(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT turn_id FROM forgotten")}


def _fact(db: sqlite3.Connection, name: str) -> str | None:
    row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def _note(db: sqlite3.Connection, name: str, value: str | int) -> None:
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
