"""Threads, event loops, processes: what users of such libraries report, kinds 6 and 11."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ffai import FFAI, Memory
from ffai.core.memory import FlushResult
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
    config, before = {"memory": {"persist_dir": str(tmp_path)}}, threads_of_ffai()
    for persist in (False, True):
        for _ in range(20):
            with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=persist, config=config) as ffai:
                ffai.generate_response("Where is the key?")
                assert len(ffai.history.search("the key")) == 1

    assert gone_soon([thread for thread in threads_of_ffai() if thread not in before])


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


# Event loops


class OfOneLoop:
    """A client that keeps what belongs to the loop it first ran in, as HTTP clients do."""

    model = "of-one-loop"

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def agenerate_response(self, prompt: Any, **options: Any) -> str:
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError("Event loop is closed")
        return f"awaited: {prompt}"

    def generate_response(self, prompt: Any, **options: Any) -> str:
        return f"said: {prompt}"


async def test_memory_takes_no_client_to_another_loop() -> None:
    async with FFAI(OfOneLoop(), memory=Memory(FakeEmbedder())) as ffai:
        for number in range(5):
            assert (await ffai.agenerate_response(f"a{number}")).response == f"awaited: a{number}"
            assert ffai.generate_response(f"b{number}").response == f"said: b{number}"
            assert await ffai.history.asearch(f"a{number}", top_k=1)

        assert await ffai.aflush() == FlushResult(indexed=10, pending=0, failed=0)


def test_one_ffai_serves_loop_after_loop_and_calls_without_one() -> None:
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()))

    async def talk(number: int) -> None:
        await ffai.agenerate_response(f"async {number}")
        ffai.generate_response(f"sync inside a loop {number}")
        assert [piece async for piece in ffai.astream_response(f"stream {number}")]
        assert len(await ffai.history.asearch(f"async {number}", top_k=1)) == 1

    for number in range(3):
        asyncio.run(talk(number))
        ffai.generate_response(f"sync {number}")
    closed = asyncio.new_event_loop()
    closed.close()
    asyncio.set_event_loop(closed)
    try:
        ffai.generate_response("beside a closed loop")
    finally:
        asyncio.set_event_loop(None)
    thread = threading.Thread(target=ffai.generate_response, args=("in a thread",))
    thread.start()
    thread.join()

    assert ffai.flush() == FlushResult(indexed=14, pending=0, failed=0)
    asyncio.run(ffai.aclose())
