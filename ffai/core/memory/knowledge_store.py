"""What was taught, where it is durable and where it is searched; its vectors are made in the background."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ffai._fork import held_over_forks
from ffai.core.conversation_id import internal_id
from ffai.core.embeddings.protocol import Embedder, embedder_name, forget_texts
from ffai.core.memory.halving import embed_or_halve, told
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_knowledge import JournalKnowledge, KnowledgeRow
from ffai.core.memory.selection import Selection
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.vectorise import embed_turns, texts_and_parts
from ffai.core.memory.words import words_of
from ffai.core.similarity import Vector
from ffai.errors import JournalError

if TYPE_CHECKING:
    from ffai.core.memory.collection import Collection

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Entries that are embedded in one call at the most."""
PAUSE_AFTER_ERROR = 30.0


class KnowledgeStore:
    """Called by the worker each time it works, to embed what waits.

    Args:
        collection: gives the journal and the embedder.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._reading = held_over_forks(threading.Lock())
        self._not_before = 0.0
        self._begin(None, "")

    def _begin(self, embedder: Embedder | None, journal_id: str) -> None:
        self._embedder, self._journal_id, self._seen = embedder, journal_id, 0
        self._index = TurnVectorStore()
        """The entries that have vectors, as turns."""
        self._rows: dict[str, KnowledgeRow] = {}
        """Each of them by the id that it has there."""

    # Changing and reading

    def teach(self, place: str, key: str, value: str, content: str | None, cites: Sequence[str]) -> None:
        """Keep a value; it is durable when this returns.

        Raises:
            JournalError: it can't be written just now; nothing is kept.
        """
        self._collection.journal.in_file(lambda journal: journal.teach(place, key, value, content, cites))
        self._collection.wake()

    def known(self, place: str, key: str) -> KnowledgeRow | None:
        """Return what has a key in a place.

        Raises:
            JournalError: it can't be read just now.
        """
        return self._collection.journal.look(lambda journal: journal.known(place, key))

    def all_known(self) -> list[KnowledgeRow]:
        """Return all there is, in the order in which it was first taught.

        Raises:
            JournalError: it can't be read just now.
        """
        return self._collection.journal.look(lambda journal: journal.all_known())

    def unteach(self, place: str, key: str) -> bool:
        """Drop what has a key in a place; tells whether there was something.

        Raises:
            JournalError: it can't be written just now; nothing is dropped.
        """
        row = self.known(place, key)
        dropped = self._collection.journal.drop(lambda journal: journal.unteach(place, [key]))
        if row is not None and row.content is not None:
            forget_texts(self._collection.embedder, texts_and_parts(row.content))
        return dropped > 0

    # Searching

    def select(self, seen: Callable[[str], bool]) -> tuple[Selection, dict[str, KnowledgeRow]]:
        """Return the entries that can be searched and are seen, with what other processes did.

        A journal that can't be read just now changes nothing.

        Args:
            seen: tells of a place whether its knowledge is.

        Returns:
            The entries as turns, and all rows by the ids of these.
        """
        with self._reading:
            with suppress(JournalError):
                self._refresh()
            table, count = self._index._snapshot()
            rows = self._rows
        places = {place: seen(place) for place in {row.place for row in rows.values()}}
        among = [entry for entry in range(count) if (row := rows.get(table.ids[entry])) and places[row.place]]
        return Selection(table, count, None if len(among) == count else np.array(among, dtype=np.intp)), rows

    def _refresh(self) -> None:
        embedder, journal = self._collection.embedder, self._collection.journal
        journal_id, last = journal.look(lambda journal: (journal.journal_id, journal.knowledge_change()))
        if embedder is not self._embedder or journal_id != self._journal_id or last < self._seen:
            self._begin(embedder, journal_id)
        if last == self._seen:
            return
        changes = journal.look(lambda journal: journal.knowledge_since(self._seen))
        gone = {known for known, row in self._rows.items() if changes.left is not None and row[:2] not in changes.left}
        changed = {_id_of(row) for row in changes.rows}
        found = [row for row in changes.rows if row.vector is not None and row.model == embedder_name(embedder)]
        size = self._collection.store.dimensions or (_vectors_of(found[-1])[0].size if found else None)
        found = [row for row in found if _vectors_of(row)[0].size == size]  # two models may have one name
        self._index._drop(gone | changed)
        self._index._put([(_as_turn(row), _vectors_of(row)) for row in found])
        _add_words(self._index)
        rest = {known: row for known, row in self._rows.items() if known not in gone and known not in changed}
        self._rows = rest | {_id_of(row): row._replace(vector=None) for row in found}
        self._seen = changes.last

    # Embedding

    @property
    def waits(self) -> bool:
        """Whether something waits for a vector that can be made now."""
        if time.monotonic() < self._not_before:
            return False
        with suppress(JournalError):
            return bool(self._without_vector(1))
        return False

    def count(self) -> int:
        """Count all there is; 0 where that can't be told just now."""
        with suppress(JournalError):
            return self._collection.journal.look(lambda journal: journal.count_knowledge())
        return 0

    def count_waiting(self) -> int:
        """Count what waits for a vector."""
        with suppress(JournalError):
            return len(self._without_vector(-1))
        return 0

    def refused(self) -> list[KnowledgeRow]:
        """Return what could not be embedded, with the reasons."""
        name = embedder_name(self._collection.embedder)
        return self._collection.journal.look(lambda journal: journal.refused(name))

    def retry_failed(self) -> int:
        """Let what could not be embedded be tried again; returns how much."""
        self._not_before = 0.0
        with suppress(JournalError):
            if self.refused():
                change = partial(JournalKnowledge.embed_knowledge_again, refused_alone=True)
                return self._collection.journal.in_file(change)
        return 0

    def embed_again(self) -> None:
        """Let all knowledge wait for a vector of another model, that may have the name of the one before."""
        with suppress(JournalError):
            self._collection.journal.in_file(JournalKnowledge.embed_knowledge_again)

    def _without_vector(self, limit: int) -> list[KnowledgeRow]:
        name = embedder_name(self._collection.embedder)
        return self._collection.journal.look(lambda journal: journal.without_vector(name, limit))

    def __call__(self) -> float | None:
        """Embed some of what waits; tell when to come again."""
        if self._collection.closed or not self._collection.embeds:
            return None
        if (pause := self._not_before - time.monotonic()) > 0.0:
            return pause
        try:
            rows = self._without_vector(AT_ONCE)
            if rows:
                self._embed(rows)
        except JournalError as error:
            self._postpone(error)
        return 0.0 if rows else None

    def _embed(self, rows: Sequence[KnowledgeRow]) -> None:
        collection, embedder = self._collection, self._collection.embedder
        collection.queries.let_pass()
        try:
            made = embed_or_halve([row.content or "" for row in rows], lambda some: embed_turns(embedder, some))
        except BaseException as error:  # noqa: BLE001 - a library in Rust panics with one
            self._postpone(error)
            return
        with collection.changing:
            if embedder is collection.embedder and not collection.closed:
                collection.journal.in_file(lambda journal: journal.keep_vectors(rows, made, embedder_name(embedder)))

    def _postpone(self, error: BaseException) -> None:
        logger.warning("Knowledge can't be embedded just now, it is tried again: %s", told(error))
        self._not_before = time.monotonic() + PAUSE_AFTER_ERROR


def _id_of(row: KnowledgeRow) -> str:
    return f"{row.place}\n{row.key}"


def _as_turn(row: KnowledgeRow) -> NewTurn:
    """Give an entry as a turn that stands in no conversation with another one."""
    notes: dict[str, Any] = {"scope": {"conversation_id": internal_id(_id_of(row))}}
    turn = {"role": "assistant", "content": [], "timestamp": row.updated_at, "metadata": {"ffai": notes}}
    return NewTurn(_id_of(row), row.content or "", json.dumps(turn), "{}")


def _vectors_of(row: KnowledgeRow) -> list[Vector]:
    return list(np.frombuffer(row.vector or b"").reshape(row.vectors, -1))


def _add_words(index: TurnVectorStore) -> None:
    table, count = index._snapshot()
    start = table.messages.with_words
    turns = [table.turn(entry) for entry in range(start, count)]
    words = [(words_of(turn.text), words_of("")) for turn in turns]
    index._change_messages(table, lambda messages: messages.add_words(start, turns, words))
