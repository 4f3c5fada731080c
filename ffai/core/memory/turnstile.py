"""Letting queries go before background work."""

from __future__ import annotations

import threading
from types import TracebackType

from ffai._fork import renew_after_fork

LONGEST_PAUSE = 1.0
"""Seconds that background work waits at the most, so that a stream of queries can't stop it."""


class Turnstile:
    """Entered by queries; background work waits at it until none is inside.

    Examples:
        >>> queries = Turnstile()
        >>> with queries:
        ...     pass  # ask the model for the query's vector
        >>> queries.let_pass()
    """

    def __init__(self) -> None:
        self.renew_after_fork()
        renew_after_fork(self)

    def renew_after_fork(self) -> None:
        """Let out those who were inside: they are threads of the parent."""
        self._changed = threading.Condition()
        self._inside = 0

    def __enter__(self) -> None:
        with self._changed:
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    def let_pass(self) -> None:
        """Wait until no query is inside."""
        with self._changed:
            self._changed.wait_for(lambda: not self._inside, LONGEST_PAUSE)
