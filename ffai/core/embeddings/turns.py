"""Embedders that one thread at a time may enter."""

from __future__ import annotations

import threading
import weakref
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ffai._fork import renew_after_fork
from ffai.core.embeddings.fair_lock import FairLock


class _TurnTaking:
    """A lock for each embedder, as long as it lives."""

    def __init__(self) -> None:
        self.renew_after_fork()
        renew_after_fork(self)

    def renew_after_fork(self) -> None:
        """Begin with no embedder entered: those who were inside are threads of the parent."""
        self._guard = threading.Lock()
        self._locks: dict[int, tuple[weakref.ref[Any], FairLock]] = {}
        self._of_the_rest = FairLock()

    def lock(self, embedder: object) -> FairLock:
        """Return the lock of an embedder; one for all of those that take no weak references."""
        key = id(embedder)
        with self._guard:
            known = self._locks.get(key)
            if known is None or known[0]() is not embedder:
                try:
                    known = weakref.ref(embedder, lambda _: self._locks.pop(key, None)), FairLock()
                except TypeError:
                    return self._of_the_rest
                self._locks[key] = known
            return known[1]


_taking = _TurnTaking()


def taking_turns(embedder: object) -> AbstractContextManager[Any]:
    """Let one thread at a time enter an embedder: most models break when two do. One that says so is left alone.

    Examples:
        >>> class Embedder:
        ...     def embed(self, texts): return [[1.0] for _ in texts]
        >>> with taking_turns(Embedder()):
        ...     pass
    """
    return nullcontext() if getattr(embedder, "concurrent", False) is True else _taking.lock(embedder)
