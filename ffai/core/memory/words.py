"""The words of a text, as the keyword index has them: for stored messages and for questions alike."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import NamedTuple, Protocol

from ffai._fork import held_over_forks

VERSION = 1
"""Changes with the rules here: words that were made by other rules don't match."""
LONGEST = 64
"""Characters of a word that count; what is longer is no word, but a key, a picture or a link."""

_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
"""Accents and vowel points that people leave out; of other scripts they are part of the letter."""
_HANS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABLES = f"{_HANS}\u1100-\u11ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uac00-\ud7af"
"""Han, kana and Hangul: two characters say about as much as a word."""
_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer: letters, written without spaces."""
_UNSPACED = re.compile(f"[{_SYLLABLES}{_LETTERS}]")
_HAN = re.compile(f"[{_HANS}]")
_PLAIN = re.compile("[a-z0-9]+")
_ANY = re.compile(
    rf"(?P<syllables>[{_SYLLABLES}]+)|(?P<letters>[{_LETTERS}]+)"
    rf"|(?:(?![{_SYLLABLES}{_LETTERS}])(?:[^\W_]|[\u0900-\u0963\u0966-\u0dff]))+"
)

_ENGLISH = (
    "a about all also am an and any are as at be been being but by can could d did do does doing don each for from "
    "had has have having he her here hers herself him himself his how i if in into is it its itself just like ll m "
    "may me might mine more most my myself no nor not of on once only or other our ours out over own re s same she "
    "should so some such t than that the their theirs them themselves then there these they this those through to "
    "too under until up us ve very was we were what when where which while who whom whose why will with would you "
    "your yours yourself"
)
STOP_WORDS = frozenset(_ENGLISH.split())
"""English words that say how a sentence is built. Without them, 2 points more of the evidence are found."""


class Words(NamedTuple):
    """What a text is found by."""

    kept: list[str]
    """The words that say what it is about, each as often as it is there: folded, and stemmed where English."""
    said: int
    """How many words it has, with those that are not kept."""


def words_of(text: str) -> Words:
    """Cut a text into words.

    Case, accents and widths don't count. Words in Latin letters without accents are stemmed by the rules of English,
    whatever their language: both sides are, so equal words stay equal. Where a script has no spaces, every two
    characters that stand together are a word (Thai, Lao, Burmese and Khmer: three), and each Han character is one.

    Examples:
        >>> words_of("Where did Zoë's cats sleep?")
        Words(kept=['zoe', 'cat', 'sleep'], said=6)
        >>> words_of("猫が好き").kept
        ['猫が', 'が好', '好き', '猫', '好']
    """
    if text.isascii():
        found = _PLAIN.findall(text.lower())
        return Words([_stem(word) for word in found if word not in STOP_WORDS], len(found))
    kept: list[str] = []
    said = 0
    for match in _ANY.finditer(folded(text)):
        if match.lastgroup is None:
            said += 1
            if (word := match.group()) not in STOP_WORDS:
                kept.append(_stem(word))
        else:
            run = match.group()
            size = 2 if match.lastgroup == "syllables" else 3
            said += -(-len(run) // size)
            kept += [run[place : place + size] for place in range(max(1, len(run) - size + 1))]
            kept += _HAN.findall(run) if len(run) > 1 else []
    return Words(kept, said)


def folded(text: str) -> str:
    """Return a text without the differences that don't count: case, accents, widths.

    Examples:
        >>> folded("Ｚoë Straße")
        'zoe strasse'
    """
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold()))


def is_unspaced(text: str) -> bool:
    """Tell whether a text has characters of a script without spaces.

    Examples:
        >>> is_unspaced("花子"), is_unspaced("Hanako")
        (True, False)
    """
    return not text.isascii() and _UNSPACED.search(text) is not None


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


_stemming = held_over_forks(threading.Lock())


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Stem a word of ASCII letters; others stay. The library's stemmers are for one thread at a time."""
    if len(word) > LONGEST:
        return word[:LONGEST]
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    with _stemming:
        stem: str = _english().stemWord(word)
        return stem


@lru_cache(maxsize=1)
def _english() -> _Stemmer:
    import Stemmer

    stemmer: _Stemmer = Stemmer.Stemmer("english")
    return stemmer
