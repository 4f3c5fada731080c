"""What is told when turns are forgotten: others who keep their words, such as the histories."""

from __future__ import annotations

import inspect
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from weakref import WeakValueDictionary

from ffai.core.memory.place import Place

Forgotten = Callable[[Collection[str]], Mapping[str, int]]
"""Drops what it keeps of turns, by their ids; tells how much, by place."""


class Listeners:
    """Calls to make when turns are forgotten.

    Examples:
        >>> listeners = Listeners()
        >>> listeners.add(lambda turn_ids: {"notes": len(turn_ids)})
        >>> listeners.add(lambda turn_ids: {"notes": 1, "drafts": 0})
        >>> listeners.tell(["a", "b"])
        {'notes': 3, 'drafts': 0}
    """

    def __init__(self) -> None:
        self._calls: list[Callable[[], Forgotten | None]] = []

    def add(self, call: Forgotten) -> None:
        """Make a call too. A method is held weakly: with its object, the call is gone."""
        self._calls = [known for known in self._calls if known() is not None]
        self._calls.append(weakref.WeakMethod(call) if inspect.ismethod(call) else lambda: call)

    def join(self, others: Listeners) -> None:
        """Make the calls of others too."""
        if others is not self:
            self._calls = [*self._calls, *others._calls]

    def tell(self, turn_ids: Collection[str]) -> dict[str, int]:
        """Make all calls, in the order they were added; tell what was dropped, in sum, by place.

        They may wait for a turn that is just coming in: no lock that ``remember`` needs may be held.

        Raises:
            Exception: whatever a call raises. Those after it were not made; telling again is harmless.
        """
        counts: Counter[str] = Counter()
        for known in list(self._calls):
            if (call := known()) is not None:
                counts.update(call(turn_ids))
        return dict(counts)


_of_places: WeakValueDictionary[Place, Listeners] = WeakValueDictionary()


def listeners_at(place: Place | None) -> Listeners:
    """Return the listeners of a collection: one for all that this process opens in a place, one after another too.

    Examples:
        >>> listeners_at(None) is listeners_at(None)
        False
    """
    return Listeners() if place is None else _of_places.setdefault(place, Listeners())
