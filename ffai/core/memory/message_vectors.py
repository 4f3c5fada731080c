"""The vectors of questions and answers, each as a message of its own: as bytes, a quarter of single precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.recent_rows import GatheredRows, RecentRows
from ffai.core.memory.vectors import KEEP_GATHERED, Singles, as_bytes, byte_products
from ffai.core.similarity import Vector

Entries = NDArray[np.intp]
Bytes = NDArray[np.int8]

SMALLEST_BLOCK, LARGEST_BLOCK = 512, 65_536
"""Turns. Each block is as large as all before it; the operating system gives them memory as they fill."""


class MessageVectors:
    """Two vectors a turn, numbered like the turns of a table. Adding is for one thread at a time.

    Whoever reads takes :attr:`count` first, and needs no lock. A cosine is within about 0.005 of the exact one.

    Args:
        dimensions: the size of the vectors.

    Examples:
        >>> vectors = MessageVectors(2)
        >>> rows, scales, _ = as_bytes(np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32))
        >>> vectors.extend(rows[None], scales[None])
        >>> (vectors.cosines(np.array([1.0, 0.0]), 1) * 100).round().tolist()
        [[100.0, 60.0]]
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions, self.count = dimensions, 0
        self._blocks: list[tuple[int, Bytes, Singles]] = []
        """Number of the first turn, and room for some."""
        self._recent = RecentRows()

    def extend(self, rows: Bytes, scales: Singles) -> None:
        """Add turns.

        Args:
            rows: as :func:`~ffai.core.memory.vectors.as_bytes` gives them: shape ``(turns, 2, dimensions)``.
            scales: shape ``(turns, 2)``.
        """
        added = 0
        while added < len(rows):
            start, its_rows, its_scales = self._last_block()
            first = self.count - start
            fits = min(len(its_rows) - first, len(rows) - added)
            its_rows[first : first + fits] = rows[added : added + fits]
            its_scales[first : first + fits] = scales[added : added + fits]
            added += fits
            self.count += fits

    def _last_block(self) -> tuple[int, Bytes, Singles]:
        """Return a block that has room."""
        if not self._blocks or self.count == self._blocks[-1][0] + len(self._blocks[-1][1]):
            room = min(max(SMALLEST_BLOCK, self.count), LARGEST_BLOCK)
            rows, scales = np.empty((room, 2, self.dimensions), dtype=np.int8), np.empty((room, 2), dtype=np.float32)
            self._blocks.append((self.count, rows, scales))
        return self._blocks[-1]

    def cosines(self, direction: Vector, count: int, among: Entries | None = None) -> Singles:
        """Compare a query with messages.

        Args:
            direction: shape ``(dimensions,)``, of unit length.
            count: looks at the first ``count`` turns.
            among: looks at these only, ascending; ``None`` looks at all.

        Returns:
            Shape ``(turns, 2)``; zero for a message without a vector.
        """
        probe, scale, _ = as_bytes(direction.astype(np.float32)[None])
        found = np.empty((count if among is None else len(among), 2), dtype=np.float32)
        done = 0
        for rows, scales in self._rows(count, among):
            products = byte_products(probe, rows.reshape(-1, self.dimensions)).reshape(-1, 2)
            np.multiply(products, scales, out=found[done : done + len(rows)])
            done += len(rows)
        found *= scale[0]
        return found

    def _rows(self, count: int, among: Entries | None) -> Iterator[tuple[Bytes, Singles]]:
        """Yield the vectors of turns, in order, with their scales."""
        if among is None:
            for start, block, scales in self._blocks:
                if filled := max(0, min(len(block), count - start)):
                    yield block[:filled], scales[:filled]
            return
        gathered = self._recent.beginning_of(among)
        if len(gathered.rows):
            yield gathered.bytes, gathered.scales
        yield from self._gather(among, len(gathered.rows))

    def _gather(self, among: Entries, known: int) -> Iterator[tuple[Bytes, Singles]]:
        """Bring the vectors of turns together, but for the first ones; all of them are kept for the next search."""
        left = among[known:]
        if not left.size:
            return
        rows, scales = np.empty((left.size, 2, self.dimensions), np.int8), np.empty((left.size, 2), np.float32)
        for start, block, its_scales in self._blocks:
            first, end = left.searchsorted([start, start + len(block)])
            np.take(block, left[first:end] - start, axis=0, out=rows[first:end])
            scales[first:end] = its_scales[left[first:end] - start]
        if not known:
            self._recent.keep(GatheredRows(among, rows, scales), most=self.count // KEEP_GATHERED)
        yield rows, scales

    def of(self, kept: Entries) -> MessageVectors:
        """Return the vectors of some turns, in their order.

        Args:
            kept: their numbers here, ascending.
        """
        fresh = MessageVectors(self.dimensions)
        for start, block, scales in self._blocks:
            first, end = kept.searchsorted([start, start + len(block)])
            there = kept[first:end] - start
            fresh.extend(block[there], scales[there])
        return fresh
