"""Which turns of a table have the same text."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column

Entries = NDArray[np.intp]

_AT_ONCE = 4096
"""Texts that are hashed while nobody else can look: a few milliseconds."""
_FEW = 4096
"""Hashes that are looked through one by one."""


class SameText:
    """Hashes of texts, in order as far as they were sorted.

    Args:
        texts: the texts of a table.
        lock: one at a time hashes texts that are new.

    Examples:
        >>> same = SameText(["yes", "no", "yes"], threading.Lock())
        >>> same.entries("yes", 3).tolist(), same.entries("yes", 2).tolist()
        ([0, 2], [0])
    """

    def __init__(self, texts: Sequence[str], lock: threading.Lock) -> None:
        self._texts, self._lock = texts, lock
        self._hashed = 0
        self._hashes = Column(np.int64)
        self._order = np.empty(0, dtype=np.intp)
        """The first entries, by the hash of their text."""
        self._sorted = np.empty(0, dtype=np.int64)

    def entries(self, text: str, count: int) -> Entries:
        """Return the entries with a text, ascending.

        Args:
            text: the whole text.
            count: looks among the first ``count`` entries.
        """
        likely = self._likely(hash(text), count)
        return np.array([entry for entry in likely if self._texts[entry] == text], dtype=np.intp)

    def _likely(self, wanted: int, count: int) -> list[int]:
        while True:
            with self._lock:
                if self._hashed >= count:
                    self._sort_many()
                    hashes = self._hashes.view(self._hashed)
                    order, in_order = self._order, self._sorted
                    break
                new = self._texts[self._hashed : min(count, self._hashed + _AT_ONCE)]
                self._hashes.extend([hash(text) for text in new])
                self._hashed += len(new)
        low, high = np.searchsorted(in_order, wanted), np.searchsorted(in_order, wanted, side="right")
        late = np.flatnonzero(hashes[len(order) :] == wanted) + len(order)
        found = np.concatenate([np.sort(order[low:high]), late])
        likely: list[int] = found[: np.searchsorted(found, count)].tolist()
        return likely

    def _sort_many(self) -> None:
        """Sort when many hashes are not in order yet: so rarely that it costs little for each."""
        if self._hashed - len(self._order) > max(_FEW, len(self._order) // 4):
            hashes = self._hashes.view(self._hashed)
            self._order = np.argsort(hashes)
            self._sorted = hashes[self._order]
