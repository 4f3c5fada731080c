"""Deriving words and vectors of questions and answers in the background, as soon as somebody searches by them."""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffai._fork import held_over_forks
from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.halving import Refused, embed_or_halve, told
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_file import MessageRow
from ffai.core.memory.keyword import TurnWords
from ffai.core.memory.messages import messages_of
from ffai.core.memory.table import Table
from ffai.core.memory.vectorise import TEXTS_A_CALL, embed_texts
from ffai.core.memory.vectors import as_bytes
from ffai.core.memory.words import VERSION, words_of
from ffai.core.memory.words_row import as_row, from_row
from ffai.core.similarity import Vector, unit
from ffai.errors import JournalError

if TYPE_CHECKING:
    from ffai.core.memory.collection import Collection
    from ffai.core.memory.journal import Journal

logger = logging.getLogger(__name__)

AT_ONCE = 512
"""Turns whose words are made, or whose rows are read, in one piece of work."""
FEW, FEW_CHARACTERS = 64, 200_000
"""Turns whose words a search makes itself, rather than wait for the worker."""
PAUSE_AFTER_ERROR = 30.0

Made = tuple[NDArray[np.int8], NDArray[np.float32]]
"""The vectors of the two messages of a turn, as bytes: shape ``(2, dim)``, and their scales: shape ``(2,)``."""


class MessageKeeper:
    """Called by the worker each time it works. It does nothing until :meth:`want` is called, here or before.

    Args:
        collection: whose turns they are.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._working = held_over_forks(threading.Lock())
        self._wanted = False
        self._is_looked_up, self._rows_fit, self._is_swept = False, False, False
        self._not_before = 0.0

    def want(self) -> None:
        """Derive the messages of all turns from now on, in later processes too."""
        if not self._wanted:
            self._wanted = True
            self._collection.wake()

    def make_words(self, *, every: bool) -> None:
        """Make the words of turns here and now; they are kept when the vectors are.

        Args:
            every: whatever it takes; else of a few new ones.
        """
        table, count = self._collection.store._snapshot()
        new = table.texts[table.messages.with_words : count] if not every else []
        if len(new) <= FEW and sum(map(len, new)) <= FEW_CHARACTERS:
            while self._add_words():
                pass

    @property
    def is_done(self) -> bool:
        """Whether words and vectors of all turns are there, or can't be made just now."""
        table, count = self._collection.store._snapshot()
        return table.messages.with_vectors >= count or time.monotonic() < self._not_before

    @property
    def unprepared(self) -> int:
        """How many turns lack words or vectors; 0 where nobody has asked for them."""
        table, count = self._collection.store._snapshot()
        return count - min(count, table.messages.with_vectors) if self._wanted else 0

    def __call__(self) -> float | None:
        """Derive the messages of some turns; tell when to come again."""
        if self._collection.closed or not self._is_wanted():
            return None
        if (pause := self._not_before - time.monotonic()) > 0.0:
            return pause
        if self._add_words() or self._add_vectors():
            return 0.0
        self._sweep()
        return None

    def _is_wanted(self) -> bool:
        """Tell whether somebody searches by messages, in this process or an earlier one; note it if it is this one."""
        if self._is_kept and (self._wanted or not self._is_looked_up) and not self._rows_fit:
            noted, self._is_looked_up = self._noted(), True
            self._wanted = self._wanted or noted is not None
            if self._wanted and noted != str(VERSION):
                self._write(lambda journal: journal.want_messages(str(VERSION)))
        return self._wanted

    def _noted(self) -> str | None:
        """Return by which rules the kept words are made; ``None`` while none are wanted."""
        noted = self._collection.journal.read(lambda journal: journal.fact("messages"))
        self._rows_fit = noted == str(VERSION)
        return noted

    def _sweep(self) -> None:
        """Once, drop what is kept of turns that nobody knows: of one that was forgotten while it was written."""
        if self._is_kept and not self._is_swept:
            self._is_swept = True
            if orphans := self._collection.journal.read(lambda journal: journal.message_ids()) - {*self._ids()}:
                self._write(lambda journal: journal.drop_messages(orphans))

    def _ids(self) -> list[str]:
        self._collection.catch_up()
        return self._collection.store._ids()

    def _write(self, change: Callable[[Journal], None]) -> None:
        """Change the journal, if that is possible just now: what is lost is made again."""
        with suppress(JournalError):
            self._collection.journal.drop(change)

    @property
    def _is_kept(self) -> bool:
        return self._collection.place is not None and not self._collection.closed

    # Words

    def _add_words(self) -> bool:
        """Make the words of some turns; tells whether there were any without."""
        with self._working:
            table, count = self._collection.store._snapshot()
            start = table.messages.with_words
            turns = [table.turn(entry) for entry in range(start, min(count, start + AT_ONCE))]
            if not turns:
                return False
            known = self._rows_of(turns)
            words = [
                from_row(known[turn.turn_id].words) if turn.turn_id in known else turn_words(turn) for turn in turns
            ]
            self._collection.store._change_messages(table, lambda messages: messages.add_words(start, turns, words))
            return True

    def _rows_of(self, turns: Sequence[NewTurn]) -> dict[str, MessageRow]:
        """Return what is kept of the messages of turns, as far as it is of their texts."""
        if not self._is_kept or not (self._rows_fit or self._noted() == str(VERSION)):
            return {}
        ids = [turn.turn_id for turn in turns]
        rows = self._collection.journal.read(lambda journal: journal.messages(ids))
        found = ((turn, rows.get(turn.turn_id)) for turn in turns)
        return {turn.turn_id: row for turn, row in found if row is not None and row.text_sum == _text_sum(turn)}

    # Vectors

    def _add_vectors(self) -> bool:
        """Make the vectors of some turns whose words are there; tells whether there were any without."""
        collection = self._collection
        since = collection.journal.read(lambda journal: journal.last_change())
        collection.catch_up()  # from here on, all turns that are looked at were there at that change
        table, _ = collection.store._snapshot()
        start, end = table.messages.with_vectors, table.messages.with_words
        if start >= end or table.vectors is None or not collection.embeds:
            return False
        embedder, dimensions = collection.embedder, table.vectors.dimensions
        turns = [table.turn(entry) for entry in range(start, min(end, start + AT_ONCE))]
        made, is_new = self._kept_vectors(turns, embedder_name(embedder), dimensions), False
        if not made:
            turns = turns[: TEXTS_A_CALL // 2]
            embedded = self._embedded(table, start, turns, embedder, dimensions)
            if embedded is None:
                return True
            made, is_new = embedded, True
        rows, scales = (np.stack(arrays) for arrays in zip(*made, strict=True))
        with collection.changing:
            if embedder is collection.embedder and not collection.closed:
                if is_new:
                    self._keep(turns, made, embedder_name(embedder), since)
                collection.store._change_messages(table, lambda messages: messages.add_vectors(start, rows, scales))
        return True

    def _kept_vectors(self, turns: Sequence[NewTurn], model: str, dimensions: int) -> list[Made]:
        """Return the vectors that are kept of the first turns, until one has none."""
        known, made = self._rows_of(turns), []
        for turn in turns:
            row = known.get(turn.turn_id)
            if row is None or row.model != model or row.vectors is None or len(row.vectors) != 2 * dimensions:
                break
            rows = np.frombuffer(row.vectors, dtype=np.int8).reshape(2, dimensions)
            made.append((rows, np.frombuffer(row.scales or bytes(8), dtype=np.float32)))
        return made

    def _keep(self, turns: Sequence[NewTurn], made: Sequence[Made], model: str, since: int) -> None:
        if self._is_kept:
            rows = [
                MessageRow(
                    turn.turn_id, _text_sum(turn), as_row(turn_words(turn)), model, vectors.tobytes(), scales.tobytes()
                )
                for turn, (vectors, scales) in zip(turns, made, strict=True)
            ]
            self._write(lambda journal: journal.keep_messages(rows, since=since))

    def _embedded(
        self, table: Table, start: int, turns: Sequence[NewTurn], embedder: Embedder, dimensions: int
    ) -> list[Made] | None:
        """Embed the messages of turns; ``None`` where that has to wait."""
        assert table.vectors is not None  # noqa: S101 - there are turns
        wholes = table.vectors.exact(table.first_rows.view(start + len(turns))[start:])
        self._collection.queries.let_pass()
        texts = [text for turn in turns for text in _embedded_texts(turn)]
        try:
            vectors = embed_or_halve(texts, lambda some: embed_texts(embedder, some, dimensions))
        except BaseException as error:  # noqa: BLE001 - a library in Rust panics with one
            self._postpone(error)
            return None
        for refused in (vector for vector in vectors if isinstance(vector, Refused)):
            logger.info("A message can't be embedded; its whole turn stands for it: %s", refused)
        each = iter(vectors)
        return [
            _made(turn, whole, [next(each) for _ in _embedded_texts(turn)])
            for turn, whole in zip(turns, wholes, strict=True)
        ]

    def _postpone(self, error: BaseException) -> None:
        logger.warning("Questions and answers can't be embedded just now, it is tried again: %s", told(error))
        self._not_before = time.monotonic() + PAUSE_AFTER_ERROR


def _text_sum(turn: NewTurn) -> int:
    """Return a checksum of the two messages of a turn."""
    return zlib.crc32("\0".join(messages_of(turn)).encode())


def turn_words(turn: NewTurn) -> TurnWords:
    """Make the words of the two messages of a turn."""
    asked, answered = messages_of(turn)
    return words_of(asked), words_of(answered)


def _embedded_texts(turn: NewTurn) -> list[str]:
    """Return the messages that have vectors of their own: without an answer, the question is all of the turn."""
    asked, answered = messages_of(turn)
    return [text for text in (asked, answered) if text.strip()] if answered else []


def _made(turn: NewTurn, whole: Vector, own: Sequence[Vector | Refused]) -> Made:
    """Give the vectors of a turn's messages as bytes; what could not be embedded stands as the whole turn."""
    asked, answered = messages_of(turn)
    each = iter(own)
    vectors = []
    for text in (asked, answered):
        vector = np.zeros_like(whole) if not text.strip() else next(each) if answered else whole
        vectors.append(unit(whole if isinstance(vector, Refused) else vector))
    rows, scales, _ = as_bytes(np.array(vectors, dtype=np.float32))
    return rows, scales
