"""Replacing a file so that a reader, or a crash, sees the old one or the new one and nothing between."""

from __future__ import annotations

import contextlib
import glob
import os
import threading
from collections.abc import Callable
from pathlib import Path


def replace_file(path: Path, write: Callable[[Path], object], *, backup: Path | None = None) -> None:
    """Write a file beside ``path`` and put it in its place.

    Args:
        path: the file to make or replace; its folder is made if it is missing.
        write: writes the whole content to the path it is given.
        backup: where the file that is replaced is kept; ``path`` itself is never missing meanwhile.

    Raises:
        OSError: the folder can't be written, or the disk is full; ``path`` is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(path)
    try:
        write(beside)
        _sync(beside)
        if backup is not None and path.exists():
            _keep(path, backup)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)  # it is still there only where something failed
    _sync(path.parent)


def remove_unfinished(*paths: Path) -> None:
    """Remove what is left of writing files where that was broken off. Nobody may be writing them just now."""
    for path in paths:
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            with contextlib.suppress(OSError):
                left.unlink()


def _beside(path: Path) -> Path:
    """Name a file that no other thread or process writes."""
    return path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")


def _keep(path: Path, backup: Path) -> None:
    """Make ``backup`` a second name of the file; a copy where the disk has no hard links."""
    link = _beside(backup)
    link.unlink(missing_ok=True)
    try:
        try:
            os.link(path, link)
        except OSError:
            link.write_bytes(path.read_bytes())
            _sync(link)
        os.replace(link, backup)
    finally:
        with contextlib.suppress(OSError):
            link.unlink(missing_ok=True)  # where both are names of one file already, replacing leaves both


def _sync(path: Path) -> None:
    """Wait until the file's, or the folder's, content is on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows has no handle for a folder's entries
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
