"""Embedding several things in one call, and finding out which of them are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ffai.core.memory.backoff import concerns_every_text, is_transient
from ffai.core.redact import redact

T = TypeVar("T")
R = TypeVar("R")


class Refused(str):
    """Why something was not embedded."""

    __slots__ = ()


def embed_or_halve(things: Sequence[T], embed: Callable[[Sequence[T]], Sequence[R]]) -> list[R | Refused]:
    """Embed things in one call; where that is refused, in halves, until what is refused stands alone.

    Args:
        things: what to embed.
        embed: embeds some of them.

    Returns:
        For each what ``embed`` gave, or why it was refused.

    Raises:
        BaseException: what ``embed`` raised, where the same call may work later, or none of the others would.

    Examples:
        >>> def lengths(texts):
        ...     if "" in texts: raise ValueError("empty")
        ...     return [len(text) for text in texts]
        >>> embed_or_halve(["one", "", "three"], lengths)
        [3, 'ValueError: empty', 5]
    """
    made: list[R | Refused] = []
    left = [things] if things else []
    while left:
        some = left.pop()
        try:
            made += embed(some)
        except BaseException as error:
            if is_transient(error) or concerns_every_text(error):
                raise
            half = len(some) // 2
            if half:
                left += [some[half:], some[:half]]
            else:
                made.append(Refused(told(error)))
    return made


def told(error: BaseException) -> str:
    """Say what went wrong: an error may quote the text, or a key.

    Examples:
        >>> told(ValueError("too long"))
        'ValueError: too long'
    """
    return redact(f"{type(error).__name__}: {error}")
