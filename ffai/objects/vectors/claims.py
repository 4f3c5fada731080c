"""Who works on a job: a claim holds as long as its work goes on, and no longer than its process lives."""

from __future__ import annotations

import contextlib
import socket
import uuid
from collections.abc import Iterator

from ffai.core.memory.owner import lives, this_process

LEASE = 120.0
"""Seconds a claim of another host holds: longer than a model takes for one call."""

_held: set[str] = set()


@contextlib.contextmanager
def claiming() -> Iterator[str]:
    """Give the name of a claim; it is given up at the end, whatever happened.

    Examples:
        >>> with claiming() as name:
        ...     given_up(name)
        False
        >>> given_up(name)
        True
    """
    name = f"{_host()}|{this_process()}|{uuid.uuid4().hex[:12]}"
    _held.add(name)
    try:
        yield name
    finally:
        _held.discard(name)


def given_up(name: str) -> bool:
    """Tell whether nobody works under a claim any more, as far as can be told from here."""
    host, _, rest = name.partition("|")
    process, _, _ = rest.partition("|")
    if host != _host():
        return False  # its lease tells
    return name not in _held if process == this_process() else not lives(process)


def held_here() -> list[str]:
    """Return the claims that work goes on under in this process.

    Examples:
        >>> with claiming() as name:
        ...     held_here() == [name]
        True
    """
    return list(_held)


def _host() -> str:
    return socket.gethostname().replace("|", "_")[:150]
