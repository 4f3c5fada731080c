"""Rows that were gathered for a search, side by side, for the next search among the same ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORTH = 256
"""Fewer rows are gathered as quickly as they are found again."""
_MOST_NEW = 8
"""Rows are gathered anew when more than an n-th of them are not among those that were kept."""


@dataclass(frozen=True, slots=True)
class GatheredRows:
    """Some rows as bytes, in memory that is read in order."""

    rows: NDArray[np.intp]
    """Their numbers, ascending."""
    bytes: NDArray[np.int8]
    scales: NDArray[np.float32]


_NONE = GatheredRows(np.empty(0, dtype=np.intp), np.empty((0, 0), dtype=np.int8), np.empty(0, dtype=np.float32))


class RecentRows:
    """The rows of the last few searches. Rows never change, so that what is kept stays right.

    Examples:
        >>> recent, rows = RecentRows(), np.arange(0, 3000, 10)
        >>> recent.keep(GatheredRows(rows, np.zeros((300, 2), np.int8), np.ones(300, np.float32)), most=1000)
        >>> len(recent.beginning_of(np.arange(0, 3010, 10)).rows)
        300
    """

    def __init__(self) -> None:
        self._kept: tuple[GatheredRows, ...] = ()  # replaced as a whole: threads need no lock

    def beginning_of(self, rows: NDArray[np.intp]) -> GatheredRows:
        """Return what is kept of the first of some rows; nothing where that is not most of them."""
        for kept in self._kept:
            count = min(len(kept.rows), len(rows))
            if (len(rows) - count) * _MOST_NEW <= len(rows) and np.array_equal(kept.rows[:count], rows[:count]):
                return GatheredRows(rows[:count], kept.bytes[:count], kept.scales[:count])
        return _NONE

    def keep(self, gathered: GatheredRows, *, most: int) -> None:
        """Keep rows for the next search.

        Args:
            gathered: the rows.
            most: how many rows may be kept; the oldest make room.
        """
        if len(gathered.rows) < _WORTH:
            return
        chosen, room = [gathered], most - len(gathered.rows)
        for kept in self._kept:
            room -= len(kept.rows)
            if room >= 0:
                chosen.append(kept)
        self._kept = tuple(chosen)
