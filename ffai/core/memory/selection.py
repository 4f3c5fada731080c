"""The turns that one search may see."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.conversations import settle
from ffai.core.memory.filters import TurnFilter
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.ranking import closest
from ffai.core.memory.table import Table
from ffai.core.similarity import Vector, as_vector

Entries = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Selection:
    """Some of the turns of a table, as they are at one moment: those that a filter allows and that have not expired."""

    table: Table
    count: int
    """Only the first so many of the table's entries are looked at."""
    among: Entries | None
    """Their numbers, ascending; ``None`` for all."""

    @classmethod
    def of(cls, table: Table, count: int, wanted: TurnFilter, now: float) -> Selection:
        """Select turns.

        Args:
            table: the turns.
            count: how many of them are whole.
            wanted: what they must be like.
            now: the time, in seconds since the epoch.
        """
        conditions = settle(wanted, table, count, now).conditions
        among = table.fields.entries(conditions, count) if conditions else None
        if now >= table.earliest_expiry:
            expires = table.expires.view(count)
            among = np.flatnonzero(expires > now) if among is None else among[expires[among] > now]
        return cls(table, count, None if among is not None and len(among) == count else among)

    def __len__(self) -> int:
        return self.count if self.among is None else len(self.among)

    def entries(self) -> Entries:
        """Return the numbers of the turns, ascending."""
        return np.arange(self.count) if self.among is None else self.among

    def entry_of(self, turn_id: str) -> int | None:
        """Return the number of a turn; ``None`` where it is not among these."""
        entry = self.table.entry_of.get(turn_id)
        if entry is None or entry >= self.count:
            return None
        if self.among is None:
            return entry
        place = int(np.searchsorted(self.among, entry))
        return entry if place < len(self.among) and int(self.among[place]) == entry else None

    def first(self, count: int) -> Selection:
        """Return those of the turns that are among the first entries of the table."""
        among = self.among
        return Selection(self.table, count, None if among is None else among[: np.searchsorted(among, count)])

    def check_size(self, query: Vector) -> None:
        """Refuse a vector that the turns' can't be compared with.

        Raises:
            DimensionError: it is of another size.
        """
        if self.table.vectors is not None:
            as_vector(query, self.table.vectors.dimensions)

    def closest(self, query: Vector, top_k: int, threshold: float | None) -> list[tuple[int, float]]:
        """Find the ``top_k`` turns closest to a vector.

        Returns:
            Their entries and their cosines, all of at least ``threshold``, the best first.

        Raises:
            DimensionError: the vector is of another size.
        """
        if top_k <= 0 or not self.count or self.table.vectors is None:
            return []
        query = as_vector(query, self.table.vectors.dimensions)
        if not len(self):
            return []
        entries, scores = closest(query, self.table, self.count, top_k, self.among)
        close = len(scores) if threshold is None else int(np.count_nonzero(scores >= threshold))
        return list(zip(entries[:close].tolist(), scores[:close].tolist(), strict=True))

    def hit(self, entry: int, score: float) -> TurnHit:
        """Return a copy of a turn as what a search found."""
        return TurnHit(
            score=score,
            turn=json.loads(self.table.turns[entry]),
            turn_index=entry,
            text=self.table.texts[entry],
            metadata=json.loads(self.table.metadata[entry]),
        )

    def repeats_of(self, entry: int) -> Entries:
        """Return the turns with the text and the scope of one of them, and that one; ascending."""
        same = self.table.same_text.entries(self.table.texts[entry], self.count)
        if len(same) > 1 and self.among is not None:
            places = np.minimum(np.searchsorted(self.among, same), len(self.among) - 1)
            same = same[self.among[places] == same]
        if len(same) > 1:
            same = same[self.table.noted.scopes(same) == self.table.noted.scopes(np.array([entry]))]
        return same
