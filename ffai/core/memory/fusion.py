"""One order out of several signals: a sum with fixed weights, for each message; a turn is as good as its best message.

Ranks are not summed: then a weak list pulls a strong one down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.keyword_scores import KeywordScores, highest
from ffai.core.memory.postings import Numbers
from ffai.core.similarity import Vector

Entries = NDArray[np.intp]
Flags = NDArray[np.bool_]
Singles = NDArray[np.float32]

LONG = 30
"""Words from which on a message is long enough: shorter ones rarely hold an answer."""
HALF = 0.5
"""Share of what the words of a question can be worth from which on the best message counts as a full match."""
EXACT = 1024
"""Messages up to which all are compared with what was said around them; of more, the best by the other signals."""
CANDIDATES = 256
"""How many those are, and how many of the best by words alone, with all that have them near."""

_LENGTHS = (np.log1p(np.arange(LONG + 1)) / math.log1p(LONG)).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each signal counts when it is at its highest, 1. That of recency alone was not measured.

    Examples:
        >>> Weights(vector=0.0).vector  # by words, speaker, length and time alone
        0.0
    """

    vector: float = 13.0
    """The cosine of the question and the message."""
    words: float = 1.6
    """The words of the question in the message."""
    context: float = 3.6
    """The same in the message with what was said around it."""
    length: float = 4.9
    """How long the message is, up to :data:`LONG` words."""
    speaker: float = 3.3
    """Whether the question names who said it, and not everybody."""
    time: float = 3.6
    """How close it is to the time that the question names."""
    recency: float = 3.6
    """How new it is, where that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What each signal adds to the score of a turn.

    Examples:
        >>> added = {"vector": 6.5, "words": 1.0, "context": 2.0, "length": 4.5, "speaker": 0.0}
        >>> Parts(**added, time=0.0, recency=0.0, message=1, coverage=0.6).score
        14.0
    """

    vector: float
    words: float
    context: float
    length: float
    speaker: float
    time: float
    recency: float
    message: int
    """Which message of the turn is its best: 0 for what was asked, 1 for what was answered."""
    coverage: float
    """Share of the question's words that the turn has itself, the rare ones counting more; 1 at the most."""

    @property
    def score(self) -> float:
        """The sum."""
        total: float = sum(getattr(self, field.name) for field in fields(Weights))
        return total


class Fusion:
    """Turns, scored by all signals that there are.

    Args:
        cosines: of the question with each message, shape ``(turns, 2)``; or with each turn, shape ``(turns,)``, where
            messages have no vectors of their own.
        said: how many words each message has: shape ``(turns, 2)``.
        keyword: the words of the question in the same turns; ``None`` while they are not known.
        named: whether the question names who said a message: shape ``(turns, 2)``; ``None`` where it names nobody.
        closeness: of each turn to the time that the question names, from 0 to 1: shape ``(turns,)``; ``None`` where it
            names none.
        recency: how new each turn is, from 0 to 1, as :func:`ffai.core.when.recency` tells: shape ``(turns,)``;
            ``None`` where that is not to count.
        weights: what each signal counts.

    Examples:
        >>> said = np.array([[4, 9], [2, 30]], dtype=np.int32)
        >>> fusion = Fusion(np.array([[0.1, 0.2], [0.1, 0.3]]), said)
        >>> fusion.best(top_k=2).tolist(), fusion.parts(1).message, round(fusion.parts(1).score, 2)
        ([1, 0], 1, 8.8)
    """

    def __init__(
        self,
        cosines: Vector | Singles,
        said: Numbers,
        keyword: KeywordScores | None = None,
        *,
        named: Flags | None = None,
        closeness: Vector | Singles | None = None,
        recency: Vector | Singles | None = None,
        weights: Weights | None = None,
    ) -> None:
        self._weights = weights or Weights()
        self._keyword = keyword
        self._signals: dict[str, Singles] = {"vector": np.broadcast_to(cosines.reshape(len(said), -1), said.shape)}
        self._signals["length"] = _LENGTHS.take(said, mode="clip")
        if keyword is not None:
            self._signals["words"] = (keyword.alone / np.float32(_full(keyword.alone, keyword.ideal))).reshape(-1, 2)
        if named is not None and not (named | (said == 0)).all():
            self._signals["speaker"] = named.astype(np.float32)
        for name, of_turns in (("time", closeness), ("recency", recency)):
            if of_turns is not None:
                self._signals[name] = np.repeat(of_turns.astype(np.float32), 2).reshape(-1, 2)
        scores, added = np.zeros(said.shape, dtype=np.float32), np.empty(said.shape, dtype=np.float32)
        for name, values in self._signals.items():
            scores += np.multiply(values, np.float32(getattr(self._weights, name)), out=added, dtype=np.float32)
        if (unsaid := said == 0).any():
            unsaid[:, 0] &= ~unsaid[:, 1]  # where nothing was said, the first message stands for the turn
            np.copyto(scores, -np.inf, where=unsaid)
        self._messages = scores.ravel()
        self._context_full = 1.0
        self._compared: Entries = np.empty(0, dtype=np.intp)
        """Messages that were compared with what was said around them, ascending."""
        self._around: Singles = np.empty(0, dtype=np.float32)
        """How well that fits, of each of them."""
        if keyword is not None:
            self._add_context(self._messages, keyword)
        self.scores: Singles = np.maximum(scores[:, 0], scores[:, 1])
        """Higher is better: shape ``(turns,)``."""

    def _add_context(self, scores: Singles, keyword: KeywordScores) -> None:
        chosen = np.arange(scores.size)
        if scores.size > EXACT:
            best = highest(scores, CANDIDATES)
            floor = scores[best].min()
            may = np.zeros(scores.size, dtype=np.bool_)
            may[best] = True
            near = keyword.best_and_near(CANDIDATES)
            may[near[scores[near] >= floor - np.float32(self._weights.context)]] = True  # others can't come so far
            chosen = np.flatnonzero(may)
        self._compared, self._around = chosen, keyword.around(chosen)
        self._context_full = _full(self._around, keyword.ideal)
        scores[chosen] += self._weights.context / self._context_full * self._around

    def best(self, top_k: int, allowed: Flags | None = None) -> Entries:
        """Return where the best turns are, the best first; equal ones in their order.

        Args:
            top_k: how many at the most.
            allowed: whether each turn may be among them: shape ``(turns,)``; ``None`` for all.
        """
        places = np.arange(len(self.scores)) if allowed is None else np.flatnonzero(allowed)
        if top_k <= 0 or not places.size:
            return places[:0]
        places = places[highest(self.scores[places], top_k)]
        return places[np.lexsort((places, -self.scores[places]))]

    def parts(self, turn: int) -> Parts:
        """Return what each signal adds to the score of a turn.

        Args:
            turn: where it is in :attr:`scores`.
        """
        message = int(self._messages[2 * turn + 1] > self._messages[2 * turn])
        signals = {name: float(values[turn, message]) for name, values in self._signals.items()}
        coverage = 0.0
        if self._keyword is not None:
            place = int(np.searchsorted(self._compared, 2 * turn + message))
            if place < len(self._compared) and self._compared[place] == 2 * turn + message:
                signals["context"] = float(self._around[place]) / self._context_full
            coverage = min(1.0, self._keyword.share(turn))
        added = {
            field.name: getattr(self._weights, field.name) * signals.get(field.name, 0.0) for field in fields(Weights)
        }
        return Parts(**added, message=message, coverage=coverage)


def _full(scores: Singles, ideal: float) -> float:
    """Return the score that counts as 1: the highest, unless even that has few of the question's words."""
    return max(float(scores.max(initial=0.0)), HALF * ideal) or 1.0
