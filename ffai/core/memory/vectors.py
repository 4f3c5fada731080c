"""Rows of vectors that only grow, in blocks: no row is ever moved, so a search needs no lock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ffai.core.similarity import Vector, unit

BLOCK_ROWS = 4096
"""Rows a block has room for; the operating system gives it memory as it fills."""


class VectorBlocks:
    """Vectors of one size. Adding is for one thread at a time; reading rows below ``count`` is for any.

    Each row is kept in single precision where that loses nothing. Otherwise its direction is, and the vector itself
    stays beside it in double precision.

    Example:
        >>> blocks = VectorBlocks(2)
        >>> blocks.append(np.array([[3.0, 4.0], [0.1, 0.2]]))
        >>> blocks.count, blocks.exact([1, 0])
        (2, array([[0.1, 0.2],
               [3. , 4. ]]))
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.count = 0
        self._rows: list[NDArray[np.float32]] = []
        self._inverse_lengths: list[NDArray[np.float32]] = []
        self._doubles: dict[int, Vector] = {}

    def append(self, vectors: Vector) -> None:
        """Add rows: shape ``(rows, dimensions)``, finite."""
        singles, inverse_lengths = self._singles(vectors)
        added = 0
        while added < len(vectors):
            block, row = divmod(self.count, BLOCK_ROWS)
            if block == len(self._rows):
                self._inverse_lengths.append(np.empty(BLOCK_ROWS, dtype=np.float32))
                self._rows.append(np.empty((BLOCK_ROWS, self.dimensions), dtype=np.float32))
            fits = min(BLOCK_ROWS - row, len(vectors) - added)
            self._rows[block][row : row + fits] = singles[added : added + fits]
            self._inverse_lengths[block][row : row + fits] = inverse_lengths[added : added + fits]
            added += fits
            self.count += fits

    def _singles(self, vectors: Vector) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
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

    def scan(self, query: Vector, count: int) -> NDArray[np.float32]:
        """Score the first ``count`` rows in single precision.

        Args:
            query: shape ``(dimensions,)``, of unit length.
            count: how many rows, at most :attr:`count`.

        Returns:
            Cosines, shape ``(count,)``, each within :func:`ffai.core.similarity.rounding_bound` of the exact one.
        """
        probe = query.astype(np.float32)
        scores = np.empty(count, dtype=np.float32)
        for start in range(0, count, BLOCK_ROWS):
            block, rows = start // BLOCK_ROWS, min(BLOCK_ROWS, count - start)
            np.matmul(self._rows[block][:rows], probe, out=scores[start : start + rows])
            scores[start : start + rows] *= self._inverse_lengths[block][:rows]
        return scores

    def exact(self, rows: Sequence[int] | NDArray[np.intp]) -> Vector:
        """Return the vectors as they were added: shape ``(len(rows), dimensions)``, in double precision."""
        numbers = np.asarray(rows, dtype=np.intp)
        found = np.empty((numbers.size, self.dimensions))
        blocks = numbers // BLOCK_ROWS
        for block in np.unique(blocks):
            chosen = blocks == block
            found[chosen] = self._rows[block][numbers[chosen] % BLOCK_ROWS]
        if self._doubles:
            for place, row in enumerate(numbers.tolist()):
                if (vector := self._doubles.get(row)) is not None:
                    found[place] = vector
        return found
