"""Turns that were said to be saved and are gone: what users of such libraries report, kind 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ffai import FFAI, Memory
from ffai.core.memory import FlushResult
from ffai.testing import AsyncFakeClient, FakeClient, FakeEmbedder

ROOT = Path(__file__).parents[2]


def questions(folder: Path) -> list[str]:
    """Open a folder anew and return what was asked, each as often as it is there."""
    config = {"memory": {"persist_dir": str(folder)}}
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config) as ffai:
        ffai.flush()
        assert ffai.memory is not None
        return sorted(entry.text.partition("\n")[0] for entry in ffai.memory.store.iter_entries())


async def test_the_async_way_out_waits_for_the_last_turns_as_the_sync_one_does(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    memory = Memory(FakeEmbedder(delay=0.3))
    ffai = FFAI(AsyncFakeClient(), memory=memory, memory_persist=True, config=config)
    for number in range(3):
        await ffai.agenerate_response(f"question {number}")

    assert await ffai.aclose() == FlushResult(indexed=3, pending=0, failed=0)
    assert questions(tmp_path) == ["question 0", "question 1", "question 2"]


def run(program: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


LAST_WORDS = """
import atexit, sys

@atexit.register
def say_goodbye():
    ffai.generate_response("question 1")

from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

config = {"memory": {"persist_dir": sys.argv[1]}}
ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder(delay=0.2)), memory_persist=True, config=config)
ffai.generate_response("question 0")
"""


def test_a_turn_that_is_said_while_the_interpreter_ends_is_kept(tmp_path: Path) -> None:
    run(LAST_WORDS, tmp_path)

    assert questions(tmp_path) == ["question 0", "question 1"]


FIRST_AND_LAST_WORDS = """
import atexit, sys

@atexit.register
def say_all():
    from ffai import FFAI, Memory
    from ffai.testing import FakeClient, FakeEmbedder

    config = {"memory": {"persist_dir": sys.argv[1]}}
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config)
    ffai.generate_response("question 0")
    ffai.history.search("question")
    ffai.flush(5)
    ffai.close()
"""


def test_ffai_can_be_made_while_the_interpreter_ends(tmp_path: Path) -> None:
    run(FIRST_AND_LAST_WORDS, tmp_path)

    assert questions(tmp_path) == ["question 0"]


IN_A_THREAD_THAT_OUTLIVES_THE_MAIN_ONE = """
import sys, threading
from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

config = {"memory": {"persist_dir": sys.argv[1]}}
ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config)

def talk():
    threading.main_thread().join()
    for number in range(3):
        ffai.generate_response(f"question {number}")
        ffai.history.search("question")

threading.Thread(target=talk).start()
"""


def test_a_thread_may_talk_on_after_the_main_one_has_ended(tmp_path: Path) -> None:
    run(IN_A_THREAD_THAT_OUTLIVES_THE_MAIN_ONE, tmp_path)

    assert questions(tmp_path) == ["question 0", "question 1", "question 2"]
