"""What was taught, where it is durable and where it is searched; its vectors are made in the background."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Kinds
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ffai._fork import held_over_forks
from ffai.core.embeddings.protocol import embedder_name, forget_texts
from ffai.core.memory.backoff import MAX_TRIES, is_transient, wait_before_next
from ffai.core.memory.halving import embed_or_halve, told
from ffai.core.memory.journal_knowledge import JournalKnowledge, KnowledgeRow
from ffai.core.memory.knowledge_index import KnowledgeIndex, Taught
from ffai.core.memory.selection import Selection
from ffai.core.memory.steady_journal import HEAL_EVERY
from ffai.core.memory.vectorise import embed_turns, texts_and_parts
from ffai.errors import JournalError, StoreError

if TYPE_CHECKING:
    from ffai.core.memory.collection import Collection
    from ffai.core.memory.journal import Journal

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Entries that are embedded in one call at the most."""
LONGEST_PAUSE = 30.0
"""Seconds between two tries at the most."""


class KnowledgeStore:
    """Called by the worker each time it works, to embed what waits.

    Args:
        collection: gives the journal and the embedder.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._reading = held_over_forks(threading.Lock())
        self._index = KnowledgeIndex()
        self._not_before, self._tries = 0.0, 0
        self._all_again, self._in_log = False, False
        self._none_waits_in: tuple[str, str, int] | None = None
        self.problem: str | None = None
        """Why nothing is embedded just now."""

    # Changing and reading

    def teach(self, place: str, key: str, value: str, content: str | None, cites: Sequence[str]) -> None:
        """Keep a value; it is durable when this returns.

        Raises:
            JournalError: it can't be written just now; nothing is kept.
            StoreError: a turn that it was made from has been forgotten meanwhile; nothing is kept.
        """
        kept = self._collection.journal.in_file(lambda journal: journal.teach(place, key, value, content, cites))
        if not kept:
            raise StoreError(f"{key!r} was made from a turn that has been forgotten; it is not kept.")
        self.changed()

    def changed(self) -> None:
        """Let the worker look after what was written."""
        self._in_log = True
        self._collection.wake()

    def all_known(self, key: str | None = None) -> list[KnowledgeRow]:
        """Return all there is, or what has a key, in the order in which it was first taught.

        Raises:
            JournalError: it can't be read just now.
        """
        return self._collection.journal.look(lambda journal: journal.all_known(key))

    def unteach(self, place: str, key: str) -> bool:
        """Drop what has a key in a place; tells whether there was something.

        Raises:
            JournalError: it can't be written just now; nothing is dropped.
        """
        dropped = self._collection.journal.drop(lambda journal: journal.unteach(place, key))
        self.forget_vectors(dropped)
        return bool(dropped)

    def forget_vectors(self, contents: Sequence[str | None]) -> None:
        """Let the embedder drop what it keeps of what was dropped."""
        texts = [text for content in contents if content is not None for text in texts_and_parts(content)]
        forget_texts(self._collection.embedder, texts)

    # Searching

    def select(
        self, seen: Callable[[str], bool], *, size: int | None, by_words: bool, without: Kinds[str] = ()
    ) -> tuple[Selection, Mapping[str, Taught]]:
        """Return the entries that can be searched and are seen, with what other processes did.

        A journal that can't be read just now changes nothing.

        Args:
            seen: tells of a place whether its knowledge is.
            size: of the vectors that are to be compared with; ``None`` where there are none.
            by_words: whether those without a vector are among them.
            without: kinds that are left out.

        Returns:
            The entries as turns, and all by the ids of these.
        """
        with self._reading:
            with suppress(JournalError):
                self._refresh(size)
            (table, count), taught = self._index.snapshot(), self._index.taught
        places = {place: seen(place) for place in {one.row.place for one in taught.values()}}

        def is_among(entry: int) -> bool:
            one = taught.get(table.ids[entry])
            if one is None or one.kind in without:
                return False
            return places[one.row.place] and (by_words or one.is_embedded)

        among = [entry for entry in range(count) if is_among(entry)]
        return Selection(table, count, None if len(among) == count else np.array(among, dtype=np.intp)), taught

    def _refresh(self, size: int | None) -> None:
        embedder, journal = self._collection.embedder, self._collection.journal
        journal_id, last = journal.look(lambda journal: (journal.journal_id, journal.knowledge_change()))
        index = self._index
        if not index.is_of(embedder, journal_id, size, last):
            index = KnowledgeIndex(embedder, journal_id, size)
        if last != index.seen:
            index.follow(journal.look(lambda journal: journal.knowledge_since(index.seen)))
        self._index = index

    # Embedding

    def waits(self, up_to: int = sys.maxsize) -> bool:
        """Tell whether something waits for a vector that can be made now.

        Args:
            up_to: number of the change up to which it counts.
        """
        if time.monotonic() < self._not_before:
            return False
        name = embedder_name(self._collection.embedder)

        def look(journal: Journal) -> bool:
            state = journal.journal_id, name, journal.knowledge_change()
            if state == self._none_waits_in:
                return False
            waits = journal.lacks_vectors(name, up_to)
            if not waits and up_to == sys.maxsize:
                self._none_waits_in = state
            return waits

        with suppress(JournalError):
            return self._collection.journal.look(look)
        return False

    def last_change(self) -> int:
        """Return the number of the last change, as far as it can be told just now."""
        with suppress(JournalError):
            return self._collection.journal.look(JournalKnowledge.knowledge_change)
        return sys.maxsize

    def count(self) -> int:
        """Count all there is; 0 where that can't be told just now."""
        with suppress(JournalError):
            return self._collection.journal.look(JournalKnowledge.count_knowledge)
        return 0

    def count_waiting(self) -> int:
        """Count what waits for a vector; 0 where that can't be told just now."""
        name = embedder_name(self._collection.embedder)
        with suppress(JournalError):
            return self._collection.journal.look(lambda journal: journal.count_without_vector(name))
        return 0

    def refused(self) -> list[KnowledgeRow]:
        """Return what could not be embedded, with the reasons.

        Raises:
            JournalError: it can't be read just now.
        """
        name = embedder_name(self._collection.embedder)
        return self._collection.journal.look(lambda journal: journal.refused(name))

    def retry_failed(self) -> int:
        """Let what could not be embedded be tried again; returns how much."""
        self._go_on()
        count = 0
        with suppress(JournalError):
            if self.refused():
                change = partial(JournalKnowledge.embed_knowledge_again, refused_alone=True)
                count = self._collection.journal.in_file(change)
        self._collection.wake()
        return count

    def embed_again(self) -> None:
        """Let all knowledge wait for a vector of another model, that may have the name of the one before."""
        self._go_on()
        self._all_again = True
        with suppress(JournalError):
            self._begin_again()

    def _begin_again(self) -> None:
        if self._all_again:
            self._collection.journal.in_file(JournalKnowledge.embed_knowledge_again)
            self._all_again = False

    def __call__(self) -> float | None:
        """Embed some of what waits; tell when to come again."""
        if self._collection.closed or not self._collection.embeds:
            self._empty_log()
            return None
        if (pause := self._not_before - time.monotonic()) > 0.0:
            return pause
        try:
            self._begin_again()
            rows = self._due() if self.waits() else []
            if rows:
                self._embed(rows)
            else:
                self._empty_log()
        except JournalError as error:
            self._postpone(error, HEAL_EVERY)
            return HEAL_EVERY
        return 0.0 if rows else None

    def _due(self) -> list[KnowledgeRow]:
        name = embedder_name(self._collection.embedder)
        return self._collection.journal.look(lambda journal: journal.without_vector(name, AT_ONCE))

    def _embed(self, rows: Sequence[KnowledgeRow]) -> None:
        collection, embedder, size = self._collection, self._collection.embedder, self._collection.size()
        collection.queries.let_pass()
        try:
            made = embed_or_halve([row.content or "" for row in rows], lambda some: embed_turns(embedder, some, size))
        except BaseException as error:  # noqa: BLE001 - a library in Rust panics with one
            self._tries += 1
            pause = wait_before_next(error, min(self._tries, MAX_TRIES)) if is_transient(error) else LONGEST_PAUSE
            self._postpone(error, min(pause, LONGEST_PAUSE))
            return
        with collection.changing:
            if embedder is collection.embedder and not collection.closed:
                collection.journal.in_file(lambda journal: journal.keep_vectors(rows, made, embedder_name(embedder)))
        self._go_on()
        self._in_log = True

    def _empty_log(self) -> None:
        """Move what was written into the database: the journal's log would grow as long as no turn is saved."""
        if self._in_log:
            self._in_log = False
            self._collection.journal.active.checkpoint()

    def _go_on(self) -> None:
        self._not_before, self._tries, self.problem = 0.0, 0, None

    def _postpone(self, error: BaseException, pause: float) -> None:
        self.problem = f"Knowledge can't be embedded just now, it is tried again: {told(error)}"
        logger.warning("%s", self.problem)
        self._not_before = time.monotonic() + pause
