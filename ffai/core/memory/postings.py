"""Where words are: for each word the messages that have it, in arrays that are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Counts = NDArray[np.uint8]
Places = NDArray[np.intp]

FEW = 64
"""Messages that are looked through as quickly as left out."""
_MOST = 255


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of some messages, by word: ascending, and of one word by message.

    Examples:
        >>> some = Postings.of([9, 7, 9, 9], [3, 1])
        >>> for messages, counts in some.find(np.array([9, 8], dtype=np.int32), 0, 2):
        ...     print(messages.tolist(), counts.tolist())
        [0, 1] [2, 1]
        [] []
    """

    words: Numbers
    starts: Places
    """Where the postings of each word begin, and where the last ones end: one more than there are words."""
    messages: Numbers
    counts: Counts
    """How often the message has the word; at most 255."""

    def __len__(self) -> int:
        return len(self.messages)

    @classmethod
    def of(cls, words: Sequence[int], sizes: Sequence[int], first: int = 0) -> Postings:
        """Sort messages by word.

        Args:
            words: the numbers of the words of all messages, one message after the other.
            sizes: how many of them each message has.
            first: the number of the first message.
        """
        places = np.repeat(np.arange(len(sizes)), sizes)
        pairs, counts = np.unique(np.array(words, dtype=np.int64) * len(sizes) + places, return_counts=True)
        flat, messages = np.divmod(pairs, max(1, len(sizes)))
        often = np.minimum(counts, _MOST).astype(np.uint8)
        return cls._sorted(flat.astype(np.int32), (messages + first).astype(np.int32), often)

    @classmethod
    def _sorted(cls, flat: Numbers, messages: Numbers, counts: Counts) -> Postings:
        begins = np.flatnonzero(np.diff(flat, prepend=-1))
        return cls(flat[begins], np.append(begins, len(flat)), messages, counts)

    def find(self, words: Numbers, first: int, end: int) -> list[tuple[Numbers, Counts]]:
        """Return for each of some words the messages that have it, ascending, and how often each has it.

        Args:
            words: their numbers.
            first: messages before this one may be left out.
            end: messages from this one on may be left out.
        """
        begins = self.starts[self.words.searchsorted(words)].tolist()
        ends = self.starts[self.words.searchsorted(words, side="right")].tolist()
        bounds = np.array([first, end], dtype=np.int32)  # of the same kind: else all that is searched is converted
        found = []
        for begin, stop in zip(begins, ends, strict=True):
            low, high = 0, stop - begin
            if high > FEW:
                low, high = self.messages[begin:stop].searchsorted(bounds).tolist()
            there = slice(begin + low, begin + high)
            found.append((self.messages[there], self.counts[there]))
        return found

    def followed_by(self, later: Postings) -> Postings:
        """Join the postings of these messages and of later ones, without sorting anything."""
        words = np.union1d(self.words, later.words)
        sizes = np.zeros(len(words) + 1, dtype=np.intp)
        mine, theirs = np.searchsorted(words, self.words), np.searchsorted(words, later.words)
        my_sizes, their_sizes = np.diff(self.starts), np.diff(later.starts)
        sizes[mine] += my_sizes
        sizes[theirs] += their_sizes
        starts = np.cumsum(sizes) - sizes
        after_mine = starts[theirs] + (starts[theirs + 1] - starts[theirs] - their_sizes)
        to_mine = np.arange(len(self)) + np.repeat(starts[mine] - self.starts[:-1], my_sizes)
        to_theirs = np.arange(len(later)) + np.repeat(after_mine - later.starts[:-1], their_sizes)
        messages = np.empty(len(self) + len(later), dtype=np.int32)
        counts = np.empty(len(messages), dtype=np.uint8)
        messages[to_mine], messages[to_theirs] = self.messages, later.messages
        counts[to_mine], counts[to_theirs] = self.counts, later.counts
        return Postings(words, starts, messages, counts)

    def of_messages(self, numbers: Numbers) -> Postings:
        """Return the postings of some of the messages, under other numbers.

        Args:
            numbers: for each message its new number, ascending; ``-1`` where it is left out.
        """
        renumbered = numbers[self.messages]
        kept = renumbered >= 0
        flat = np.repeat(self.words, np.diff(self.starts))[kept]
        return Postings._sorted(flat, renumbered[kept], self.counts[kept])

    def renamed(self, numbers: Numbers) -> Postings:
        """Return the same under other numbers of words, which must ascend as these do."""
        return Postings(numbers[self.words], self.starts, self.messages, self.counts)
