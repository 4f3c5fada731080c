"""A lock that is given in the order it was asked for."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """A lock whose waiters are served first come, first served.

    With ``threading.Lock`` a thread that embeds batch after batch takes the lock back before a waiting search wakes up.

    Examples:
        >>> lock = FairLock()
        >>> with lock:
        ...     pass
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False

    def __enter__(self) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        arrived = False
        try:
            arrived = ticket.acquire()
        finally:
            if not arrived:  # Ctrl-C while waiting
                self._give_up(ticket)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()  # held all along: nobody can come between
            else:
                self._held = False

    def _give_up(self, ticket: threading.Lock) -> None:
        with self._guard:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                return
        self._pass_on()  # it was given just before the wait was broken off
