"""Run every benchmark and print what it measured."""

from __future__ import annotations

import sys

from benchmarks import (
    calling_thread,
    embedding,
    footprint,
    growth,
    importing,
    opening,
    persisting,
    scoped_search,
    search,
)
from benchmarks.figures import show

if __name__ == "__main__":
    missed = sum(
        show(part.figures())
        for part in (
            importing,
            growth,
            calling_thread,
            search,
            scoped_search,
            embedding,
            opening,
            footprint,
            persisting,
        )
    )
    print(f"{missed} figures missed their target." if missed else "All figures reached their target.")
    sys.exit(missed > 0)
