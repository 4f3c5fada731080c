"""Timing, and a table of what was measured beside what it should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number and the target it has."""

    what: str
    value: float
    unit: str
    target: float

    def __str__(self) -> str:
        mark = "ok" if self.value <= self.target else "MISSED"
        return f"{self.what:<72} {self.value:>10.3g} {self.unit:<3} (at most {self.target:g})  {mark}"


def latencies(call: Callable[[int], object], times: int) -> list[float]:
    """Return the sorted durations of a call, in microseconds."""
    durations = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        durations.append((time.perf_counter() - start) * 1e6)
    return sorted(durations)


def quantile(durations: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted durations lies."""
    return durations[min(len(durations) - 1, int(len(durations) * share))]


def show(figures: Iterable[Figure]) -> int:
    """Print a line a figure as it is measured; return how many missed their target."""
    missed = 0
    for figure in figures:
        print(figure, flush=True)
        missed += figure.value > figure.target
    return missed
