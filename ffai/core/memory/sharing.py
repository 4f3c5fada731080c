"""One collection per place in a process: several users of it share its store, its journal and its worker."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ffai._fork import held_over_forks
from ffai.core.memory.collection import Collection
from ffai.core.memory.place import Place

_lock = held_over_forks(threading.Lock())
_open: dict[Place, tuple[Collection, int]] = {}


def acquire(place: Place, open_it: Callable[[], Collection]) -> Collection:
    """Give the open collection of a place, or open it. Each user releases it once.

    Args:
        place: the files.
        open_it: opens the collection; called where no one has it open.
    """
    with _lock:
        collection, users = _open.get(place) or (open_it(), 0)
        _open[place] = (collection, users + 1)
        return collection


def release(collection: Collection) -> bool:
    """Give a collection back.

    Returns:
        Whether nobody uses it any more, so that it is to be closed.
    """
    with _lock:
        for key, (known, users) in _open.items():
            if known is collection:
                if users > 1:
                    _open[key] = (known, users - 1)
                    return False
                del _open[key]
                return True
        return True
