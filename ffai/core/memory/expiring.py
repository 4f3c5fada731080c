"""Taking turns whose time is over out of the files. They are hidden from every search as soon as it is over."""

from __future__ import annotations

import time

from ffai.core.memory.collection import Collection
from ffai.core.memory.forgetting import forget
from ffai.core.memory.saving import GROWTH, PAUSE_WHILE_IN_USE, SMALL
from ffai.core.memory.turn_json import read_notes
from ffai.errors import StoreError

LONGEST = 3600.0
"""Seconds that an expired turn stays in large files at the most, while there is work: all of them are written anew."""
FAILED_EVERY = 60.0
"""Seconds between two looks at the turns that failed."""


class Expiring:
    """Called by the background thread each time it works.

    Args:
        collection: whose turns are looked after.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._first_seen: float | None = None
        self._look_at_failed = 0.0

    def __call__(self) -> float | None:
        """Forget what has expired, if it is worth writing the files anew; tell when to come again."""
        expired = {*self._collection.store._expired(time.time()), *self._failed()}
        if not expired:
            self._first_seen = None
            return None
        if not self._is_worth_it(len(expired)):
            return None
        try:
            forget(self._collection, expired, patience=0.0, with_knowledge=False)  # a summary outlives them
        except StoreError:  # the files are being written, or can't be written just now
            return PAUSE_WHILE_IN_USE
        self._first_seen = None
        return None

    def _is_worth_it(self, count: int) -> bool:
        now = time.monotonic()
        self._first_seen = now if self._first_seen is None else self._first_seen
        rows = self._collection.store._held()
        return rows < SMALL or count * GROWTH >= rows or now - self._first_seen >= LONGEST

    def _failed(self) -> list[str]:
        """Return those that could not be embedded and have expired."""
        if time.monotonic() < self._look_at_failed:
            return []
        self._look_at_failed = time.monotonic() + FAILED_EVERY
        failed, now = self._collection.journal.read(lambda journal: journal.given_up()), time.time()
        ends = ((turn.turn_id, read_notes(turn.turn).expires_at) for turn in failed if '"expires_at"' in turn.turn)
        return [turn_id for turn_id, end in ends if end is not None and end <= now]
