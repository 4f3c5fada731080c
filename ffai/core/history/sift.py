"""Taking what belongs to some turns out of a history, at the speed of C: who records waits meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Set
from itertools import compress
from operator import attrgetter, not_
from typing import Protocol, TypeVar


class OfTurn(Protocol):
    """What may belong to a turn."""

    @property
    def turn_id(self) -> str | None:
        """The turn's id; ``None`` where it belongs to none."""
        ...


T = TypeVar("T", bound=OfTurn)


def sift(items: Collection[T], turn_ids: Set[str]) -> tuple[deque[T], list[T]]:
    """Return what does not belong to these turns, and what does; both in order.

    Examples:
        >>> from types import SimpleNamespace as Call
        >>> kept, gone = sift([Call(turn_id="a"), Call(turn_id=None), Call(turn_id="b")], {"a", "c"})
        >>> [call.turn_id for call in kept], [call.turn_id for call in gone]
        ([None, 'b'], ['a'])
    """
    is_gone = list(map(turn_ids.__contains__, map(attrgetter("turn_id"), items)))
    return deque(compress(items, map(not_, is_gone))), list(compress(items, is_gone))
