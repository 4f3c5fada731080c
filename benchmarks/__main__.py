"""Measure, print and write down.

Run: ``python -m benchmarks`` for all parts, ``python -m benchmarks search rivals`` for some.
"""

from __future__ import annotations

import sys

from benchmarks import (
    calling_thread,
    embedding,
    footprint,
    growth,
    hybrid,
    importing,
    objects,
    opening,
    persisting,
    rivals,
    scoped_search,
    search,
)
from benchmarks.figures import show
from benchmarks.report import write_report
from benchmarks.results import load, recorded, save

PARTS = (
    importing,
    growth,
    calling_thread,
    search,
    scoped_search,
    hybrid,
    embedding,
    opening,
    footprint,
    persisting,
    objects,
    rivals,
)


def main(names: list[str]) -> int:
    """Run the parts with these names, or all; return how many figures missed their target."""
    parts = {part.__name__.rpartition(".")[2]: part for part in PARTS}
    if unknown := [name for name in names if name not in parts]:
        sys.exit(f"No part is called {unknown[0]!r}. There are: {', '.join(parts)}.")
    missed = 0
    for name in names or parts:
        lines = show(parts[name].figures())
        missed += sum(line.missed for line in lines)
        save(recorded(load(), name, lines))
        write_report(load())
    return missed


if __name__ == "__main__":
    missed = main(sys.argv[1:])
    print(f"{missed} figures missed their target." if missed else "All figures reached their target.")
    sys.exit(missed > 0)
