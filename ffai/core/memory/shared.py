"""What a memory and its scoped views share."""

from __future__ import annotations

import threading

from ffai._fork import held_over_forks
from ffai.core.memory.collection import Collection
from ffai.core.memory.recalled import Recalled


class Shared:
    """The turns, and whether they are still taken."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.entering = held_over_forks(threading.Lock())
        """Held between a turn that comes in and the end, or the move to files."""
        self.keeping = held_over_forks(threading.RLock())
        """Held while something is taught, which may have to wait for the disk, and before the turns move to files."""
        self.recalled = Recalled()
        self.closed, self.is_last = False, False
        """Whether it was closed, and whether nobody else in this process uses the same files."""
