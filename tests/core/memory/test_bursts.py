"""More turns than the embedder can take: they wait on disk, are counted, and a server that asks for a pause gets it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import FlushResult, Memory
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener

ROOT = Path(__file__).parents[3]
MB = 2**20


class LimitError(Exception):
    """What a provider's library raises for a rate limit."""

    status_code = 429

    def __init__(self, retry_after: float) -> None:
        super().__init__("slow down")
        self.retry_after = retry_after


class Limited(FakeEmbedder):
    """A server that takes one call in so many seconds, and counts the calls that came too early.

    Args:
        pause: seconds.
    """

    def __init__(self, pause: float) -> None:
        super().__init__(384)
        self.pause = pause
        self.next_at = 0.0
        self.too_early = 0

    def embed(self, texts: list[str]) -> Any:
        if (left := self.next_at - time.monotonic()) > 0:
            self.too_early += 1
            self.calls.append(texts)
            raise LimitError(left)
        self.next_at = time.monotonic() + self.pause
        return super().embed(texts)


def remember(memory: Memory, count: int) -> None:
    for number in range(count):
        memory.remember(f"turn {number}", "x")


def until(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at


def test_a_server_that_asks_for_a_long_pause_is_left_alone(opened: Opener, tmp_path: Path) -> None:
    embedder = Limited(1000.0)
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    remember(memory, 200)
    embedder.gate.set()
    result = memory.flush(60)
    assert result.indexed <= 32
    assert sum((result.indexed, result.pending, result.failed)) == 200
    remember(memory, 20)
    assert memory.flush(60).indexed == result.indexed
    assert embedder.too_early == 1
    status = memory.status()
    assert status.pending >= 220 - 64
    assert "slow down" in str(status.problem)
    assert status.oldest_pending is not None

    embedder.next_at, embedder.pause = 0.0, 0.0
    memory.retry_failed()
    assert memory.flush(60) == FlushResult(220, 0, 0)
    assert memory.status().problem is None


def test_a_server_that_takes_few_calls_gets_through_all_turns_and_none_fails(opened: Opener, tmp_path: Path) -> None:
    embedder = Limited(0.05)
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    remember(memory, 500)
    embedder.gate.set()
    until(lambda: memory.flush(60) == FlushResult(500, 0, 0))
    assert all(turn.attempts < 3 for turn in memory.status().failed)
    assert embedder.too_early <= len(embedder.calls) / 2 + 1


def test_status_tells_how_many_wait_and_for_how_long(opened: Opener, tmp_path: Path) -> None:
    embedder = FakeEmbedder(16)
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    began = time.time()
    remember(memory, 100)
    first = memory.status()
    assert (first.pending, first.not_durable) == (100, 0)
    assert first.oldest_pending is not None
    assert 0.0 <= first.oldest_pending <= time.time() - began
    until(lambda: (memory.status().oldest_pending or 0.0) > first.oldest_pending)
    embedder.gate.set()
    memory.flush()
    last = memory.status()
    assert (last.pending, last.oldest_pending) == (0, None)


BURST = """
import json, os, sys
import psutil
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

folder, turns, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
embedder = FakeEmbedder(384)
memory = Memory(embedder)
memory.persist_to(folder)
memory.remember("first", "x")
memory.flush()
base = psutil.Process().memory_info().rss
embedder.gate.clear()
most = base  # the highest that the system noted is that of the program which started this one
for number in range(turns):
    memory.remember(f"turn {number}", os.urandom(size // 2).hex())
    if number % 10 == 0:
        most = max(most, psutil.Process().memory_info().rss)
status = memory.status()
told = {
    "grown": most - base, "pending": status.pending, "oldest": status.oldest_pending, "lost": status.not_durable,
    "problem": status.problem,
}
print(json.dumps(told), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("turns", "size", "limit"),
    [
        pytest.param(2500, 40_000, 80 * MB, id="twenty-five hundred turns of 40 kB"),
        pytest.param(10_000, 40_000, 200 * MB, id="ten thousand turns of 40 kB", marks=pytest.mark.long),
    ],
)
def test_a_burst_waits_on_disk_not_in_memory(opened: Opener, tmp_path: Path, turns: int, size: int, limit: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BURST, str(tmp_path), str(turns), str(size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["grown"] < limit
    assert (told["pending"], told["lost"], told["problem"]) == (turns, 0, None)
    assert told["oldest"] > 0.0
    busy = Limited(3600.0)
    busy.next_at = time.monotonic() + 3600.0
    status = opened(tmp_path, busy).status()
    assert status.pending + len(status.failed) == turns
