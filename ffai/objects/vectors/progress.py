"""How far a long piece of work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TextIO

WIDTH = 30
EVERY = 0.1
"""Seconds between two drawings."""


class Progress(NamedTuple):
    """How many of how many are done.

    Examples:
        >>> completed, total = Progress(3, 10)
        >>> completed, total
        (3, 10)
    """

    completed: int
    total: int


OnProgress = Callable[[Progress], None]


class Bar:
    r"""Draws progress as a bar, on one line.

    Examples:
        >>> import io
        >>> out = io.StringIO()
        >>> Bar("notes", out)(Progress(10, 10))
        >>> out.getvalue()
        '\rnotes [##############################] 10/10\n'
    """

    def __init__(self, name: str, out: TextIO) -> None:
        self._name, self._out, self._drawn_at = name, out, 0.0

    def __call__(self, progress: Progress) -> None:
        """Draw it, unless it was drawn just now."""
        completed, total = progress
        ended, now = completed >= total, time.monotonic()
        if ended or now - self._drawn_at >= EVERY:
            self._drawn_at = now
            full = WIDTH * completed // max(total, 1)
            line = f"\r{self._name} [{'#' * full}{'.' * (WIDTH - full)}] {completed}/{total}"
            self._out.write(line + ("\n" if ended else ""))
            self._out.flush()


def shown_by(on_progress: OnProgress | None, name: str) -> OnProgress:
    """Return what is told of progress: the caller's own, else a bar where somebody looks at a terminal."""
    if on_progress is not None:
        return on_progress
    watched = sys.stderr is not None and sys.stderr.isatty()
    return Bar(name, sys.stderr) if watched else _nobody


def _nobody(_: Progress) -> None:
    """Tell nobody."""
