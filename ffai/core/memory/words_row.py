"""The words of a turn as one line of text a message: what a database keeps of them."""

from __future__ import annotations

from ffai.core.memory.words import Words


def as_row(turn: tuple[Words, Words]) -> str:
    r"""Write the words of a turn.

    Args:
        turn: the words of what was asked and of what was answered.

    Examples:
        >>> from ffai.core.memory.words import words_of
        >>> as_row((words_of("Where is the key?"), words_of("")))
        '4 key\n0'
    """
    asked, answered = (" ".join([str(words.said), *words.kept]) for words in turn)
    return f"{asked}\n{answered}"


def from_row(row: str) -> tuple[Words, Words]:
    r"""Read the words of a turn.

    Raises:
        ValueError: it is no such row.

    Examples:
        >>> from_row("4 key\n0")
        (Words(kept=['key'], said=4), Words(kept=[], said=0))
    """
    asked, answered = row.split("\n")
    return _words(asked), _words(answered)


def _words(line: str) -> Words:
    said, *kept = line.split(" ")
    return Words(kept, int(said))
