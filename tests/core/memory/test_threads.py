"""Many threads on one store and one memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ffai.core.memory import FlushResult, TurnVectorStore, load_store, persist_store
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Let threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], object]) -> list[BaseException]:
    """Do several things at once; give what went wrong."""
    failures: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert failures or not thread.is_alive()
    return failures


def vector_of(number: int) -> list[float]:
    """A vector that tells which row it belongs to."""
    return [1.0, number / 10_000, float(number % 7)]


def test_searching_while_others_add_never_mixes_rows() -> None:
    store = TurnVectorStore()
    rows, writers = 1500, 3
    done = threading.Event()

    def write(first: int) -> None:
        for number in range(first, rows, writers):
            parts = [vector_of(number)] if number % 5 == 0 else ()
            store.add(str(number), vector_of(number), {"number": number}, {"number": number}, parts=parts)

    def search() -> None:
        while not done.is_set():
            for hit in store.search([1.0, 0.05, 3.0], top_k=10):
                assert hit.text == str(hit.turn["number"]) == str(hit.metadata["number"])
                row = np.array(vector_of(int(hit.text)))
                query = np.array([1.0, 0.05, 3.0])
                assert hit.score == pytest.approx(row @ query / np.linalg.norm(row) / np.linalg.norm(query), abs=1e-12)

    def read() -> None:
        while not done.is_set():
            for entry in store.iter_entries():
                assert entry.embedding == vector_of(int(entry.text))

    def write_all() -> None:
        try:
            assert together(*[lambda first=first: write(first) for first in range(writers)]) == []  # type: ignore[misc]
        finally:
            done.set()

    assert together(write_all, search, search, read) == []
    assert store.count() == rows
    assert sorted(int(entry.text) for entry in store.iter_entries()) == list(range(rows))
    assert len({hit.turn_index for hit in store.search([1.0, 0.0, 0.0], top_k=rows)}) == rows


def test_clearing_while_others_search_and_add_never_mixes_rows() -> None:
    store = TurnVectorStore()
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            size = 3 if number // 50 % 2 else 5
            try:
                store.add(f"{size} {number}", [float(size)] * size, {"size": size})
            except ValueError:
                store.clear()
            number += 1

    def search(size: int) -> None:
        while not done.is_set():
            try:
                hits = store.search([1.0] * size)
            except ValueError:
                continue
            assert {hit.turn["size"] for hit in hits} <= {size}

    def clear() -> None:
        for _ in range(300):
            store.clear()
        done.set()

    assert together(write, lambda: search(3), lambda: search(5), clear) == []


def test_a_store_can_be_written_to_a_file_while_it_grows(tmp_path: Path) -> None:
    store = TurnVectorStore()
    done = threading.Event()

    def write() -> None:
        for number in range(1500):
            store.add(str(number), vector_of(number), {"number": number})
        done.set()

    def persist() -> None:
        while not done.is_set():
            persist_store(store, tmp_path / "turns.parquet")
            for row, entry in enumerate(load_store(tmp_path / "turns.parquet").iter_entries()):
                assert entry.text == str(row)
                assert entry.embedding == vector_of(row)

    assert together(write, persist) == []


def test_one_memory_is_used_from_many_threads(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(16))
    made_here = memory.status().files["journal"]

    def use(who: int) -> None:
        for number in range(25):
            memory.remember(f"{who} remembers {number}", "x")
            if number % 5 == 0:
                memory.index_turn_text(f"{who} indexes {number}", {"who": who})
            assert memory.search(f"{who} remembers {number}", top_k=3, wait=0) is not None
            memory.status()

    assert together(*[lambda who=who: use(who) for who in range(4)]) == []  # type: ignore[misc]
    assert made_here.exists()
    assert memory.flush() == FlushResult(4 * 30, 0, 0)
    texts = sorted(entry.text for entry in memory.store.iter_entries())
    assert len(set(texts)) == 120
    memory.close()
    assert sorted(entry.text for entry in opened(tmp_path, FakeEmbedder(16)).store.iter_entries()) == texts


def test_a_search_beside_writers_finds_all_that_was_there_before_it(opened: Opener) -> None:
    memory = opened(embedder=FakeEmbedder(16))
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            memory.remember(f"noise {number}", "x")
            number += 1
            done.wait(0.001)

    def search() -> None:
        for number in range(30):
            turn_id = memory.remember(f"marker {number}", "y")
            found = {hit.turn_id for hit in memory.search(f"marker {number} y", top_k=10**6, wait=20)}
            assert turn_id in found
        done.set()

    assert together(write, search) == []
