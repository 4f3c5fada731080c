"""How well messages match the words of a question: by BM25, alone and with what was said around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


class KeywordScores:
    """The messages of the turns that are looked at, compared with a question.

    The messages are numbered like the rows of an array of shape ``(turns, 2)`` that is laid flat.

    Args:
        found: for each word of the question, the messages that have it, ascending, and how often; only of the turns
            that are looked at.
        spoken: all messages.
        may: whether each turn is looked at.
        among: their numbers, ascending; ``None`` where all are.

    Examples:
        >>> both = Spoken(*(np.array(numbers, dtype=np.int32) for numbers in ([2, 1], [3, 4], [-1, 1, 0, -1])))
        >>> red = np.array([1], dtype=np.int32), np.array([1], dtype=np.uint8)
        >>> scores = KeywordScores([red], both, np.array([True]), None)
        >>> (scores.alone > 0).tolist(), (scores.around(np.array([0, 1])) > 0).tolist()
        ([False, True], [True, True])
    """

    def __init__(
        self,
        found: Sequence[tuple[Numbers, Counts]],
        spoken: Spoken,
        may: NDArray[np.bool_],
        among: Entries | None,
    ) -> None:
        self._spoken, self._may, self._among = spoken, may, among
        kept, said = spoken.kept, spoken.said
        if among is not None:
            kept, said = (array.reshape(-1, 2)[among].ravel() for array in (kept, said))
        number, words, all_words = int(np.count_nonzero(said)), max(1, int(kept.sum())), max(1, int(said.sum()))
        self._common = words / max(1, number)
        self._margins = 2 * SPAN * words / all_words
        """Words that are kept of a span on each side, on average."""
        having = np.array([len(messages) for messages, _ in found], dtype=np.intp)
        self._rarity = rarity(having, number)
        words_there: Messages = np.repeat(np.arange(len(found)), having)
        messages = np.concatenate([np.empty(0, np.int32), *(messages for messages, _ in found)])
        counts = np.concatenate([np.empty(0, np.uint8), *(counts for _, counts in found)])
        self._counts = np.zeros((len(spoken.said), len(found)), dtype=np.uint8)
        self._counts[messages, words_there] = counts
        gained = self._rarity[words_there] * fullness(counts, spoken.kept[messages], self._common)
        self.ideal = float(self._rarity.sum())
        """What a message of common length scores that has each word once, also the words that nobody said."""
        total = np.bincount(self._places(messages), weights=gained, minlength=len(said))
        self.alone: Singles = total.astype(np.float32)
        """BM25 of each message, zero where it has none of the words: shape ``(2 * turns,)``."""

    def around(self, messages: Messages) -> Singles:
        """Compare messages together with up to :data:`SPAN` words of their conversation on each side.

        Of a message that is near in part, its words count in part.

        Args:
            messages: which, of those that are looked at.

        Returns:
            BM25 as in :attr:`alone`: shape ``(len(messages),)``.
        """
        spoken, these = self._spoken, self._numbers(messages)
        nearby = np.zeros((2 * len(these), self._counts.shape[1]), dtype=np.float32)
        for near, shares in self._near(these):
            nearby += self._counts[near] * shares[:, None]
        counts = self._counts[these] + nearby[: len(these)] + nearby[len(these) :]
        lengths = spoken.kept[these].astype(np.float32) + np.float32(self._margins)
        full = fullness(counts, lengths[:, None], self._common + self._margins)
        scores: Singles = np.einsum(
            "ij,j->i", full, self._rarity.astype(np.float32)
        )  # BLAS gives equal rows different last digits
        scores[spoken.said[these] == 0] = 0.0
        return scores

    def best_and_near(self, most: int) -> Messages:
        """Return the best messages alone, at most so many, and those that have them near; ascending."""
        some = np.flatnonzero(self.alone > 0.0)
        these = self._numbers(some[highest(self.alone[some], most)])
        reached = np.zeros(len(self._spoken.said), dtype=np.bool_)
        reached[these] = True
        for near, shares in self._near(these):
            reached[near[shares > 0.0]] = True
        near = np.flatnonzero(reached)
        return self._places(near[self._may[near >> 1]])

    def _near(self, these: Messages) -> Iterator[tuple[Messages, Singles]]:
        """Go from messages to those before, and to the next ones, all at once, until a span of words lies between.

        Yields:
            The message that is reached from each of ``these`` backwards, then forwards, and the share of its words that
            is near, zero where none is reached: each of shape ``(2 * len(these),)``.
        """
        said, number = self._spoken.said, len(self._spoken.said)
        links = self._spoken.links.view(np.uint32)  # -1 is then beyond all messages
        turning = np.repeat(np.array([0, 1]), len(these))
        near = np.concatenate([these, these])
        between = np.zeros(len(near), dtype=np.int32)
        for _ in range(MOST_STEPS):
            near = np.minimum(links[2 * near + turning], number).astype(np.intp)
            np.putmask(between, near == number, SPAN)
            np.minimum(near, number - 1, out=near)
            lengths = np.maximum(said[near], 1)
            left = np.maximum(SPAN - between, 0)
            if not left.any():
                return
            yield near, np.minimum(left / lengths, 1.0, dtype=np.float32)
            between += lengths

    def _places(self, numbers: NDArray[np.integer[Any]]) -> Messages:
        """Return where messages of the index are among those that are looked at."""
        if self._among is None:
            return numbers.astype(np.intp)
        places: Messages = 2 * self._among.searchsorted(numbers >> 1) + (numbers & 1)
        return places

    def _numbers(self, messages: Messages) -> Messages:
        """Return the numbers in the index of messages that are looked at."""
        return messages if self._among is None else 2 * self._among[messages >> 1] + (messages & 1)


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
