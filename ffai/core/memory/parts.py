"""Cutting a long text into parts that an embedding model reads whole.

Models read a limited number of tokens (all-MiniLM-L6-v2: 256) and ignore the rest, so the end of a long text has
no share in its vector. Its parts have vectors of their own.
"""

from __future__ import annotations

import re

LONG_WORDS = 160
"""A text of more words than this is long."""
PART_WORDS = 48
"""Words in a part: what even the smallest models read whole."""
OVERLAP_WORDS = 8
"""Words that a part shares with the one before, so that a phrase is whole in one of them."""

_UNSPACED = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\s{_UNSPACED}]{{1,24}}")
"""A word; in scripts without spaces, and in very long ones, about as much text as a token or two."""


def parts_of(text: str) -> list[str]:
    """Cut a long text into overlapping parts.

    Returns:
        Parts of at most :data:`PART_WORDS` words that cover the whole text; none for a text that is not long.

    Examples:
        >>> parts_of("a short text")
        []
        >>> [len(part.split()) for part in parts_of("word " * 200)]
        [48, 48, 48, 48, 40]
    """
    if len(text) <= LONG_WORDS:
        return []
    words = [match.span() for match in _WORD.finditer(text)]
    if len(words) <= LONG_WORDS:
        return []
    starts = range(0, len(words) - OVERLAP_WORDS, PART_WORDS - OVERLAP_WORDS)
    return [text[words[start][0] : words[min(start + PART_WORDS, len(words)) - 1][1]] for start in starts]
