"""The keyword index: the words of turns, and which turns have those of a question.

A turn is two messages, what was asked and what was answered: turn n has the messages 2n and 2n + 1. A message that was
not said has no words, and is never found.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column
from ffai.core.memory.keyword_scores import KeywordScores, Looked, Spoken
from ffai.core.memory.postings import Counts, Numbers, Postings
from ffai.core.memory.words import Words

Entries = NDArray[np.intp]
TurnWords = tuple[Words, Words]
"""The words of what was asked and of what was answered."""

GROWTH = 8
"""A segment is joined with the one before as long as that is less than so many times larger: few are looked through."""
MOST_WORDS = 32
"""Different words of a question that are looked for: the rarest."""
_UNKNOWN = -1


class KeywordIndex:
    """The words of turns, numbered like the turns of a table. It grows at the end; what was added never changes.

    Adding is for one thread at a time. Whoever reads takes :attr:`count` first, which is raised last, and needs no
    lock.

    Examples:
        >>> from ffai.core.memory.words import words_of
        >>> index = KeywordIndex()
        >>> turns = [("Where is the key?", "In the red box."), ("And the map?", "Beside it.")]
        >>> index.extend([(words_of(asked), words_of(answered)) for asked, answered in turns], ["a chat"] * 2)
        >>> found = index.look_for(words_of("red map").kept, index.count)
        >>> (found.alone > 0).tolist(), (found.around(np.arange(4)) > 0).tolist()
        ([False, True, True, False], [True, True, True, True])
    """

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[str, int] = {}
        self._segments: tuple[Postings, ...] = ()
        """Each has the messages after the last one's; each is at least :data:`GROWTH` times as large as the next."""
        self._kept, self._said = Column(np.int32), Column(np.int32)
        """How many words each message has that are kept, and that were said."""
        self._links = Column(np.int32)
        """The messages before and after each one in its conversation; -1 where there is none yet."""
        self._conversations = Column(np.int32)
        self._conversation_numbers: dict[Hashable, int] = {}
        self._last: dict[int, int] = {}
        """The last turn of each conversation."""

    def extend(self, turns: Sequence[TurnWords], conversations: Sequence[Hashable]) -> None:
        """Add turns.

        Args:
            turns: their words.
            conversations: which turns belong together: equal for those of the same talk. Turns of different scopes
                must not be of the same one, or the words of one lead to the other.
        """
        if not turns:
            return
        messages = [words for turn in turns for words in turn]
        sizes, numbers = [len(words.kept) for words in messages], self._numbers
        flat = [numbers.setdefault(word, len(numbers)) for words in messages for word in words.kept]
        self._add(Postings.of(flat, sizes, first=2 * self.count))
        self._kept.extend(sizes)
        self._said.extend([words.said for words in messages])
        known = self._conversation_numbers
        self._join([known.setdefault(conversation, len(known)) for conversation in conversations])
        self.count += len(turns)

    def _add(self, segment: Postings) -> None:
        segments = [*self._segments, segment]
        while len(segments) > 1 and len(segments[-2]) < GROWTH * len(segments[-1]):
            later = segments.pop()
            segments[-1] = segments[-1].followed_by(later)
        self._segments = tuple(segments)

    def _join(self, conversations: Sequence[int]) -> None:
        """Note which messages follow each other: turns are added in the order in which they were said."""
        first, count = self.count, self.count + len(conversations)
        earlier = []
        for turn, conversation in enumerate(conversations, first):
            earlier.append(self._last.get(conversation, -1))
            self._last[conversation] = turn
        last = np.array(earlier, dtype=np.int32)
        turns = np.arange(first, count, dtype=np.int32)
        before = np.where(last < 0, -1, 2 * last + 1)
        self._links.extend(np.column_stack([before, 2 * turns + 1, 2 * turns, np.full(len(turns), -1)]).ravel())
        self._links.view(4 * count)[4 * last[last >= 0] + 3] = 2 * turns[last >= 0]
        self._conversations.extend(conversations)

    def of(self, kept: Entries) -> KeywordIndex:
        """Return the index of some of the turns, in their order; this one stays as it is, for those who still read it.

        Args:
            kept: their numbers here, ascending.
        """
        fresh, count = KeywordIndex(), len(kept)
        messages = (2 * kept[:, None] + np.arange(2)).ravel()
        renumbered = np.full(2 * self.count, -1, dtype=np.int32)
        renumbered[messages] = np.arange(2 * count)
        segments = [segment.of_messages(renumbered) for segment in self._segments]
        used = np.unique(np.concatenate([np.empty(0, np.int32), *(segment.words for segment in segments)]))
        numbers = np.full(len(self._numbers), -1, dtype=np.int32)
        numbers[used] = np.arange(len(used))
        for segment in segments:
            fresh._add(segment.renamed(numbers))
        fresh._numbers = {word: int(numbers[old]) for word, old in self._numbers.items() if numbers[old] >= 0}
        fresh._kept.extend(self._kept.view(2 * self.count)[messages])
        fresh._said.extend(self._said.view(2 * self.count)[messages])
        conversations = self._conversations.view(self.count)[kept].tolist()
        left = {old: number for number, old in enumerate(dict.fromkeys(conversations))}
        known = self._conversation_numbers.items()
        fresh._conversation_numbers = {key: left[number] for key, number in known if number in left}
        fresh._join([left[conversation] for conversation in conversations])
        fresh.count = count
        return fresh

    def said(self, count: int, among: Entries | None = None) -> Numbers:
        """Return how many words messages have: shape ``(turns, 2)``."""
        said: Numbers = self._said.view(2 * count).reshape(-1, 2)
        return said if among is None else said.take(among, axis=0)

    # Finding

    def look_for(self, words: Sequence[str], count: int, among: Entries | None = None) -> KeywordScores:
        """Compare the messages of turns with the words of a question.

        How rare a word is, and how long messages are, is counted among the turns that are looked at: the others have no
        part in what is found. What they say near a message doesn't count either, though it keeps its distance.

        Args:
            words: as :func:`ffai.core.memory.words.words_of` keeps them.
            count: looks among the first ``count`` turns; they must be whole.
            among: looks at these turns only: ascending; ``None`` looks at all.
        """
        first, end = 0, count
        if among is not None:
            first, end = (int(among[0]), int(among[-1]) + 1) if among.size else (0, 0)
        asked = np.array([self._numbers.get(word, _UNKNOWN) for word in dict.fromkeys(words)], dtype=np.int32)
        looked, segments = Looked(count, among), self._segments
        by_segment = [segment.find(asked, 2 * first, 2 * end) for segment in segments]
        found = _seen([[pieces[word] for pieces in by_segment] for word in range(len(asked))], looked)
        found.sort(key=lambda pair: len(pair[0]))
        spoken = Spoken(self._kept.view(2 * count), self._said.view(2 * count), self._links.view(4 * count))
        return KeywordScores(found[:MOST_WORDS], spoken, looked)


def _seen(found: Sequence[Sequence[tuple[Numbers, Counts]]], looked: Looked) -> list[tuple[Numbers, Counts]]:
    """Join what segments have of each word, without the turns that are not looked at."""
    pieces = [piece for of_word in found for piece in of_word]
    messages = np.concatenate([np.empty(0, np.int32), *(messages for messages, _ in pieces)])
    counts = np.concatenate([np.empty(0, np.uint8), *(counts for _, counts in pieces)])
    ends = [0, *accumulate(sum(len(messages) for messages, _ in of_word) for of_word in found)]
    if len(seen := looked.seen(messages)) < len(messages):
        messages, counts, ends = messages[seen], counts[seen], seen.searchsorted(ends).tolist()
    return [(messages[start:end], counts[start:end]) for start, end in pairwise(ends)]
