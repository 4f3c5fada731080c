"""Rows of vectors that only grow, in blocks: no row is ever moved, so a search needs no lock.

Each row is kept twice: in single precision, and as bytes with a scale of its own. A scan reads the bytes, a quarter of
the memory; what it finds is scored again from the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.recent_rows import GatheredRows, RecentRows
from ffai.core.similarity import Vector, rounding_bound, unit

SMALLEST_BLOCK = 1024
LARGEST_BLOCK = 65_536
"""Rows. Blocks double up to this size; the operating system gives them memory as they fill."""
AT_ONCE = 512
"""Rows that are added in one go, so that what is made on the way stays in the processor's cache."""

KEEP_GATHERED = 16
"""Rows that were gathered for a search are kept for the next one, an n-th of all at the most."""

Singles = NDArray[np.float32]


class _Block:
    """Room for a number of rows."""

    def __init__(self, start: int, rows: int, dimensions: int, *, with_bytes: bool) -> None:
        self.start, self.rows = start, rows
        self.singles = np.empty((rows, dimensions), dtype=np.float32)
        self.inverse_lengths = np.empty(rows, dtype=np.float32)
        self.bytes = np.empty((rows, dimensions), dtype=np.int8) if with_bytes else None
        self.scales = np.empty(rows if with_bytes else 0, dtype=np.float32)


class VectorBlocks:
    """Vectors of one size. Adding is for one thread at a time; reading rows below ``count`` is for any.

    A row is kept in single precision where that loses nothing. Otherwise its direction is, and the vector itself stays
    beside it in double precision.

    Args:
        dimensions: the size of the vectors.
        with_bytes: whether rows are kept as bytes too; ``None`` where the library that scans them is installed.

    Examples:
        >>> blocks = VectorBlocks(2)
        >>> blocks.append(np.array([[3.0, 4.0], [0.1, 0.2]]))
        >>> blocks.count, blocks.exact([1, 0])
        (2, array([[0.1, 0.2],
               [3. , 4. ]]))
    """

    def __init__(self, dimensions: int, *, with_bytes: bool | None = None) -> None:
        self.dimensions = dimensions
        self.count = 0
        self._with_bytes = find_spec("numkong") is not None if with_bytes is None else with_bytes
        self._blocks: list[_Block] = []
        self._starts: list[int] = []
        self._doubles: dict[int, Vector] = {}
        self._recent = RecentRows()
        self._largest_loss = 0.0
        """How far the bytes of a row are from its direction at the most."""

    def append(self, vectors: Vector) -> None:
        """Add rows: shape ``(rows, dimensions)``, finite."""
        added = 0
        while added < len(vectors):
            block = self._block_for(self.count)
            first = self.count - block.start
            fits = min(block.rows - first, len(vectors) - added, AT_ONCE)
            there = slice(first, first + fits)
            singles, inverse_lengths = self._singles(vectors[added : added + fits])
            block.singles[there], block.inverse_lengths[there] = singles, inverse_lengths
            if block.bytes is not None:
                directions = singles * inverse_lengths[:, None]
                block.bytes[there], block.scales[there], loss = as_bytes(directions)
                self._largest_loss = max(self._largest_loss, loss)
            added += fits
            self.count += fits

    def _block_for(self, row: int) -> _Block:
        last = self._blocks[-1] if self._blocks else None
        if last is not None and row < last.start + last.rows:
            return last
        rows = min(LARGEST_BLOCK, max(SMALLEST_BLOCK, row))
        block = _Block(row, rows, self.dimensions, with_bytes=self._with_bytes)
        self._blocks.append(block)
        self._starts.append(row)
        return block

    def _singles(self, vectors: Vector) -> tuple[Singles, Singles]:
        """Round rows to single precision, and keep beside them those that lose by it."""
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            singles = vectors.astype(np.float32)
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            inverse_lengths = np.where(lengths > 0.0, 1.0 / lengths, 0.0).astype(np.float32)
        kept = (singles == vectors).all(axis=1) & ((lengths == 0.0) | ((lengths > 1e-30) & (lengths < 1e30)))
        for row in np.flatnonzero(~kept).tolist():
            self._doubles[self.count + row] = vectors[row].copy()
            singles[row], inverse_lengths[row] = unit(vectors[row]), 1.0
        return singles, inverse_lengths

    def scan(self, query: Vector, count: int) -> tuple[Singles, float]:
        """Score the first ``count`` rows, roughly.

        Args:
            query: shape ``(dimensions,)``, of unit length, or zero.
            count: how many rows, at most :attr:`count`.

        Returns:
            Cosines, shape ``(count,)``, and how far each is from the exact one at the most.
        """
        probe = query.astype(np.float32)
        scores = np.empty(count, dtype=np.float32)
        if not self._with_bytes:
            for block, rows in self._filled(count):
                part = scores[block.start : block.start + rows]
                np.matmul(block.singles[:rows], probe, out=part)
                part *= block.inverse_lengths[:rows]
            return scores, rounding_bound(self.dimensions)
        probe_bytes, probe_scales, lost = as_bytes(probe[None])
        for block, rows in self._filled(count):
            part = scores[block.start : block.start + rows]
            np.multiply(byte_products(probe_bytes, _bytes_of(block)[:rows]), block.scales[:rows], out=part)
        scores *= probe_scales[0]
        return scores, self._error(lost)

    def scan_rows(self, query: Vector, rows: NDArray[np.intp]) -> tuple[Singles, float]:
        """Score chosen rows, roughly; as :meth:`scan`, for row numbers in any order."""
        if not self._with_bytes:
            return self.score(query, rows), rounding_bound(self.dimensions)
        probe_bytes, probe_scales, lost = as_bytes(query.astype(np.float32)[None])
        gathered = self._gather(rows)
        known = len(gathered.rows)
        scores = np.empty(rows.size, dtype=np.float32)
        if known:
            np.multiply(byte_products(probe_bytes, gathered.bytes), gathered.scales, out=scores[:known])
        for block, places in self._by_block(rows[known:]):
            there = rows[known:][places] - block.start
            products = byte_products(probe_bytes, np.take(_bytes_of(block), there, axis=0))
            scores[known:][places] = products * block.scales[there]
        scores *= probe_scales[0]
        return scores, self._error(lost)

    def _gather(self, rows: NDArray[np.intp]) -> GatheredRows:
        """Return the bytes of rows, or of the first ones: a search among the same rows as before finds them at hand."""
        gathered = self._recent.beginning_of(rows)
        if not len(gathered.rows):
            gathered = GatheredRows(
                rows, np.empty((rows.size, self.dimensions), dtype=np.int8), np.empty(rows.size, dtype=np.float32)
            )
            for block, places in self._by_block(rows):
                there = rows[places] - block.start
                gathered.bytes[places] = np.take(_bytes_of(block), there, axis=0)
                gathered.scales[places] = block.scales[there]
            self._recent.keep(gathered, most=self.count // KEEP_GATHERED)
        return gathered

    def _error(self, lost: float) -> float:
        """Bound the error of a rough score; ``lost`` is how far the bytes of the query are from it."""
        return lost * (1.0 + self._largest_loss) + self._largest_loss + rounding_bound(self.dimensions)

    def _filled(self, count: int) -> Iterator[tuple[_Block, int]]:
        for block in list(self._blocks):
            if block.start < count:
                yield block, min(block.rows, count - block.start)

    def score(self, query: Vector, rows: NDArray[np.intp]) -> Singles:
        """Score chosen rows in single precision.

        Args:
            query: shape ``(dimensions,)``, of unit length, or zero.
            rows: row numbers, ascending.

        Returns:
            Cosines, shape ``(len(rows),)``, each within :func:`ffai.core.similarity.rounding_bound` of the exact one.
        """
        probe = query.astype(np.float32)
        scores = np.empty(rows.size, dtype=np.float32)
        for block, places in self._by_block(rows):
            there = rows[places] - block.start
            scores[places] = (block.singles[there] @ probe) * block.inverse_lengths[there]
        return scores

    def exact(self, rows: Sequence[int] | NDArray[np.intp]) -> Vector:
        """Return the vectors as they were added: shape ``(len(rows), dimensions)``, in double precision."""
        numbers = np.asarray(rows, dtype=np.intp)
        found = np.empty((numbers.size, self.dimensions))
        for block, places in self._by_block(numbers):
            found[places] = block.singles[numbers[places] - block.start]
        if self._doubles:
            for place, row in enumerate(numbers.tolist()):
                if (vector := self._doubles.get(row)) is not None:
                    found[place] = vector
        return found

    def _by_block(self, rows: NDArray[np.intp]) -> Iterator[tuple[_Block, slice | NDArray[np.intp]]]:
        """Yield each block that has some of the rows, with their places among them."""
        if not rows.size:
            return
        if (rows[1:] >= rows[:-1]).all():
            first, last = np.searchsorted(self._starts, rows[[0, -1]], side="right") - 1
            ends = [*np.searchsorted(rows, self._starts[first + 1 : last + 1]).tolist(), rows.size]
            for block, start, end in zip(self._blocks[first : last + 1], [0, *ends], ends, strict=False):
                if start < end:
                    yield block, slice(start, end)
            return
        blocks = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(blocks).tolist():
            yield self._blocks[number], np.flatnonzero(blocks == number)


def as_bytes(directions: Singles) -> tuple[NDArray[np.int8], Singles, float]:
    """Write vectors as bytes, each with a scale of its own.

    Args:
        directions: shape ``(rows, dim)``, of unit length, or zero.

    Returns:
        The bytes, shape ``(rows, dim)``; the scales, shape ``(rows,)``; and the largest distance between a vector
        and its bytes times their scale.

    Examples:
        >>> numbers, scales, lost = as_bytes(np.array([[0.6, 0.8]], dtype=np.float32))
        >>> numbers.tolist(), bool(lost < 0.01)
        ([[95, 127]], True)
    """
    scales = np.abs(directions).max(axis=1) / np.float32(127)
    steps = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    lost = directions * steps[:, None]
    np.rint(lost, out=lost)
    numbers = lost.astype(np.int8)
    lost *= scales[:, None]
    lost -= directions
    return numbers, scales, float(np.sqrt(np.einsum("ij,ij->i", lost, lost).max(initial=0.0)))


def _bytes_of(block: _Block) -> NDArray[np.int8]:
    assert block.bytes is not None  # noqa: S101 - blocks have bytes, or none has
    return block.bytes


def byte_products(probe: NDArray[np.int8], rows: NDArray[np.int8]) -> Singles:
    """Multiply one row of bytes with many, exactly: shape ``(rows,)``.

    Examples:
        >>> byte_products(np.array([[1, 2]], dtype=np.int8), np.array([[3, 4], [0, 5]], dtype=np.int8)).tolist()
        [11.0, 10.0]
    """
    if find_spec("numkong") is None:
        sums: Singles = rows.astype(np.float32) @ probe[0].astype(np.float32)
        return sums
    import numkong

    products = numkong.cdist(probe, rows, metric="dot", out_dtype="float32")
    scores: Singles = np.asarray(products)[0]
    return scores
