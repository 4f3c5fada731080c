"""BM25: how much a word says, and how much a message has of it.

Source: Robertson & Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), §3.5; rarity with the 1
of Lucene, so that no word counts against a message.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.core.similarity import Vector

K1, B = 1.2, 0.75
"""How soon a word that is repeated counts no more, and how much the length of a message matters."""


def rarity(having: NDArray[Any], messages: int) -> Vector:
    """Tell how much words say: the rarer, the more.

    Args:
        having: how many messages have each word, at most all.
        messages: how many there are.

    Examples:
        >>> rarity(np.array([0, 1, 10]), 10).round(2).tolist()
        [3.09, 1.99, 0.05]
    """
    said: Vector = np.log1p((messages - having + 0.5) / (having + 0.5))
    return said


def fullness(counts: NDArray[Any], lengths: NDArray[Any], common: float) -> Vector:
    """Tell how much messages have of a word: 1 for having it once at common length, and never 2.2.

    Args:
        counts: how often each has it.
        lengths: how many words each has.
        common: how many words a message has on average, more than 0.

    Examples:
        >>> fullness(np.array([1, 2, 1]), np.array([8, 8, 32]), 8.0).round(2).tolist()
        [1.0, 1.38, 0.45]
    """
    full: Vector = counts * (K1 + 1.0) / (counts + (K1 * (1.0 - B) + K1 * B / common * lengths))
    return full
