"""How well messages match the words of a question: by BM25, alone and with what was said around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.bm25 import fullness, rarity
from ffai.core.memory.postings import Counts, Numbers

Entries = NDArray[np.intp]
Messages = NDArray[np.intp]
Singles = NDArray[np.float32]

SPAN = 60
"""Words on each side of a message that it is also found by."""
MOST_STEPS = 6
"""Messages on each side in which they are looked for."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is known of each message of an index besides its words.

    Examples:
        >>> one_turn = Spoken(*(np.array(numbers, dtype=np.int32) for numbers in ([2, 1], [3, 4], [-1, 1, 0, -1])))
        >>> one_turn.said.tolist()
        [3, 4]
    """

    kept: Numbers
    """How many of its words are kept."""
    said: Numbers
    """How many words it has."""
    links: Numbers
    """The messages before and after it in its conversation, -1 where there is none: shape ``(2 * messages,)``. The one
    after the last may have been added since."""


class Looked:
    """Which turns are looked at: their messages have places of their own, like the rows of an array ``(turns, 2)``.

    Args:
        count: how many turns there are.
        among: the numbers of those that are looked at, ascending; ``None`` for all.

    Examples:
        >>> looked = Looked(4, np.array([1, 3]))
        >>> looked.numbers(np.array([1, 2])).tolist(), looked.places(np.array([3, 6, 5])).tolist()
        ([3, 6], [1, 2, 4])
    """

    def __init__(self, count: int, among: Entries | None = None) -> None:
        self._count, self._among = count, among
        self.end = 2 * (count if among is None else len(among))
        """The place of all messages of other turns."""

    def seen(self, messages: Numbers) -> Entries:
        """Return where messages are looked at, of those of any turns."""
        if self._among is None:
            return np.flatnonzero(messages < self.end)
        may = np.zeros(self._count + 1, dtype=np.bool_)  # the last one is for turns that came later
        may[self._among] = True
        return np.flatnonzero(may.take(messages >> 1, mode="clip"))

    def places(self, messages: NDArray[Any]) -> NDArray[Any]:
        """Return the places of messages."""
        if self._among is None:
            return messages
        turns = messages >> 1
        places = self._among.searchsorted(turns)
        known = self._among.take(places, mode="clip") == turns if len(self._among) else False
        return np.where(known, 2 * places + (messages & 1), self.end)

    def numbers(self, places: Messages) -> Messages:
        """Return the messages that have some places."""
        return places if self._among is None else 2 * self._among[places >> 1] + (places & 1)

    def chosen(self, known: Numbers) -> Numbers:
        """Return what is known of the messages that are looked at, of what is known of all."""
        return known if self._among is None else known.reshape(-1, 2).take(self._among, axis=0).ravel()


class KeywordScores:
    """The messages of the turns that are looked at, compared with a question.

    The messages are numbered like the rows of an array of shape ``(turns, 2)`` that is laid flat.

    Args:
        found: for each word of the question, the messages of the index that have it, ascending, and how often; only
            those that are looked at.
        spoken: all messages of the index.
        looked: which of them are looked at.

    Examples:
        >>> both = Spoken(*(np.array(numbers, dtype=np.int32) for numbers in ([2, 1], [3, 4], [-1, 1, 0, -1])))
        >>> red = np.array([1], dtype=np.int32), np.array([1], dtype=np.uint8)
        >>> scores = KeywordScores([red], both, Looked(1))
        >>> (scores.alone > 0).tolist(), (scores.around(np.array([0, 1])) > 0).tolist()
        ([False, True], [True, True])
    """

    def __init__(self, found: Sequence[tuple[Numbers, Counts]], spoken: Spoken, looked: Looked) -> None:
        self._spoken, self._looked = spoken, looked
        kept, said = looked.chosen(spoken.kept), looked.chosen(spoken.said)
        number, words, all_words = int(np.count_nonzero(said)), max(1, int(kept.sum())), max(1, int(said.sum()))
        self._common = words / max(1, number)
        self._margins = 2 * SPAN * words / all_words
        """Words that are kept of a span on each side, on average."""
        having = np.array([len(messages) for messages, _ in found], dtype=np.intp)
        self._rarity = rarity(having, number)
        self._words: Messages = np.repeat(np.arange(len(found)), having)
        self._having = np.concatenate([np.empty(0, np.int32), *(messages for messages, _ in found)])
        self._often = np.concatenate([np.empty(0, np.uint8), *(counts for _, counts in found)])
        """Word by word: the messages of the index that have it, and how often they do."""
        places = looked.places(self._having)
        self._counts = np.zeros((len(said) + 1, len(found)), dtype=np.uint8)
        """The same for each message; at the end, for those that are not looked at."""
        self._counts[places, self._words] = self._often
        gained = self._rarity[self._words] * fullness(self._often, kept[places], self._common)
        self.ideal = float(self._rarity.sum())
        """What a message of common length scores that has each word once, also the words that nobody said."""
        self.alone: Singles = np.bincount(places, weights=gained, minlength=len(said)).astype(np.float32)
        """BM25 of each message, zero where it has none of the words: shape ``(2 * turns,)``."""

    def share(self, turn: int) -> float:
        """Return how much of the question's words a turn has, the rare ones counting more, in ``[0, 1]``.

        Args:
            turn: its place among those that are looked at.
        """
        has = self._counts[2 * turn : 2 * turn + 2].any(axis=0)
        return float(self._rarity[has].sum()) / (self.ideal or 1.0)

    def around(self, messages: Messages) -> Singles:
        """Compare messages together with up to :data:`SPAN` words of their conversation on each side.

        Of a message that is near in part, its words count in part.

        Args:
            messages: which, of those that are looked at.

        Returns:
            BM25 as in :attr:`alone`: shape ``(len(messages),)``.
        """
        these = self._looked.numbers(messages)
        before, after = self._brought(these) if len(self._having) < len(these) else self._gathered(these)
        lengths = self._spoken.kept[these].astype(np.float32) + np.float32(self._margins)
        counts = self._counts.take(messages, axis=0) + before + after
        full = fullness(counts, lengths[:, None], self._common + self._margins)
        scores: Singles = np.einsum(
            "ij,j->i", full, self._rarity.astype(np.float32)
        )  # BLAS gives equal rows different last digits
        scores[self._spoken.said[these] == 0] = 0.0
        return scores

    def _gathered(self, these: Messages) -> Singles:
        """Count the words that messages have near, going out from these messages.

        Returns:
            How often each word was said before and after them: shape ``(2, len(these), words)``.
        """
        nearby = np.zeros((2, len(these), self._counts.shape[1]), dtype=np.float32)
        for near, left in zip(*self._near(these), strict=True):
            shares = _shares(left, self._spoken.said.take(near, mode="clip"))
            nearby += self._counts.take(self._looked.places(near), axis=0) * shares[..., None]
        return nearby

    def _brought(self, these: Messages) -> Singles:
        """Count as :meth:`_gathered`, but going out from where the words are: quicker where they are rare."""
        words, (near, left) = self._counts.shape[1], self._from_words
        places = these.searchsorted(near)
        known = np.flatnonzero(these.take(places, mode="clip") == near)
        turned = np.array([[len(these)], [0]])  # what is reached by going backwards has the word after it
        cells = (places + turned) * words + self._words
        weights = self._often * _shares(left, self._spoken.said[self._having])
        nearby = np.bincount(cells.ravel()[known], weights.ravel()[known], 2 * len(these) * words)
        return nearby.astype(np.float32).reshape(2, len(these), words)

    def best_and_near(self, most: int) -> Messages:
        """Return the best messages alone, at most so many, and those that have them near; ascending."""
        best = some = np.flatnonzero(self.alone > 0.0)
        if len(some) > most:
            best = some[highest(self.alone[some], most)]
        near, left = self._near(self._looked.numbers(best)) if len(some) > most else self._from_words
        reached = np.zeros(len(self._counts), dtype=np.bool_)
        reached[best] = True
        reached[self._looked.places(near[left > 0])] = True
        return np.flatnonzero(reached[: len(self.alone)])

    @cached_property
    def _from_words(self) -> tuple[NDArray[np.uint32], Numbers]:
        """What is near where the words are; see :meth:`_near`."""
        return self._near(self._having)

    def _near(self, these: Messages | Numbers) -> tuple[NDArray[np.uint32], Numbers]:
        """Go from messages to those before, and to the next ones, all at once, until a span of words lies between.

        Returns:
            Step by step, the message that is reached from each of ``these`` backwards, and forwards, one more than the
            last where there is none; and how much of the span is left there, at least 0: each of shape ``(steps, 2,
            len(these))``.
        """
        said, number = self._spoken.said, len(self._spoken.said)
        links = self._spoken.links.view(np.uint32)  # -1 is then beyond all messages
        turning = np.array([[0], [1]])
        near = np.empty((MOST_STEPS, 2, len(these)), dtype=np.uint32)
        left = np.empty(near.shape, dtype=np.int32)
        reached: NDArray[Any] = these
        between = np.zeros(near.shape[1:], dtype=np.int32)
        for step in range(MOST_STEPS):
            # Beyond all messages one goes on from the last one, after which there is none.
            reached = np.minimum(links.take(2 * reached + turning, mode="clip"), number, out=near[step])
            np.putmask(between, reached == number, SPAN)
            np.maximum(SPAN - between, 0, out=left[step])
            between += np.maximum(said.take(reached, mode="clip"), 1)
            if between.min(initial=SPAN) >= SPAN:
                break
        return near[: step + 1], left[: step + 1]


def _shares(left: Numbers, said: Numbers) -> Singles:
    """Return which share of messages is within what is left of the span."""
    return np.minimum(left / np.maximum(said, 1), 1.0, dtype=np.float32)


def highest(scores: Singles, most: int) -> Messages:
    """Return where the highest scores are, ascending; of equal ones the first.

    Args:
        scores: shape ``(rows,)``.
        most: how many, at least 1.

    Examples:
        >>> highest(np.array([1, 3, 2, 2], dtype=np.float32), 2).tolist()
        [1, 2]
    """
    if most >= scores.size:
        return np.arange(scores.size)
    floor = np.partition(scores, scores.size - most)[scores.size - most]
    above = np.flatnonzero(scores > floor)
    equal = np.flatnonzero(scores == floor)[: most - above.size]
    return np.sort(np.concatenate([above, equal]))
