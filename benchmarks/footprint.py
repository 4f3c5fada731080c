"""How much memory a stored turn takes: what a process grows by, over the turns it opens or is told.

Run with two folders, a number and a mode, it opens the collection of the second, takes so many new turns, searches in
that mode, and prints the bytes it grew by.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.opening import open_and_search
from benchmarks.stored import a_turn, store_turns
from ffai.core.memory.question import Mode

OPENED, TOLD = 100_000, 20_000
FEW = 100
"""Turns of a collection that is opened before counting, so that only turns are counted."""


def figures() -> Iterator[Figure]:
    """Count for turns that come from a file, and for turns that are remembered one by one."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        for place, count in ((few, FEW), (many, OPENED)):
            place.mkdir()
            store_turns(place, count)
        opened = _grown(few, many, 0) / OPENED / 1024
        yield Figure(f"memory for a stored turn, {OPENED:,} opened from a file", opened, "KiB", 4.0)
        told = _grown(few, few, TOLD) / TOLD / 1024
        yield Figure(f"memory for a stored turn, {TOLD:,} remembered", told, "KiB", 4.0)
        _grown(few, many, 0, "hybrid")  # makes words and vectors of all messages; those that are kept count
        hybrid = _grown(few, many, 0, "hybrid") / OPENED / 1024
        yield Figure(f"memory for a stored turn, {OPENED:,} opened and searched by words too", hybrid, "KiB", 6.0)


def _grown(first: Path, second: Path, told: int, mode: str = "vector") -> int:
    command = [sys.executable, "-m", "benchmarks.footprint", str(first), str(second), str(told), mode]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _settled() -> int:
    """Return the resident bytes; polars gives back what it has freed only some seconds later."""
    gc.collect()
    looks = []
    for _ in range(10):
        looks.append(_resident())
        time.sleep(0.5)
    return min(looks)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _measure(first: str, second: str, told: int, mode: Mode) -> int:
    """Return the bytes that the process grows by, once it has loaded what every collection needs."""
    memory = open_and_search(first)
    if first != second:
        memory.close()
    before = _settled()
    if first != second:
        memory = open_and_search(second)
    random = np.random.default_rng(9)
    for number in range(told):
        turn = a_turn(random, number)
        prompt, _, response = turn.text.partition("\n")
        memory.remember(prompt, response)
    memory.flush()
    memory.search("how do i move the table", mode=mode, wait=None)
    grown = _settled() - before
    memory.close()
    return grown


if __name__ == "__main__":
    asked: Mode = "hybrid" if sys.argv[4] == "hybrid" else "vector"
    print(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), asked))
