"""Forking a process whose threads share objects: nobody is inside them meanwhile, and the child puts them in order.

A child has one thread. A lock that another thread held stays held there for ever, and what that thread was changing
stays half changed. So the locks that are noted here are taken before a fork, and are free after it on both sides.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Protocol, TypeVar
from weakref import WeakSet

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds a fork waits, at the most, for threads to leave what they share."""


class Lock(Protocol):
    """What :class:`threading.Lock` and :class:`threading.RLock` make."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class Renewable(Protocol):
    """Something that puts itself in order in a forked child."""

    def renew_after_fork(self) -> None:
        """Replace what does not survive a fork: threads, handles, conditions. The child's only thread calls it."""
        ...


L = TypeVar("L", bound=Lock)

_noting = threading.Lock()
_locks: WeakSet[Lock] = WeakSet()
_renewables: WeakSet[Renewable] = WeakSet()
_held: list[Lock] = []
_without_threads: set[str] = set()


def held_over_forks(lock: L) -> L:
    """Let no thread hold a lock while this process forks, as long as the lock lives.

    Examples:
        >>> lock = held_over_forks(threading.Lock())
        >>> with lock:
        ...     pass
    """
    with _noting:
        _locks.add(lock)
    return lock


def renew_after_fork(owner: Renewable) -> None:
    """Call ``owner.renew_after_fork()`` in every child that this process forks, as long as the owner lives.

    Examples:
        >>> class Owner:
        ...     def renew_after_fork(self) -> None: ...
        >>> owner = Owner()
        >>> renew_after_fork(owner)
    """
    with _noting:
        _renewables.add(owner)


def has_lost_polars() -> bool:
    """Tell whether this process was forked from one that had loaded polars: it would wait here for its threads.

    Examples:
        >>> has_lost_polars()
        False
    """
    return "polars" in _without_threads


def _before() -> None:
    _noting.acquire()
    wanted, give_up_at = list(_locks), time.monotonic() + PATIENCE
    while (busy := _first_busy(wanted)) is not None:
        if not busy.acquire(timeout=max(0.0, give_up_at - time.monotonic())):
            logger.warning("This process is forked while a thread of ffai is busy; the child may find it half done.")
            return
        busy.release()


def _first_busy(wanted: Sequence[Lock]) -> Lock | None:
    """Take all locks, or none. None is waited for while others are held, so no two threads wait for each other."""
    for lock in wanted:
        if not lock.acquire(blocking=False):
            _let_go()
            return lock
        _held.append(lock)
    return None


def _let_go() -> None:
    while _held:
        _held.pop().release()


def _after_in_parent() -> None:
    _let_go()
    _noting.release()


def _after_in_child() -> None:
    global _noting
    _noting = threading.Lock()
    if "polars" in sys.modules:
        _without_threads.add("polars")
    _let_go()
    for owner in list(_renewables):
        owner.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
