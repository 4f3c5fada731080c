"""Timing, and a table of what was measured beside what it should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar


class Line(Protocol):
    """What a part of the benchmarks yields: a dataclass that prints as a line and may miss a target."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def missed(self) -> bool: ...


@dataclass(frozen=True)
class Figure:
    """One measured number and the target it has."""

    what: str
    value: float
    unit: str
    target: float

    @property
    def missed(self) -> bool:
        return self.value > self.target

    def __str__(self) -> str:
        mark = "MISSED" if self.missed else "ok"
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


L = TypeVar("L", bound=Line)


def show(lines: Iterable[L]) -> list[L]:
    """Print each line as it is measured; return all."""
    shown = []
    for line in lines:
        print(line, flush=True)
        shown.append(line)
    return shown
