"""A process that is killed right after it learned something: it is there at the next start."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

ROOT = Path(__file__).parents[2]

LEARN = """
import sys
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

folder, start, delay = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
memory = Memory(FakeEmbedder(16, delay=delay))
memory.persist_to(folder)
number = start
while True:
    memory.knowledge.learn(f"key {number}", f"Fact {number} " + "x" * 300)
    memory.threads.add([("user", f"question {number}"), ("assistant", f"answer {number}")], keep=10**6)
    print(number, flush=True)
    if number % 5 == 0:
        memory.knowledge.search("fact", wait=0.01)
    number += 1
"""


def learned_before_the_kill(folder: Path, start: int, count: int, delay: float) -> int:
    """Let a process learn, kill it at once after so much, and give the number of the last that it told about."""
    child = subprocess.Popen(
        [sys.executable, "-c", LEARN, str(folder), str(start), str(delay)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout
    told = [child.stdout.readline() for _ in range(count)]
    child.send_signal(signal.SIGKILL)
    told += child.stdout.read().splitlines(keepends=True)
    child.wait()
    assert child.returncode == -signal.SIGKILL
    return max(int(line) for line in told if line.endswith("\n"))


@pytest.mark.parametrize("delay", [0.0, 0.05], ids=["a quick model", "a slow model"])
def test_what_was_learned_and_said_is_there_once(tmp_path: Path, delay: float) -> None:
    moments, last = random.Random(4), -1
    for count in (1, moments.randint(2, 20), moments.randint(20, 60)):
        last = learned_before_the_kill(tmp_path, last + 1, count, delay)
    memory = Memory(FakeEmbedder(16))
    memory.persist_to(tmp_path)
    memory.flush(30)
    keys = [known.key for known in memory.knowledge.list()]
    assert len(keys) == len(set(keys))
    assert {f"key {number}" for number in range(last + 1)} <= set(keys)
    said = [message.content for message in memory.threads.history()]
    assert len(said) == len(set(said))
    assert {f"answer {number}" for number in range(last + 1)} <= set(said)
    assert [text.replace("question", "answer") for text in said[::2]] == said[1::2]
    assert len(memory.knowledge.search("fact", 10**4, mode="vector", wait=None)) == len(keys)
    assert (memory.status().knowledge_pending, memory.status().notes, memory.status().problem) == (0, (), None)
    memory.close()
