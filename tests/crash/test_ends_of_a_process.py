"""However a process ends, it ends soon, quietly, and the next one has every turn once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

ROOT = Path(__file__).parents[2]
TURNS = 5
SOON = 6.0

START = """
import asyncio, signal, sys, threading
from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

ffai = FFAI(
    FakeClient(),
    memory=Memory(FakeEmbedder(delay=1.0)),
    memory_persist={persist},
    config={{"memory": {{"persist_dir": {folder!r}}}}},
)
"""
ASK = f"""
for number in range({TURNS}):
    ffai.generate_response(f"question {{number}}")
print("accepted", flush=True)
"""
AASK = f"""
async def main():
    for number in range({TURNS}):
        await ffai.agenerate_response(f"question {{number}}")
    print("accepted", flush=True)
asyncio.run(main())
"""
ENDS = {
    "normally, without close": ASK,
    "with close": ASK + "ffai.close()\n",
    "with an exception": ASK + "raise RuntimeError('of the program')\n",
    "when asyncio.run returns": AASK,
    "with sys.exit in a thread": ASK + "thread = threading.Thread(target=sys.exit); thread.start(); thread.join()\n",
    "with sys.exit": ASK + "sys.exit(0)\n",
    "by SIGTERM": ASK + "signal.pause()\n",
    "by SIGINT": ASK + "signal.pause()\n",
    "by SIGKILL": ASK + "signal.pause()\n",
}
SIGNALS = {"by SIGTERM": signal.SIGTERM, "by SIGINT": signal.SIGINT, "by SIGKILL": signal.SIGKILL}


def run(end: str, folder: Path, *, persist: bool) -> tuple[float, str]:
    """Run a program to its end; return the seconds from the last turn on, and what it wrote to stderr."""
    program = START.format(persist=persist, folder=str(folder)) + ENDS[end]
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "accepted\n", process.communicate()[1]
    accepted = time.monotonic()
    if end in SIGNALS:
        process.send_signal(SIGNALS[end])
    told = process.communicate(timeout=30)[1]
    return time.monotonic() - accepted, told


def assert_quiet(end: str, told: str) -> None:
    ours = [line for line in told.splitlines() if "/ffai/" in line]
    assert not ours, told
    if end not in ("with an exception", "by SIGINT"):
        assert "Traceback" not in told, told


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_loses_no_turn(end: str, tmp_path: Path) -> None:
    seconds, told = run(end, tmp_path, persist=True)

    assert seconds <= SOON
    assert_quiet(end, told)
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config) as ffai:
        ffai.flush()
        asked = sorted(entry.text.splitlines()[0] for entry in ffai.memory.store.iter_entries())
        assert asked == [f"question {number}" for number in range(TURNS)]


@pytest.mark.parametrize("end", ENDS)
def test_a_process_without_persistence_ends_as_soon_and_writes_nothing(end: str, tmp_path: Path) -> None:
    seconds, told = run(end, tmp_path, persist=False)

    assert seconds <= SOON
    assert_quiet(end, told)
    assert list(tmp_path.iterdir()) == []
