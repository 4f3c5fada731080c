"""Looking things up in the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import numpy as np

from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_database import LAST_CHANGE
from ffai.core.memory.journal_file import (
    CONTENTS,
    IN_MEMORY,
    TURN,
    Arrival,
    Changes,
    Contents,
    FailedTurn,
    IndexedTurn,
    MessageRow,
)
from ffai.core.memory.journal_knowledge import JournalKnowledge
from ffai.core.memory.owner import lives, this_process
from ffai.core.similarity import Vector

_NO_LIMIT = 2**63 - 1
_DUE = "failed = 0 AND retry_at <= ?"


class JournalReader(JournalKnowledge):
    """What a journal tells; see :class:`~ffai.core.memory.journal.Journal`, which also writes it."""

    @property
    def owner(self) -> str:
        """What this process is called; what is in memory goes with the process, and to a forked one too."""
        return "" if self.path == IN_MEMORY else this_process()

    def contents(self) -> Contents:
        """Return everything but the journal's id."""
        return Contents(*(self._read(query) for query in CONTENTS))

    def due(self, limit: int) -> list[Arrival]:
        """Return the turns that wait for this process and whose time has come, oldest first."""
        rows = self._read(
            f"SELECT {TURN}, change, tries FROM arrivals WHERE {_DUE} AND owner = ? ORDER BY change LIMIT ?",
            time.time(),
            self.owner,
            limit,
        )
        return [Arrival(row[4], NewTurn(*row[:4]), row[5]) for row in rows]

    def next_retry(self) -> float | None:
        """Return when the next postponed turn is due (seconds since the epoch); ``None`` if none is postponed."""
        query = "SELECT min(retry_at) FROM arrivals WHERE failed = 0 AND retry_at > 0 AND owner = ?"
        due: float | None = self._read(query, self.owner)[0][0]
        return due

    def count_due(self, up_to: int = _NO_LIMIT) -> int:
        """Count the turns that no other living process embeds and whose time has come.

        Args:
            up_to: counts those that arrived up to this change.
        """
        query = f"SELECT owner, count(*) FROM arrivals WHERE {_DUE} AND change <= ? GROUP BY owner"
        found = dict(self._read(query, time.time(), up_to))
        return sum(n for owner, n in found.items() if not owner or owner == self.owner or not lives(owner))

    def oldest_waiting(self) -> float | None:
        """Return when the turn that waits longest was accepted (seconds since the epoch)."""
        since: float | None = self._read("SELECT min(accepted_at) FROM arrivals WHERE failed = 0 AND accepted_at > 0")[
            0
        ][0]
        return since

    def count_unembedded(self) -> int:
        """Count the turns without a vector."""
        count: int = self._read("SELECT count(*) FROM arrivals")[0][0]
        return count

    def count_pending(self) -> int:
        """Count the turns that wait for a vector, whichever process embeds them, postponed ones too."""
        count: int = self._read("SELECT count(*) FROM arrivals WHERE failed = 0")[0][0]
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

    def ids(self) -> set[str]:
        """Return the ids of all turns, whatever their state."""
        return {row[0] for row in self._read("SELECT turn_id FROM arrivals UNION SELECT turn_id FROM indexed")}

    def unembedded(self) -> list[NewTurn]:
        """Return the turns without a vector, oldest first."""
        return [NewTurn(*row) for row in self._read(f"SELECT {TURN} FROM arrivals ORDER BY change")]

    def unembedded_states(self) -> list[tuple[NewTurn, bool]]:
        """Return the turns without a vector, oldest first, and of each whether it failed."""
        rows = self._read(f"SELECT {TURN}, failed FROM arrivals ORDER BY change")
        return [(NewTurn(*row[:4]), bool(row[4])) for row in rows]

    def given_up(self) -> list[NewTurn]:
        """Return those of them that failed, oldest first."""
        return [NewTurn(*row) for row in self._read(f"SELECT {TURN} FROM arrivals WHERE failed = 1 ORDER BY change")]

    def messages(self, turn_ids: Sequence[str]) -> dict[str, MessageRow]:
        """Return what is kept of the messages of turns, by their ids."""
        query = "SELECT turn_id, text_sum, words, model, vectors, scales FROM messages"
        rows = self._read(f"{query} WHERE turn_id IN (SELECT value FROM json_each(?))", json.dumps(list(turn_ids)))
        return {row[0]: MessageRow(*row) for row in rows}

    def message_ids(self) -> set[str]:
        """Return the ids of the turns of whose messages something is kept."""
        return {row[0] for row in self._read("SELECT turn_id FROM messages")}

    def unembedded_ids(self, since: int = 0) -> set[str]:
        """Return the ids of the turns without a vector; only of those that came after a change."""
        return {row[0] for row in self._read("SELECT turn_id FROM arrivals WHERE change > ?", since)}

    def changes_since(self, change: int) -> Changes:
        """Return what happened after a change, all of one moment."""
        with self._reading() as db:
            facts = dict(db.execute("SELECT name, value FROM facts"))
            parts: dict[str, list[Vector]] = {}
            query = "SELECT p.turn_id, p.vector FROM parts p JOIN indexed i USING (turn_id) WHERE i.change > ?"
            for turn_id, vector in db.execute(f"{query} ORDER BY p.turn_id, part", (change,)):
                parts.setdefault(turn_id, []).append(np.frombuffer(vector))
            rows = db.execute(f"SELECT {TURN}, change, vector FROM indexed WHERE change > ? ORDER BY change", (change,))
            indexed = [
                IndexedTurn(row[4], NewTurn(*row[:4]), [np.frombuffer(row[5]), *parts.get(row[0], ())]) for row in rows
            ]
            return Changes(
                last=db.execute(f"SELECT {LAST_CHANGE}").fetchone()[0],
                complete_from=int(facts.get("complete_from", 0)),
                cleared_at=int(facts.get("cleared_at", 0)),
                forgotten={row[0] for row in db.execute("SELECT turn_id FROM forgotten WHERE change > ?", (change,))},
                indexed=indexed,
                model=facts.get("model"),
            )

    def count_indexed_since(self, change: int) -> int:
        """Count the turns that were indexed after a change."""
        query = "SELECT count(*) FROM indexed INDEXED BY indexed_change WHERE change > ?"
        count: int = self._read(query, change)[0][0]
        return count

    def all_parts(self) -> dict[str, list[Vector]]:
        """Return the vectors of the parts of all long turns, by turn id."""
        parts: dict[str, list[Vector]] = {}
        for turn_id, vector in self._read("SELECT turn_id, vector FROM parts ORDER BY turn_id, part"):
            parts.setdefault(turn_id, []).append(np.frombuffer(vector))
        return parts

    def last_change(self) -> int:
        """Return the number of the last change."""
        number: int = self._read(f"SELECT {LAST_CHANGE}")[0][0]
        return number

    def faults(self) -> list[str]:
        """Look over the whole file; return what is wrong with it."""
        return [row[0] for row in self._read("PRAGMA integrity_check(20)") if row[0] != "ok"]

    def owners(self) -> set[str]:
        """Return what the processes are called for which turns wait; ``""`` for none in particular."""
        return {row[0] or "" for row in self._read("SELECT DISTINCT owner FROM arrivals WHERE failed = 0")}

    def forgotten(self) -> set[str]:
        """Return the ids of the turns that were forgotten, as far back as files can hold them."""
        return {row[0] for row in self._read("SELECT turn_id FROM forgotten")}
