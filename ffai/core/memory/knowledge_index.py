"""What was taught, as it is searched."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from ffai.core.conversation_id import internal_id
from ffai.core.embeddings.protocol import AbsentEmbedder, Embedder, embedder_name
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_knowledge import KnowledgeChanges, KnowledgeRow
from ffai.core.memory.table import Table
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.words import words_of
from ffai.core.similarity import Vector


class Taught(NamedTuple):
    """An entry that can be searched."""

    row: KnowledgeRow
    """Without its vectors."""
    is_embedded: bool
    """Whether it can be found by meaning; if not, by words alone."""
    kind: str
    """What its value says it is, under ``"kind"``; ``""`` where it says nothing."""


class KnowledgeIndex:
    """The entries of one journal with the vectors of one embedder, for one thread at a time.

    Args:
        embedder: what makes the vectors; where it is absent, what waits for it is found by words all the same.
        journal_id: the journal's id.
        size: how many numbers a vector has, as far as it is known.
    """

    def __init__(self, embedder: Embedder | None = None, journal_id: str = "", size: int | None = None) -> None:
        self._embedder, self._journal_id, self._size = embedder, journal_id, size
        self._turns = TurnVectorStore()
        self.taught: dict[str, Taught] = {}
        """Each entry by the id that it has as a turn. It is exchanged, and never changed."""
        self.seen = 0
        """Number of the last change that it holds."""

    def is_of(self, embedder: Embedder, journal_id: str, size: int | None, last: int) -> bool:
        """Tell whether it can be brought up to date, or another one is needed.

        Args:
            embedder: what makes the vectors now.
            journal_id: id of the journal that is in use now.
            size: of the vectors that are to be compared with; ``None`` where there are none.
            last: number of the journal's last change.
        """
        fits = size is None or self._turns.dimensions in (None, size)
        return embedder is self._embedder and journal_id == self._journal_id and fits and last >= self.seen

    def follow(self, changes: KnowledgeChanges) -> None:
        """Take over what happened since the last change that it holds."""
        found = {id_of(row): row for row in changes.rows}
        left = changes.left
        gone = {known for known, (row, *_) in self.taught.items() if left is not None and row[:2] not in left}
        groups = self._vectors_of(found)
        self._turns._drop(gone | found.keys())
        self._turns._put([(_as_turn(found[known]), vectors) for known, (vectors, _) in groups.items()])
        _add_words(self._turns)
        rest = {known: one for known, one in self.taught.items() if known not in gone and known not in found}
        new = {
            known: Taught(found[known]._replace(vector=None), own, _kind_of(found[known]))
            for known, (_, own) in groups.items()
        }
        self.taught, self.seen = rest | new, changes.last

    def _vectors_of(self, rows: dict[str, KnowledgeRow]) -> dict[str, tuple[list[Vector], bool]]:
        """Return the vectors of those that can be searched, and of each whether they are its own."""
        name = "" if self._embedder is None else embedder_name(self._embedder)
        own = {known: _vectors(row) for known, row in rows.items() if row.vector is not None and row.model == name}
        size = self._turns.dimensions or self._size or next((group[0].size for group in reversed(own.values())), 1)
        own = {known: group for known, group in own.items() if group[0].size == size}  # two models may have one name
        by_words = {
            known: [np.zeros(size)]
            for known, row in rows.items()
            if known not in own and row.content is not None and self._has_none(row, name)
        }
        return {known: (group, True) for known, group in own.items()} | {
            known: (group, False) for known, group in by_words.items()
        }

    def _has_none(self, row: KnowledgeRow, name: str) -> bool:
        """Tell whether an entry gets no vector just now: it was refused, or there is nothing to make one."""
        return isinstance(self._embedder, AbsentEmbedder) or (row.model == name and row.reason is not None)

    def snapshot(self) -> tuple[Table, int]:
        """Return the entries as turns, and how many of these are whole."""
        return self._turns._snapshot()


def id_of(row: KnowledgeRow) -> str:
    """Return the id that an entry has as a turn."""
    return f"{row.place}\n{row.key}"


def _kind_of(row: KnowledgeRow) -> str:
    return str(json.loads(row.value).get("kind") or "") if '"kind"' in row.value else ""


def _as_turn(row: KnowledgeRow) -> NewTurn:
    """Give an entry as a turn that stands in no conversation with another one."""
    notes: dict[str, Any] = {"scope": {"conversation_id": internal_id(id_of(row))}}
    turn = {"role": "assistant", "content": [], "timestamp": row.updated_at, "metadata": {"ffai": notes}}
    return NewTurn(id_of(row), row.content or "", json.dumps(turn), "{}")


def _vectors(row: KnowledgeRow) -> list[Vector]:
    return list(np.frombuffer(row.vector or b"").reshape(row.vectors, -1))


def _add_words(turns: TurnVectorStore) -> None:
    table, count = turns._snapshot()
    start = table.messages.with_words
    new = [table.turn(entry) for entry in range(start, count)]
    words = [(words_of(turn.text), words_of("")) for turn in new]
    turns._change_messages(table, lambda messages: messages.add_words(start, new, words))
