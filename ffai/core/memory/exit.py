"""What happens to open collections when the process ends without ``close()``."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from typing import Protocol

from ffai._fork import held_over_forks

TIME_FOR_ALL = 2.0
"""Seconds that the end of the process waits, at the most, for turns to be embedded."""


class Ending(Protocol):
    """Something that can be brought to an end within a time."""

    def end(self, timeout: float) -> None:
        """Do what can be done in so many seconds; start no thread."""
        ...


_lock = held_over_forks(threading.Lock())
_open: weakref.WeakSet[Ending] = weakref.WeakSet()
_registered = False


def end_at_exit(collection: Ending) -> None:
    """Bring a collection to its end when the interpreter exits, if it still exists then."""
    global _registered
    with _lock:
        _open.add(collection)
        if not _registered:
            atexit.register(_end_all)
            _registered = True


def _end_all() -> None:
    deadline = time.monotonic() + TIME_FOR_ALL
    for collection in list(_open):
        collection.end(max(0.0, deadline - time.monotonic()))
