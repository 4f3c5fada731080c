"""Tying a memory to files: what is joined, who shares, and two processes at once."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import FlushResult, Memory, TurnVectorStore, load_store, persist_store
from ffai.errors import ClosedError, DimensionError, InvalidArgumentError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder

ROOT = Path(__file__).parents[3]


def texts(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.store.iter_entries()]


def a_store(*names: str) -> TurnVectorStore:
    store = TurnVectorStore()
    for name, vector in zip(names, FakeEmbedder().embed(list(names)), strict=True):
        store.add(name, vector, {"role": "user"}, {"name": name})
    return store


# What a memory held before


def test_turns_from_before_are_kept_in_the_files(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    memory.remember("indexed", "x")
    memory.index_turn_text("indexed too", {"role": "user"})
    memory.flush()
    memory.persist_to(tmp_path)
    memory.remember("after", "x")
    memory.close()
    assert sorted(texts(opened(tmp_path))) == ["after\nx", "indexed\nx", "indexed too"]


def test_turns_that_waited_before_are_kept_in_the_files(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    with embedder.held():
        ids = [memory.remember(f"waiting {number}", "x") for number in range(5)]
        assert embedder.entered.wait(10)
        memory.persist_to(tmp_path)
        ids.append(memory.remember("after", "x"))
    assert memory.flush() == FlushResult(6, 0, 0)
    memory.close()
    assert {hit.turn_id for hit in opened(tmp_path).search("x", top_k=10)} == set(ids)


def test_turns_that_failed_before_are_kept_in_the_files(opened: Opener, tmp_path: Path) -> None:
    memory = opened(embedder=FakeEmbedder(fail=lambda text: RuntimeError("no") if "bad" in text else None))
    memory.remember("bad", "x")
    memory.flush()
    memory.persist_to(tmp_path)
    assert memory.flush() == FlushResult(0, 0, 1)
    assert memory.status().failed[0].reason == "RuntimeError: no"
    memory.close()
    assert opened(tmp_path).flush() == FlushResult(0, 0, 1)


def test_turns_that_are_embedded_while_files_are_opened_are_kept(opened: Opener, tmp_path: Path) -> None:
    for number in range(8):
        memory = opened(embedder=FakeEmbedder(8))
        for turn in range(6):
            memory.remember(f"turn {turn}", "x")
        if number % 2:
            threading.Event().wait(0.018 + number * 0.0015)
        memory.persist_to(tmp_path / str(number))
        assert memory.flush() == FlushResult(6, 0, 0)
        memory.close()
        assert len(set(texts(opened(tmp_path / str(number), FakeEmbedder(8))))) == 6, number


def test_turns_that_come_while_files_are_opened_are_kept(opened: Opener, tmp_path: Path) -> None:
    persist_store(a_store(*(f"old {number}" for number in range(200))), tmp_path / "ffai_turns.parquet")
    memory = opened()
    ids: list[str] = []
    stop = threading.Event()

    def remember() -> None:
        while not stop.is_set():
            ids.append(memory.remember("x", "y"))

    writer = threading.Thread(target=remember)
    writer.start()
    while len(ids) < 20:
        pass
    memory.persist_to(tmp_path)
    stop.set()
    writer.join()
    memory.close()
    again = opened(tmp_path)
    found = {hit.turn_id for hit in again.search("x", top_k=10**6)}
    assert set(ids) <= found
    assert again.count() == len(ids) + 200


def test_a_store_from_the_same_file_doubles_nothing(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b")
    memory.index_turn_text("c", {"role": "user"}, {"n": 1})
    for _ in range(2):
        memory.index_turn_text("twice", {"role": "user"}, {"n": 1})
    memory.close()
    for _ in range(3):
        again = opened(tmp_path, store=load_store(tmp_path / "ffai_turns.parquet"))
        assert sorted(texts(again)) == ["a\nb", "c", "twice", "twice"]
        again.close()
    assert sorted(texts(opened(tmp_path))) == ["a\nb", "c", "twice", "twice"]


def test_a_store_and_a_file_are_joined(opened: Opener, tmp_path: Path) -> None:
    persist_store(a_store("in both", "in the file"), tmp_path / "ffai_turns.parquet")
    memory = opened(tmp_path, store=(given := a_store("in the store", "in both")))
    assert memory.store is given
    assert texts(memory) == ["in the store", "in both", "in the file"]
    memory.close()
    assert sorted(texts(opened(tmp_path))) == ["in both", "in the file", "in the store"]


def test_a_file_of_a_hundred_turns_is_not_wiped_by_a_fresh_memory(opened: Opener, tmp_path: Path) -> None:
    persist_store(a_store(*(f"old {number}" for number in range(100))), tmp_path / "ffai_turns.parquet")
    memory = opened()
    memory.remember("new", "x")
    memory.persist_to(tmp_path)
    memory.close()
    assert len(set(texts(opened(tmp_path)))) == 101


def test_an_assigned_store_is_joined_with_what_is_persisted(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("mine", "x")
    memory.flush()
    memory.store = theirs = a_store("theirs")
    assert memory.store is theirs
    assert sorted(texts(memory)) == ["mine\nx", "theirs"]
    memory.store = memory.store
    memory.remember("later", "x")
    memory.close()
    assert sorted(texts(opened(tmp_path))) == ["later\nx", "mine\nx", "theirs"]


def test_a_store_of_another_size_is_refused_and_nothing_changes(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("mine", "x")
    memory.flush()
    other = TurnVectorStore()
    other.add("theirs", [1.0, 2.0], {})
    with pytest.raises(DimensionError):
        memory.store = other
    assert (texts(memory), other.count()) == (["mine\nx"], 1)
    memory.close()
    assert texts(opened(tmp_path)) == ["mine\nx"]


def test_a_store_that_does_not_fit_its_file_is_refused_and_the_folder_stays_usable(
    opened: Opener, tmp_path: Path
) -> None:
    memory = opened(tmp_path)
    memory.remember("mine", "x")
    memory.close()
    other = TurnVectorStore()
    other.add("theirs", [1.0, 2.0], {})
    misfit = opened(store=other)
    with pytest.raises(DimensionError):
        misfit.persist_to(tmp_path)
    assert texts(misfit) == ["theirs"]
    again = opened(tmp_path)
    assert texts(again) == ["mine\nx"]
    again.remember("later", "x")
    assert again.close() == FlushResult(2, 0, 0)


# The same place twice


def test_two_memories_in_one_folder_share_their_turns(opened: Opener, tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    for number in range(20):
        first.remember(f"first {number}", "x")
        second.remember(f"second {number}", "x")
    assert first.flush() == second.flush() == FlushResult(40, 0, 0)
    assert first.search("second 7 x", top_k=1)[0].text == "second 7\nx"
    assert first.store is second.store
    first.close()
    second.close()
    assert len(set(texts(opened(tmp_path)))) == 40


def test_a_relative_folder_is_the_same_place(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = opened(Path("data")), opened(tmp_path / "data")
    first.remember("a", "b")
    second.flush()
    assert texts(second) == ["a\nb"]
    monkeypatch.chdir("/")
    first.remember("c", "d")
    first.close()
    second.close()
    assert sorted(texts(opened(tmp_path / "data"))) == ["a\nb", "c\nd"]


def test_other_names_in_one_folder_are_other_places(opened: Opener, tmp_path: Path) -> None:
    first, second = opened(tmp_path, name="one"), opened(tmp_path, name="two")
    first.remember("a", "b")
    first.flush()
    assert second.flush() == FlushResult(0, 0, 0)


def test_one_who_closes_leaves_the_place_to_the_other(opened: Opener, tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.remember("a", "b")
    assert first.close() == first.close() == first.close() == FlushResult(1, 0, 0)
    with pytest.raises(ClosedError):
        first.remember("too", "late")
    assert not second.status().closed
    second.remember("c", "d")
    assert second.close() == FlushResult(2, 0, 0)
    assert second.status().closed
    third = opened(tmp_path)
    assert sorted(texts(third)) == ["a\nb", "c\nd"]


def test_stores_of_two_who_share_are_joined(opened: Opener, tmp_path: Path) -> None:
    first = opened(tmp_path, store=a_store("in first", "in both"))
    second = opened(tmp_path, store=a_store("in second", "in both"))
    assert sorted(texts(first)) == sorted(texts(second)) == ["in both", "in first", "in second"]
    first.close()
    second.close()
    assert sorted(texts(opened(tmp_path))) == ["in both", "in first", "in second"]


def test_persisting_again_to_the_same_place_changes_nothing(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b")
    memory.persist_to(tmp_path)
    memory.remember("c", "d")
    assert memory.flush() == FlushResult(2, 0, 0)
    assert memory.close() == FlushResult(2, 0, 0)
    assert memory.status().closed
    again = opened(tmp_path)
    assert sorted(texts(again)) == ["a\nb", "c\nd"]
    again.remember("e", "f")
    assert again.close() == FlushResult(3, 0, 0)


def test_persisting_to_a_second_place_is_refused(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path / "one")
    memory.remember("a", "b")
    with pytest.raises(InvalidArgumentError, match="one"):
        memory.persist_to(tmp_path / "two")
    memory.remember("c", "d")
    memory.close()
    assert sorted(texts(opened(tmp_path / "one"))) == ["a\nb", "c\nd"]
    assert not (tmp_path / "two").exists()


def test_a_closed_memory_is_not_opened_again_by_persisting_it(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    memory.close()
    with pytest.raises(ClosedError):
        memory.persist_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "/a", "nul\x00", 5, None])
def test_a_name_is_the_name_of_a_file(opened: Opener, tmp_path: Path, name: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="name"):
        opened().persist_to(tmp_path / "folder", name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("durability", ["fast", None, 1])
def test_a_durability_is_one_of_two(opened: Opener, tmp_path: Path, durability: Any) -> None:
    with pytest.raises(ValueError, match="durability"):
        opened().persist_to(tmp_path, durability=durability)


def test_threads_may_open_one_place_at_once(opened: Opener, tmp_path: Path) -> None:
    memories: list[Memory] = []
    together = threading.Barrier(8)

    def open_and_remember(number: int) -> None:
        memory = Memory(FakeEmbedder())
        together.wait()
        memory.persist_to(tmp_path)
        memory.remember(f"turn {number}", "x")
        memories.append(memory)

    threads = [threading.Thread(target=open_and_remember, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(memory.store) for memory in memories}) == 1
    assert [memory.flush() for memory in memories] == [FlushResult(8, 0, 0)] * 8
    for memory in memories:
        memory.close()
    assert len(set(texts(opened(tmp_path)))) == 8


# Nothing is used up


def test_opening_and_closing_uses_nothing_up(tmp_path: Path) -> None:
    def cycle(number: int) -> None:
        memory = Memory(FakeEmbedder(8))
        memory.persist_to(tmp_path / str(number % 5))
        memory.remember("a", "b")
        memory.search("a")
        memory.close()
        unused = Memory(FakeEmbedder(8))
        unused.remember("c", "d")
        unused.close()

    def used() -> tuple[int, int, int]:
        gc.collect()
        memories = sum(isinstance(thing, (Memory, TurnVectorStore)) for thing in gc.get_objects())
        return threading.active_count(), len(os.listdir("/proc/self/fd")), memories

    for number in range(5):
        cycle(number)
    before, things = used(), len(gc.get_objects())
    for number in range(50):
        cycle(number)
    assert used() == before
    assert len(gc.get_objects()) - things < 500


def test_a_closed_folder_can_be_removed(tmp_path: Path) -> None:
    memory = Memory(FakeEmbedder())
    memory.persist_to(tmp_path / "data")
    memory.remember("a", "b")
    memory.close()
    held = [
        os.readlink(f"/proc/self/fd/{fd}")
        for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")
    ]
    assert [path for path in held if str(tmp_path) in path] == []


# Two processes

WRITE = """
import sys
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

folder, who = sys.argv[1:]
memory = Memory(FakeEmbedder(8))
print("ready", flush=True)
sys.stdin.readline()
memory.persist_to(folder)
for number in range(50):
    memory.remember(f"{who} {number}", "x")
    if number % 25 == 24:
        memory.flush()
memory.close(timeout=30)
"""


def start(folder: Path, who: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITE, str(folder), who],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_two_processes_that_write_at_once_lose_and_double_nothing(opened: Opener, tmp_path: Path) -> None:
    first = opened(tmp_path, FakeEmbedder(8))
    first.remember("old", "x")
    first.close()
    writers = [start(tmp_path, who) for who in ("one", "two")]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    told = []
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        told.append(writer.communicate(timeout=100)[1])
        assert writer.returncode == 0, told
    memory = opened(tmp_path, FakeEmbedder(8))
    memory.flush()
    right = {f"{who} {number}\nx" for who in ("one", "two") for number in range(50)} | {"old\nx"}
    found = texts(memory)
    assert (set(found), len(found)) == (right, len(right)), told
    assert not [path.name for path in tmp_path.iterdir() if "damaged" in path.name], told
    assert memory.status().notes == ()


OPEN = """
import sys, time
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

folder, who, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
memories = [Memory(FakeEmbedder(8)) for _ in range(rounds)]
print("ready", flush=True)
start = float(sys.stdin.readline())
for number, memory in enumerate(memories):
    while time.time() < start + number * 0.05:
        pass
    memory.persist_to(f"{folder}/{number}")
    memory.remember(who, "x")
    memory.close()
"""


def test_processes_that_make_one_folder_at_once_take_each_other_for_no_stranger(opened: Opener, tmp_path: Path) -> None:
    rounds = 6
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(tmp_path), who, str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for who in ("one", "two")
    ]
    for opener in openers:
        assert opener.stdout
        assert opener.stdout.readline() == "ready\n"
    start = time.time() + 0.1
    for opener in openers:
        assert opener.stdin
        opener.stdin.write(f"{start}\n")
        opener.stdin.flush()
    told = [opener.communicate(timeout=100)[1] for opener in openers]
    assert [opener.returncode for opener in openers] == [0, 0], told
    assert [path.name for path in tmp_path.rglob("*damaged*")] == [], told
    for number in range(rounds):
        memory = opened(tmp_path / str(number), FakeEmbedder(8))
        memory.flush()
        assert sorted(texts(memory)) == ["one\nx", "two\nx"]


def test_a_turn_that_is_added_to_the_store_itself_is_kept(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the red key?", "Under the mat.")
    memory.flush()
    vector = memory.embeddings.embed(["the blue key"])[0]
    assert memory.store.add("the blue key", vector, {"role": "user"}) == 1
    memory.close()
    assert memory.store.add("the green key", vector, {"role": "user"}) == 2, "of a closed one only in memory"
    again = opened(tmp_path)
    assert [hit.text for hit in again.search("the blue key", top_k=1)] == ["the blue key"]
    assert again.count() == 2
