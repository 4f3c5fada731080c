"""Which process a turn waits for, and whether that process still lives."""

from __future__ import annotations

import os

SLACK = 2.0
"""Seconds. The start of a process is told by a clock that is put right now and then."""

_mine: dict[int, str] = {}


def this_process() -> str:
    """Return what this process is called in a journal: its id, and when it started, since ids are used again.

    Examples:
        >>> lives(this_process()), lives("0:0.0")
        (True, False)
    """
    pid = os.getpid()
    if pid not in _mine:  # it was forked, or nobody asked yet
        _mine.clear()
        _mine[pid] = f"{pid}:{_started(pid)}"
    return _mine[pid]


def lives(owner: str) -> bool:
    """Tell whether a process lives, by what it is called in a journal."""
    pid, _, started = owner.partition(":")
    found = _started(int(pid)) if pid.isdigit() else None
    return found is not None and abs(found - float(started)) < SLACK


def _started(pid: int) -> float | None:
    """Return when a process started, in seconds since the epoch; ``None`` where there is none."""
    import psutil  # loading it takes as long as opening a journal: not for those who keep nothing

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None
