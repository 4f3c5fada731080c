"""The columns of a store: what is known of each turn, and the rows of its vectors."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column
from ffai.core.memory.field_index import FieldIndex
from ffai.core.memory.identity import NewTurn, is_content_id
from ffai.core.memory.messages import Messages
from ffai.core.memory.noted import Noted
from ffai.core.memory.same_text import SameText
from ffai.core.memory.turn_json import read_notes
from ffai.core.memory.vectors import VectorBlocks
from ffai.core.similarity import Vector

MOST_METADATA = 10_000
"""Different texts of metadata that are remembered, to keep each once."""
MOST_DEAD = 4
"""Vectors of dropped turns are let go of when they are more than an n-th of all."""

Columns = tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]
"""The fields of turns, each as a column: ids, texts, turn dicts and the caller's metadata as JSON."""
Groups = Sequence[Sequence[Vector]] | Vector
"""For each turn its own vector and its parts'; as an array, shape ``(turns, 1, dim)``."""


class Table:
    """Parallel columns that only grow. ``count`` is raised last: what lies below it is whole and never changes.

    Adding is for one thread at a time. Whoever reads takes ``count`` first, and then needs no lock.

    Args:
        reading: taken while turns are read for what only some searches ask for.
    """

    def __init__(self, reading: threading.Lock) -> None:
        self._reading = reading
        self.count = 0
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.turns: list[str] = []
        self.metadata: list[str] = []
        self._metadata: dict[str, str] = {}
        self.first_rows = Column(np.intp)
        """Row of each entry's own vector; the rows of its parts follow it."""
        self.row_counts = Column(np.intp)
        self.vectors: VectorBlocks | None = None
        self.entry_of: dict[str, int] = {}
        """Where each id is; the last place, where several turns have it."""
        self.copies: Counter[str] = Counter()
        """How many turns without an id of their own have the same content."""
        self.is_dense = True
        """Whether entry n has row n and no other, and no row belongs to nobody."""
        self.expires = Column(np.float64)
        """When each turn is to be found no longer, in seconds since the epoch; infinity for never."""
        self.earliest_expiry = math.inf
        self.fields = FieldIndex(self.turns, self.metadata, reading)
        self.noted = Noted(self.turns, reading)
        self.same_text = SameText(self.texts, reading)
        self.messages = Messages()

    def extend(self, turns: Columns, groups: Groups, expiries: Sequence[float] | None = None) -> None:
        """Add turns with their vectors, all of the table's size; ``expiries`` where they were read before."""
        counts = [1] * len(groups) if isinstance(groups, np.ndarray) else [len(group) for group in groups]
        rows = groups[:, 0] if isinstance(groups, np.ndarray) else np.array([row for group in groups for row in group])
        if self.vectors is None:
            self.vectors = VectorBlocks(rows.shape[1])
        first = self.vectors.count
        self.vectors.append(rows)
        self._note(turns, first + np.cumsum([0, *counts[:-1]]), counts, expiries)

    def _note(
        self,
        columns: Columns,
        first_rows: NDArray[np.intp],
        row_counts: Sequence[int],
        expiries: Sequence[float] | None,
    ) -> None:
        """Add turns whose vectors are there."""
        ids, texts, turns, metadata = columns
        self.is_dense = self.is_dense and len(ids) == sum(row_counts) and int(first_rows[0]) == self.count
        self.first_rows.extend(first_rows)
        self.row_counts.extend(row_counts)
        self.ids.extend(ids)
        self.texts.extend(texts)
        self.turns.extend(turns)
        self.metadata.extend(map(self._kept_once, metadata))
        expiries = list(map(_expiry, turns)) if expiries is None else expiries
        self.expires.extend(expiries)
        self.earliest_expiry = min(self.earliest_expiry, *expiries)
        count = self.count + len(ids)
        self.entry_of.update(zip(ids, range(self.count, count), strict=True))
        self.count = count

    def _kept_once(self, metadata: str) -> str:
        """Return an equal text that is there already: what callers attach is often the same."""
        known = self._metadata.get(metadata)
        if known is None and len(self._metadata) < MOST_METADATA:
            self._metadata[metadata] = metadata
        return known or metadata

    def columns(self, entries: Sequence[int]) -> Columns:
        """Return what is known of some entries."""
        ids, texts, turns, metadata = (
            [column[entry] for entry in entries] for column in (self.ids, self.texts, self.turns, self.metadata)
        )
        return ids, texts, turns, metadata

    def turn(self, entry: int) -> NewTurn:
        """Return what is known of an entry."""
        return NewTurn(self.ids[entry], self.texts[entry], self.turns[entry], self.metadata[entry])

    def rows_of(self, entries: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of entries, each one's own vector's before its parts', and where among them each begins."""
        if self.is_dense:
            return entries, np.arange(entries.size)
        count = int(entries.max(initial=-1)) + 1
        firsts, counts = self.first_rows.view(count)[entries], self.row_counts.view(count)[entries]
        starts = np.cumsum(counts) - counts
        if starts.size and int(starts[-1]) == starts.size - 1 and int(counts[-1]) == 1:
            return firsts, starts  # one row each
        return np.repeat(firsts - starts, counts) + np.arange(counts.sum()), starts

    def group(self, entry: int) -> list[Vector]:
        """Return the vectors of an entry, as they were added: its own, then its parts'."""
        return [] if self.vectors is None else list(self.vectors.exact(self.rows_of(np.array([entry]))[0]))

    def without(self, turn_ids: Collection[str]) -> Table:
        """Return a table of the other turns; this one stays as it is, for those who still read it."""
        kept = [entry for entry in range(self.count) if self.ids[entry] not in turn_ids]
        rows = int(self.row_counts.view(self.count)[kept].sum())
        expiries = self.expires.view(self.count)[kept].tolist()
        fresh = Table(self._reading)
        if not kept or self.vectors is None:
            return fresh
        if (self.vectors.count - rows) * MOST_DEAD > self.vectors.count:
            fresh.extend(self.columns(kept), [self.group(entry) for entry in kept], expiries)
        else:
            fresh.vectors = self.vectors
            counts = self.row_counts.view(self.count)[kept]
            first_rows = self.first_rows.view(self.count)[kept]
            fresh._note(self.columns(kept), first_rows, counts.tolist(), expiries)
            fresh.is_dense = False
        fresh.copies = self.copies
        fresh.fields = self.fields.of(np.array(kept), fresh.turns, fresh.metadata)
        fresh.noted = self.noted.of(np.array(kept), fresh.turns)
        fresh.messages = self.messages.of(np.array(kept))
        return fresh

    def holds(self, turn_id: str, vectors: Sequence[Vector]) -> bool:
        """Tell whether a turn is there with just these vectors."""
        entry = self.entry_of.get(turn_id)
        if entry is None or len(stored := self.group(entry)) != len(vectors):
            return False
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(stored, vectors, strict=True))

    def named(self, turn: NewTurn, taken: Collection[str] = ()) -> NewTurn:
        """Return a turn under an id that tells it from turns of the same content; ids that were given stay.

        Args:
            turn: is not in the table yet.
            taken: ids that turns elsewhere have.
        """
        if not is_content_id(turn.turn_id) or not (turn.turn_id in self.entry_of or turn.turn_id in taken):
            return turn
        copy = self.copies[turn.turn_id] or 1
        while (turn_id := f"{turn.turn_id}-{copy + 1}") in self.entry_of or turn_id in taken:
            copy += 1
        self.copies[turn.turn_id] = copy
        return turn._replace(turn_id=turn_id)


def _expiry(turn: str) -> float:
    until = read_notes(turn).expires_at if '"expires_at"' in turn else None
    return math.inf if until is None else until


def columns_of(turns: Sequence[NewTurn]) -> Columns:
    """Give turns as columns."""
    ids, texts, dicts, metadata = zip(*turns, strict=True)
    return ids, texts, dicts, metadata
