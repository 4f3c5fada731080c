"""How long a program waits for its memory: from opening a collection to the first vector search.

Run with a folder, it opens the collection there once and prints the seconds; each opening has a fresh process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stored import Ready, store_turns
from ffai import Memory

TURNS, ROUNDS = 100_000, 3


def figures() -> Iterator[Figure]:
    """Open the same files several times; the quickest one is what the others were kept from by other programs."""
    with tempfile.TemporaryDirectory() as folder:
        store_turns(Path(folder), TURNS)
        rounds = [_in_a_fresh_process(folder) for _ in range(ROUNDS)]
    wall, processor = (min(column) for column in zip(*rounds, strict=True))
    yield Figure(f"opening {TURNS:,} turns to the first vector search", wall, "s", 2.0)
    yield Figure(f"opening {TURNS:,} turns, time of both processors together", processor, "s", 4.0)


def _in_a_fresh_process(folder: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.opening", folder]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, processor = told.split()
    return float(wall), float(processor)


def open_and_search(folder: str) -> Memory:
    """Open a collection and search it once."""
    memory = Memory(Ready())
    memory.persist_to(folder)
    hits = memory.search("how do i move the table", top_k=10)
    assert len(hits) == 10, "the turns are not there"
    return memory


if __name__ == "__main__":
    began, used = time.perf_counter(), time.process_time()
    open_and_search(sys.argv[1])
    print(time.perf_counter() - began, time.process_time() - used)
