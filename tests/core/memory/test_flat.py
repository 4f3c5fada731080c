"""Two thousand turns and fifty times opened and closed: threads, file handles and memory stay as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MB = 2**20

CYCLES = """
import ctypes, gc, json, os, sys, threading
import psutil
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

def used():
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed is given back
    except (AttributeError, OSError, TypeError):
        pass
    process = psutil.Process()
    return threading.active_count(), process.num_fds(), process.memory_info().rss

looks = []
for cycle in range(50):
    memory = Memory(FakeEmbedder(64))
    memory.persist_to(sys.argv[1])
    for number in range(80 if cycle < 25 else 0):  # from then on nothing has a reason to grow
        memory.remember(f"cycle {cycle} turn {number}", "x" * 500)
    assert len(memory.search(f"cycle {cycle}", top_k=3)) == 3
    assert memory.close(60).pending == 0
    assert memory.count() == 80 * min(25, cycle + 1)
    del memory
    looks.append(used())
print(json.dumps(looks))
"""


def test_nothing_is_used_up(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CYCLES, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=110, check=True
    )
    threads, handles, memory = zip(*json.loads(done.stdout), strict=True)
    assert threads[-1] == threads[10]
    assert handles[-1] == handles[10]
    assert memory[-1] - memory[25] < 10 * MB
