"""Comparing vectors: the only vector arithmetic in ffai.

A score is a cosine in ``[-1, 1]``, higher is closer. A zero vector scores ``0.0`` against everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.errors import BadVectorError, DimensionError

Vector = NDArray[np.float64]


def as_vector(values: Sequence[float] | NDArray[Any], dimensions: int | None = None) -> Vector:
    """Check one vector and give it as an array.

    Args:
        values: numbers, shape ``(dim,)``.
        dimensions: the size it must have; ``None`` for any.

    Returns:
        Shape ``(dim,)``, a fresh copy in double precision.

    Raises:
        DimensionError: the size is another one.
        BadVectorError: it is empty, not a flat list of numbers, or holds NaN or infinity.

    Examples:
        >>> as_vector([1, 2])
        array([1., 2.])
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"it holds {given.dtype}")
        vector = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadVectorError(
            f"A vector must be a flat list of numbers, not {type(values).__name__}: {error}"
        ) from error
    if vector.ndim != 1 or not vector.size:
        raise BadVectorError(f"A vector must be a flat list of numbers, not of shape {vector.shape}.")
    if dimensions is not None and vector.size != dimensions:
        raise DimensionError(vector.size, dimensions)
    if not np.isfinite(vector).all():
        raise BadVectorError("A vector holds NaN or infinity.")
    return vector


def unit(vector: Vector) -> Vector:
    """Scale a vector to length 1; a zero vector stays zero.

    Examples:
        >>> unit(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """
    largest = np.abs(vector).max()
    if largest == 0.0:
        return np.zeros_like(vector)
    scaled = vector / largest  # squares of very large or small numbers leave the range of floats
    direction: Vector = scaled / np.sqrt(scaled @ scaled)
    return direction


def cosine(query: Vector, matrix: NDArray[Any]) -> Vector:
    """Compare one query with many rows, in double precision.

    Args:
        query: shape ``(dim,)``.
        matrix: shape ``(rows, dim)``; rows need not be of unit length.

    Returns:
        Shape ``(rows,)``, each in ``[-1, 1]``; a zero vector scores ``0.0``.

    Raises:
        DimensionError: the two ``dim`` differ.

    Source: Manning, Raghavan & Schütze, *Introduction to Information Retrieval* (2008), §6.3.1.

    Examples:
        >>> cosine(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
        array([1., 0., 0.])
    """
    if matrix.shape[1] != query.size:
        raise DimensionError(query.size, matrix.shape[1])
    rows = matrix.astype(np.float64)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    rows /= np.where(largest == 0.0, 1.0, largest)[:, None]
    largest_of_query = np.abs(query).max(initial=0.0)
    probe = query / largest_of_query if largest_of_query else query
    lengths = np.sqrt((probe @ probe) * np.einsum("ij,ij->i", rows, rows))
    products = np.einsum("ij,j->i", rows, probe)  # BLAS gives equal rows scores that differ in the last digit
    scores: Vector = np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0.0)
    return np.clip(scores, -1.0, 1.0)


def cosine_similarity(a: Sequence[float] | NDArray[Any], b: Sequence[float] | NDArray[Any]) -> float:
    """Compare two vectors.

    Raises:
        DimensionError: their sizes differ.
        BadVectorError: one of them is not a flat list of finite numbers.

    Examples:
        >>> cosine_similarity([1, 1], [2, 2])
        1.0
    """
    first = as_vector(a)
    return float(cosine(first, as_vector(b, first.size)[None])[0])


def rounding_bound(dimensions: int) -> float:
    """Bound the error of a single-precision product of two unit vectors of that size.

    Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), §3.1, with both vectors rounded once.
    """
    return (dimensions + 8) * float(np.finfo(np.float32).eps)


_SAMPLE = 4096
"""Scores that are looked at to guess how high the best are."""
_ENOUGH = 64.0
"""Rows that are scored again at the least: fewer cost as much."""


def likely_best(scores: NDArray[np.float32], top_k: int) -> NDArray[np.intp]:
    """Guess which rows are among the ``top_k`` best; their exact scores then tell how good the best are at least.

    Args:
        scores: shape ``(rows,)``, rough ones.
        top_k: how many are wanted, at least 1.

    Returns:
        Row numbers, ascending; at least ``min(top_k, rows)`` of them.

    Examples:
        >>> likely_best(np.array([0.1, 0.9, 0.5, 0.9], dtype=np.float32), top_k=1).tolist()
        [1, 3]
    """
    if top_k >= scores.size:
        return np.arange(scores.size)
    sample = scores[:: max(1, scores.size // _SAMPLE)]  # a full partition of a million scores takes as long as a scan
    wanted = max(2.0 * top_k, _ENOUGH) * sample.size / scores.size
    if sample.size < scores.size and wanted < sample.size:
        rank = sample.size - 1 - int(wanted)
        chosen = np.flatnonzero(scores >= np.partition(sample, rank)[rank])
        if chosen.size >= top_k:
            return chosen
    return candidates(scores, top_k, 0.0)


def candidates(scores: NDArray[np.float32], top_k: int, error: float) -> NDArray[np.intp]:
    """Pick every row that can be among the ``top_k`` best once scored exactly.

    Args:
        scores: shape ``(rows,)``, each at most ``error`` away from its exact value.
        top_k: how many are wanted, at least 1.
        error: see :func:`rounding_bound`.

    Returns:
        Row numbers, ascending; at least ``min(top_k, rows)`` of them.

    Examples:
        >>> candidates(np.array([0.1, 0.9, 0.5, 0.9], dtype=np.float32), top_k=1, error=0.0).tolist()
        [1, 3]
    """
    if top_k >= scores.size:
        return np.arange(scores.size)
    floor = np.partition(scores, scores.size - top_k)[scores.size - top_k]
    return np.flatnonzero(scores >= floor - np.float32(2.0 * error))
