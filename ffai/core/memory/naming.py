"""Whom a question names, of those who speak in stored turns."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from ffai.core.memory.words import STOP_WORDS, is_unspaced

_WORD = re.compile(r"\w+")
_CHUNK = re.compile(r"\w(?:\S*\w)?")
"""Letters that no space parts, without what stands around them: also an id or an address."""
_SPOKEN = re.compile(r"[^\W\d_]+(?:[ '’.-]+[^\W\d_]+)*\.?")
"""A name that people say, and not an id: it is named by its first word too."""
_OWNER = r"(?:['’]s\b|(?<=s)['’](?!\w))?"
_OWNED = re.compile(r"['’]s$")


MOST_ALIKE = 100
"""Names that begin alike, and can still be told apart by that."""


class Speakers:
    """Those who speak, each with a number. A question is compared only with names that begin with a word of it.

    Examples:
        >>> speakers = Speakers()
        >>> speakers.number("Caroline Smith"), speakers.number("user-7"), speakers.number("Caroline Smith")
        (0, 1, 0)
        >>> question = "When did Caroline's sister call user-7?"
        >>> sorted(speakers.named_in(question)), speakers.without_names(question)
        ([0, 1], 'When did sister call?')
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._by_beginning: dict[str, list[int]] = {}
        """The names by their first word; ids by all of them."""
        self._unspaced: list[int] = []
        """The names in scripts where no space shows where a word begins."""

    def number(self, name: str) -> int:
        """Return the number of a speaker, the next one for a new name."""
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
            if is_unspaced(name):
                self._unspaced.append(number)
            else:
                beginnings = _WORD if _SPOKEN.fullmatch(name.strip()) else _CHUNK
                if first := beginnings.search(name.casefold()):
                    self._by_beginning.setdefault(first.group(), []).append(number)
        return number

    def named_in(self, question: str) -> set[int]:
        """Return the numbers of those whom a question names: by the first word of the name, or by all of an id."""
        text = question.casefold()
        beginnings = {*_WORD.findall(text), *(_OWNED.sub("", chunk) for chunk in _CHUNK.findall(text))}
        possible = [number for word in beginnings for number in self._by_beginning.get(word, ())]
        if len(possible) > MOST_ALIKE:  # the first word says nothing then: only names that stand there as a whole
            possible = [number for number in possible if self._names[number].casefold() in text]
        return {number for number in [*possible, *self._unspaced] if _pattern(self._names[number]).search(question)}

    def without_names(self, question: str, named: Collection[int] | None = None) -> str:
        """Return a question without the names of speakers, to be compared with what they said.

        A name in a question draws messages that *address* its bearer. Who said a message is a signal of its own.

        Args:
            question: the question.
            named: the speakers; all that it names unless given.

        Returns:
            What is left; the question itself where that is nothing.
        """
        left = question
        for number in self.named_in(question) if named is None else named:
            left = _pattern(self._names[number]).sub(" ", left)
        if left == question:
            return question
        left = re.sub(r"\s+(?=[?!.,;:])", "", " ".join(left.split()))
        return left if _WORD.search(left) else question


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    """Describe how a name is written in a question. One that is a common word too, such as Will, needs its capital."""
    words = [re.escape(word) for word in name.split()]
    if is_unspaced(name):
        return re.compile(r"\s+".join(words))
    rest = "".join(rf"\s+{word}" for word in words[1:])
    rest = f"(?:{rest})?" if _SPOKEN.fullmatch(name.strip()) else rest
    flags = 0 if words[0].casefold() in STOP_WORDS else re.IGNORECASE
    return re.compile(rf"(?<!\w){words[0]}{rest}(?!\w){_OWNER}", flags)
