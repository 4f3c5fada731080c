"""Doing something in a fresh interpreter: in a process that was forked, polars would wait for ever for its threads."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from ffai._fork import has_lost_polars
from ffai.errors import StoreError

P = ParamSpec("P")
R = TypeVar("R")

LONGEST = 120.0
"""Seconds that it may take."""
_PROGRAM = """
import pickle, sys
told, sys.stdout = sys.stdout.buffer, sys.stderr
sys.path[:] = pickle.load(sys.stdin.buffer)
work, args, kwargs = pickle.load(sys.stdin.buffer)
try:
    answer = work(*args, **kwargs), None
except Exception as error:
    answer = None, error
pickle.dump(answer, told, protocol=5)
"""


def with_polars(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function that uses polars: here, or where this process can't, in a fresh interpreter; see `elsewhere`.

    Examples:
        >>> with_polars(len, "abc")
        3
    """
    return elsewhere(work, *args, **kwargs) if has_lost_polars() else work(*args, **kwargs)


def elsewhere(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of a module in a fresh interpreter.

    Args:
        work: a function that can be imported.
        *args: its arguments; they and what it returns can be pickled.
        **kwargs: its arguments by name.

    Raises:
        StoreError: there is no interpreter to be had, or it failed.
        Exception: whatever the function raises.

    Examples:
        >>> import math
        >>> elsewhere(math.sqrt, 4.0)
        2.0
    """
    if not _is_python(sys.executable):
        raise StoreError(f"No fresh Python interpreter can be started: sys.executable is {sys.executable!r}.")
    request = pickle.dumps(sys.path) + pickle.dumps((work, args, kwargs), protocol=5)
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, and a program of ours
            [sys.executable, "-c", _PROGRAM], input=request, stdout=subprocess.PIPE, timeout=LONGEST, check=True
        )
        result, error = pickle.loads(done.stdout)  # noqa: S301 - what our own program wrote
    except (OSError, subprocess.SubprocessError, EOFError, pickle.UnpicklingError) as problem:
        raise StoreError(f"A fresh Python interpreter failed: {problem}") from problem
    if error is not None:
        raise error
    answer: R = result
    return answer


def _is_python(executable: str | None) -> bool:
    """Tell whether a program is Python itself, not one that Python is built into."""
    return not getattr(sys, "frozen", False) and "py" in Path(executable or "").name.lower()
