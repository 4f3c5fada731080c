"""How long ``import ffai`` takes, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import Figure

_PROGRAM = "import time; start = time.perf_counter(); import ffai; print(time.perf_counter() - start)"


def figures() -> Iterator[Figure]:
    """Measure five imports and take the median."""
    command = [sys.executable, "-c", _PROGRAM]
    seconds = sorted(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(5))
    yield Figure("import ffai", seconds[2], "s", 0.25)
