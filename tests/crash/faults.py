"""Faults at chosen calls: a full disk, a folder that may not be changed, a disk that breaks, a process that dies.

They are made below Python, SQLite and polars: a small library, loaded before the C library, that answers their calls.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("faults.c")

OPENS, WRITES, SYNCS, RENAMES, REMOVES, MAKES_FOLDERS = (1 << bit for bit in range(6))
EVERYTHING = OPENS | WRITES | SYNCS | RENAMES | REMOVES | MAKES_FOLDERS
FOR_EVER = 2**40

needs_a_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="faults are made by a library that cc builds on Linux"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with calls that change files."""

    kinds: int
    """The kinds of calls that it concerns; only these are counted."""
    error: int
    """The error number; 0 kills the process."""


FULL = Fault(OPENS | WRITES | RENAMES | MAKES_FOLDERS, errno.ENOSPC)
FORBIDDEN = Fault(OPENS | RENAMES | REMOVES | MAKES_FOLDERS, errno.EACCES)
BROKEN = Fault(EVERYTHING & ~OPENS, errno.EIO)
DEATH = Fault(EVERYTHING, 0)
FAULTS = {"a full disk": FULL, "no permission": FORBIDDEN, "a broken disk": BROKEN}


@functools.cache
def library() -> Path:
    """Build the library, once for a test run."""
    built = Path(tempfile.mkdtemp(prefix="ffai-faults-")) / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", built, SOURCE, "-ldl"], check=True)
    return built


def with_faults() -> dict[str, str]:
    """Give the environment of a process in which faults can be made."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(library())}


def arm(folder: Path, fault: Fault, first: int = FOR_EVER, last: int = FOR_EVER) -> None:
    """Let the calls of these numbers, counted from 1 and from now on, go wrong; only those that concern a folder."""
    ctypes.CDLL(None).faults_arm(
        os.fsencode(folder), ctypes.c_long(first), ctypes.c_long(last), fault.kinds, fault.error
    )


def disarm() -> None:
    """Let everything work again."""
    ctypes.CDLL(None).faults_disarm()


def calls() -> int:
    """Count the calls that could have gone wrong."""
    return _number("faults_calls")


def failed() -> int:
    """Count the calls that went wrong."""
    return _number("faults_failed")


def _number(name: str) -> int:
    function = ctypes.CDLL(None)[name]
    function.restype = ctypes.c_long
    return int(function())
