"""Threads, event loops, processes: what users of such libraries report, kinds 6 and 11."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

ROOT = Path(__file__).parents[2]


def threads_of_ffai() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ffai")]


def gone_soon(threads: list[threading.Thread]) -> bool:
    deadline = time.monotonic() + 5
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def test_after_close_no_thread_is_left_also_where_the_memory_was_given(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    for persist in (False, True):
        for _ in range(20):
            with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=persist, config=config) as ffai:
                ffai.generate_response("Where is the key?")
                assert len(ffai.history.search("the key")) == 1

    assert gone_soon(threads_of_ffai())


def test_a_memory_that_was_given_goes_on_after_the_ffai_is_closed() -> None:
    memory = Memory(FakeEmbedder())
    for number in range(3):
        with FFAI(FakeClient(), memory=memory) as ffai:
            ffai.generate_response(f"question {number}")

    memory.remember("question 3", "yes")
    assert memory.flush().indexed == 4


FORGETFUL = """
import gc
from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder

def talk(**keywords):
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()), config={"memory": {"persist_dir": FOLDER}}, **keywords)
    ffai.generate_response("Where is the key?")
    ffai.flush()
    next(ffai.stream_response("Where is the cat?"))

for persist in (False, True):
    talk(memory_persist=persist)
    gc.collect()
"""


def test_one_who_forgets_to_close_gets_no_warning_even_as_an_error(tmp_path: Path) -> None:
    program = FORGETFUL.replace("FOLDER", repr(str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
