"""A process that is killed at any moment: every turn it accepted is there at the next start, once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ffai.core.memory import FlushResult, Memory
from ffai.testing import FakeEmbedder

ROOT = Path(__file__).parents[2]

REMEMBER = """
import sys
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

folder, delay = sys.argv[1], float(sys.argv[2])
memory = Memory(FakeEmbedder(16, delay=delay))
memory.persist_to(folder)
number = 0
while True:
    turn_id = memory.remember(f"turn {number}", "x" * 300)
    print(turn_id, flush=True)
    if number % 7 == 0:
        memory.flush(0.02)
    number += 1
"""


def accepted_before_the_kill(folder: Path, turns: int, delay: float) -> list[str]:
    """Let a process remember turns, kill it at once after so many, and give the ids of all it told about."""
    child = subprocess.Popen(
        [sys.executable, "-c", REMEMBER, str(folder), str(delay)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout
    told = [child.stdout.readline().strip() for _ in range(turns)]
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().splitlines()
    child.wait()
    assert child.returncode == -signal.SIGKILL
    whole = [line for line in rest if len(line) == 32]
    return [*told, *whole]


def kept(folder: Path) -> list[str]:
    """Open the folder, index what waits, and give the ids of all turns."""
    memory = Memory(FakeEmbedder(16))
    memory.persist_to(folder)
    assert memory.flush(30).pending == 0
    ids = [hit.turn_id for hit in memory.search("turn", top_k=10**6)]
    assert memory.status().notes == ()
    assert memory.status().problem is None
    memory.remember("one more", "so that the file is written")
    memory.close()
    assert not [path.name for path in folder.iterdir() if path.suffix == ".tmp" or "damaged" in path.name]
    return ids


@pytest.mark.parametrize("delay", [0.0, 0.05], ids=["a quick model", "a slow model"])
def test_no_accepted_turn_is_lost_or_doubled(tmp_path: Path, delay: float) -> None:
    moments = random.Random(20)
    accepted: list[str] = []
    for turns in (1, moments.randint(2, 30), moments.randint(30, 80)):
        accepted += accepted_before_the_kill(tmp_path, turns, delay)
    ids = kept(tmp_path)
    assert len(ids) == len(set(ids))
    assert set(accepted) <= set(ids)


def test_a_model_change_that_is_killed_is_finished_by_the_next_start(tmp_path: Path) -> None:
    memory = Memory(FakeEmbedder(16))
    memory.persist_to(tmp_path)
    for number in range(200):
        memory.remember(f"old {number}", "x")
    assert memory.close(30) == FlushResult(200, 0, 0)
    code = f"""
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

memory = Memory(FakeEmbedder(32, model="fake/other", delay=0.05))
memory.persist_to({str(tmp_path)!r})
while memory.count() < 60:
    pass
print("half", flush=True)
memory.flush()
print("all", flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert child.stdout
    assert child.stdout.readline() == "half\n"
    child.kill()
    child.wait()
    again = Memory(FakeEmbedder(32, model="fake/other"))
    again.persist_to(tmp_path)
    assert again.flush(30) == FlushResult(200, 0, 0)
    assert len({entry.text for entry in again.store.iter_entries()}) == 200
    assert {len(entry.embedding) for entry in again.store.iter_entries()} == {32}
    again.close()
