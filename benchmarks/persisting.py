"""What a turn costs from being accepted to being in the memory file, in a small collection and in a large one.

The file is written anew when the journal has grown by a tenth of it. So that each collection pays for its file as often
as it does in use, it takes a tenth more turns, and is flushed once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.stored import Ready, a_turn, store_turns
from ffai import Memory

SMALL, LARGE, ROUNDS = 1_000, 100_000, 9


def figures() -> Iterator[Figure]:
    """Compare the cost of a turn, by the clock and in the processors' time."""
    small = [_cost(SMALL) for _ in range(ROUNDS)]
    large = _cost(LARGE)
    for place, clock in enumerate(("", ", processors' time")):
        usual = sorted(cost[place] for cost in small)[ROUNDS // 2]
        yield Figure(f"persisting a turn at {LARGE:,} turns over {SMALL:,}{clock}", large[place] / usual, "x", 1.5)


def _cost(stored: int) -> tuple[float, float]:
    """Return seconds for a turn: by the clock, and of the processors."""
    random = np.random.default_rng(stored)
    texts = [a_turn(random, number).text.partition("\n") for number in range(stored // 10)]
    with tempfile.TemporaryDirectory() as folder:
        store_turns(Path(folder), stored)
        memory = Memory(Ready())
        memory.persist_to(folder)
        began, used = time.perf_counter(), time.process_time()
        for prompt, _, response in texts:
            memory.remember(prompt, response)
        memory.flush()
        cost = time.perf_counter() - began, time.process_time() - used
        memory.close()
    return cost[0] / len(texts), cost[1] / len(texts)
