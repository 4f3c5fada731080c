"""Our store beside other ways to find the closest vectors, each in an environment and a process of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rivals.contest import Contest, Row
from benchmarks.rivals.engines.serve import TOP_K
from benchmarks.rivals.environment import BUILD
from benchmarks.rivals.process import EngineProcess
from benchmarks.rivals.rival import OURS, RIVALS
from benchmarks.vectors import Truth, write_vectors

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def sizes() -> tuple[int, ...]:
    """Return the sizes to measure: all, or those in the variable ``BENCH_SIZES``, as in ``1000,10000``."""
    chosen = os.environ.get("BENCH_SIZES", "")
    return tuple(sorted(int(size) for size in chosen.split(","))) if chosen else SIZES


def figures() -> Iterator[Row]:
    """Measure every rival at every size, small sizes first: they tell which rival is too slow for the next."""
    latest: dict[str, Row] = {}
    for size in sizes():
        for row in _at(size, latest):
            latest[row.rival] = row
            yield row


def _at(size: int, smaller: dict[str, Row]) -> Iterator[Row]:
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        files = write_vectors(Path(folder), size, kept=BUILD)
        truth = Truth(files, TOP_K)
        with EngineProcess(OURS, files) as ours:
            add_s = ours.add()
            contest = Contest(ours, files, size, truth)
            yield contest.own_row(OURS, add_s)
            for rival in RIVALS:
                yield contest.against(rival, smaller.get(rival.name))
