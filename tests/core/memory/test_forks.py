"""Memories in a process that forks: nothing hangs, nothing is lost, and the parent's files stay whole."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import FlushResult, Memory, load_store, persist_store
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

LONGEST = 40
ROOT = Path(__file__).parents[3]


def asked(memory: Memory) -> list[str]:
    return sorted(entry.text.partition("\n")[0] for entry in memory.store.iter_entries())


def ask(memory: Memory, *questions: str) -> None:
    for question in questions:
        memory.remember(question, "yes")


class Child:
    """A forked child that does something and must come to an end."""

    def __init__(self, work: Callable[..., None], *args: Any) -> None:
        self._process = multiprocessing.get_context("fork").Process(target=work, args=args)
        self._process.start()

    def join(self) -> None:
        self._process.join(LONGEST)
        hung = self._process.exitcode is None
        self._process.kill()
        assert not hung
        assert self._process.exitcode == 0


def _ask_in_child(memory: Memory, number: int) -> None:
    ask(memory, f"child {number}")


def test_turns_of_parent_and_children_are_all_kept(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ask(memory, "parent 0")
    memory.flush()  # polars is in use from here on
    children = [Child(_ask_in_child, memory, number) for number in range(3)]
    ask(memory, "parent 1", "parent 2")
    for child in children:
        child.join()
    memory.close()

    again = opened(tmp_path)
    assert again.flush() == FlushResult(6, 0, 0)
    assert asked(again) == [*(f"child {number}" for number in range(3)), *(f"parent {number}" for number in range(3))]


def _ask_before_and_after(memory: Memory, began: Any, go_on: Any) -> None:
    ask(memory, "child 0")
    assert memory.flush(LONGEST).pending == 0
    assert memory.search("child 0", top_k=1)[0].prompt == "child 0"
    began.set()
    assert go_on.wait(LONGEST)
    ask(memory, "child 1", "child 2")


def test_a_child_outlives_the_parents_memory(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ask(memory, "parent 0")
    memory.flush()
    began, go_on = (multiprocessing.get_context("fork").Event() for _ in range(2))
    child = Child(_ask_before_and_after, memory, began, go_on)
    assert began.wait(LONGEST)
    ask(memory, "parent 1")
    memory.close()  # SQLite would delete the log that the child writes, if it took the child for this process
    go_on.set()
    child.join()

    again = opened(tmp_path)
    again.flush()
    assert asked(again) == ["child 0", "child 1", "child 2", "parent 0", "parent 1"]


def _open_and_ask(folder: Path) -> None:
    memory = Memory(FakeEmbedder())
    memory.persist_to(folder)
    assert memory.search("parent", top_k=1)[0].prompt == "parent"
    ask(memory, "child")
    assert memory.close() == FlushResult(2, 0, 0)


def test_a_child_opens_what_its_parent_has_closed(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ask(memory, "parent")
    memory.close()
    Child(_open_and_ask, tmp_path).join()

    assert asked(opened(tmp_path)) == ["child", "parent"]


def _ask_and_look(memory: Memory) -> None:
    ask(memory, "child")
    assert memory.flush(LONGEST).pending == 0
    assert asked(memory) == ["child", "parent"]


def test_a_memory_without_files_goes_on_in_a_child(opened: Opener) -> None:
    memory = opened()
    ask(memory, "parent")  # it may still wait to be embedded
    Child(_ask_and_look, memory).join()
    memory.flush()

    assert asked(memory) == ["parent"]


def test_a_fork_waits_until_no_thread_is_inside(opened: Opener, tmp_path: Path) -> None:
    memory, stop = opened(tmp_path), threading.Event()
    counts = [0, 0, 0]

    def talk(number: int) -> None:
        while not stop.is_set():
            ask(memory, f"thread {number} turn {counts[number]}")
            counts[number] += 1
            memory.search("thread", top_k=1, wait=0)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(8):
            Child(_ask_in_child, memory, number).join()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    memory.close(timeout=LONGEST)

    again = opened(tmp_path)
    again.flush()
    turns = [f"thread {number} turn {turn}" for number, count in enumerate(counts) for turn in range(count)]
    assert asked(again) == sorted([*turns, *(f"child {number}" for number in range(8))])


def _persist_and_load(memory: Memory, path: Path) -> None:
    persist_store(memory.store, path)
    assert [entry.text for entry in load_store(path).iter_entries()] == ["parent\nyes"]


def test_a_child_reads_and_writes_stores(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path / "memory")
    ask(memory, "parent")
    memory.flush()
    path = tmp_path / "turns.parquet"
    Child(_persist_and_load, memory, path).join()

    assert load_store(path).count() == 1


class Listener(logging.Handler):
    """Keeps warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _ask_much(memory: Memory) -> None:
    logging.getLogger("ffai").addHandler(listener := Listener())
    ask(memory, *(f"child {number}" for number in range(1100)))
    assert memory.close(timeout=LONGEST).pending == 0
    assert listener.said == []


def test_a_child_that_says_much_writes_the_file(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ask(memory, "parent")
    memory.flush()
    Child(_ask_much, memory).join()

    assert load_store(tmp_path / "ffai_turns.parquet").count() > 1000


PROGRAM = """
import os, sys
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

memory = Memory(FakeEmbedder())
memory.persist_to(sys.argv[1])
memory.remember("parent 0", "yes")
memory.flush()
child = os.fork()
if child == 0:
    memory.remember("child", "yes")
    sys.exit(0)
memory.remember("parent 1", "yes")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_parent_and_child_end_like_any_program(opened: Opener, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert (done.returncode, done.stderr) == (0, "")

    again = opened(tmp_path)
    again.flush()
    assert asked(again) == ["child", "parent 0", "parent 1"]


def _ask_after_the_parent(memory: Memory, go_on: Any) -> None:
    assert go_on.wait(LONGEST)
    ask(memory, "child 0")
    memory.flush(LONGEST)
    memory.remember("child 1", "yes")
    memory.flush(LONGEST)
    assert memory.count() == 5


def test_a_child_sees_what_the_parent_did_before_its_first_look(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ask(memory, "parent 0")
    memory.flush()
    go_on = multiprocessing.get_context("fork").Event()
    child = Child(_ask_after_the_parent, memory, go_on)
    for number in (1, 2):
        ask(memory, f"parent {number}")
        memory.flush()
    go_on.set()
    child.join()


def _known(memory: Memory) -> list[str]:
    return sorted(known.key for known in memory.knowledge.search("a cat and a dog", mode="vector", wait=LONGEST))


def _learn_in_child(memory: Memory) -> None:
    memory.knowledge.learn("child", "A cat.")
    memory.threads.add([("user", "From the child")])
    assert _known(memory) == ["child", "parent"]


def test_what_a_child_learns_the_parent_knows(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.knowledge.learn("parent", "A dog.")
    memory.knowledge.search("dog")
    Child(_learn_in_child, memory).join()
    assert _known(memory) == ["child", "parent"]
    assert [message.content for message in memory.threads.history()] == ["From the child"]
