"""Four threads that search while two write thousands of turns, and others forget and change the model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ffai.core.memory import FlushResult, Memory, TurnVectorStore
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener

ALL = 10**6
SHORT = pytest.param(1000, id="a thousand turns")
LONG = pytest.param(20_000, id="twenty thousand turns", marks=pytest.mark.long)


def vector_of(number: int) -> list[float]:
    """A vector that tells which turn it belongs to."""
    return [1.0, number / 10_000, float(number % 7)]


def cosine(query: list[float], vector: list[float]) -> float:
    a, b = np.array(query), np.array(vector)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


class Crew:
    """Threads of which some work, and the others go on until those have ended."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self.done = threading.Event()
        self.rounds = 0

    def run(self, works: list[Callable[[], object]], meanwhile: list[Callable[[], object]]) -> None:
        """Do all at once; what is done meanwhile is done again and again."""
        workers = [threading.Thread(target=self._try, args=(work,), daemon=True) for work in works]
        others = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in meanwhile]
        for thread in (*others, *workers):
            thread.start()
        for thread in workers:
            thread.join()
        self.done.set()
        for thread in others:
            thread.join()
        assert self.failures == []

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            self.failures.append(error)
            self.done.set()

    def _repeat(self, work: Callable[[], object]) -> None:
        while not self.done.is_set():
            self._try(work)
            self.rounds += 1


@pytest.mark.parametrize("turns", [SHORT, LONG])
def test_a_store_is_searched_by_four_while_two_write(turns: int) -> None:
    store, crew = TurnVectorStore(), Crew()
    query = [1.0, 0.05, 3.0]

    def write(first: int) -> None:
        for number in range(first, turns, 2):
            store.add(str(number), vector_of(number), {"number": number}, {"number": number})

    def search() -> None:
        hits = store.search(query, top_k=20)
        for hit in hits:
            assert hit.text == str(hit.turn["number"]) == str(hit.metadata["number"])
            assert hit.score == pytest.approx(cosine(query, vector_of(int(hit.text))), abs=1e-12)
        assert len({hit.text for hit in hits}) == len(hits)

    crew.run([lambda: write(0), lambda: write(1)], [search] * 4)
    assert sorted(int(entry.text) for entry in store.iter_entries()) == list(range(turns))


def check(memory: Memory, query: str) -> None:
    """Search, and compare each hit's score with what its own text gives."""
    right = FakeEmbedder(16)
    hits = memory.search(query, top_k=20, wait=0)
    assert len({hit.turn_id for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.text.split()[:2] == hit.metadata["words"]
        a, b = right.embed([query, hit.text])
        assert hit.score == pytest.approx(cosine(a.tolist(), b.tolist()), abs=1e-6)


@pytest.mark.parametrize("turns", [SHORT, LONG])
def test_a_memory_is_searched_by_four_while_two_write(opened: Opener, tmp_path: Path, turns: int) -> None:
    memory, crew = opened(tmp_path, FakeEmbedder(16)), Crew()

    def write(who: str) -> None:
        for number in range(turns // 2):
            memory.remember(f"{who} {number}", "x", metadata={"words": [who, str(number)]})

    crew.run([lambda: write("one"), lambda: write("two")], [lambda: check(memory, "one 7 x")] * 4)
    assert memory.flush() == FlushResult(turns, 0, 0)
    assert len({hit.turn_id for hit in memory.search("one 7 x", ALL)}) == turns
    memory.close(timeout=60)
    assert opened(tmp_path, FakeEmbedder(16)).count() == turns


@pytest.mark.parametrize("turns", [SHORT, LONG])
def test_also_while_one_forgets_and_one_changes_the_model(opened: Opener, tmp_path: Path, turns: int) -> None:
    memory, crew = opened(tmp_path, FakeEmbedder(16, model="fake/0")), Crew()
    kept: list[str] = []
    forgotten: list[str] = []
    models = iter(range(1, ALL))

    def write(who: str) -> None:
        for number in range(turns // 2):
            words = {"words": [who, str(number)]}
            turn_id = memory.remember(f"{who} {number}", "x", metadata=words)
            (forgotten if number % 10 == 0 else kept).append(turn_id)

    def forget() -> None:
        crew.done.wait(0.05)  # it writes files
        memory.forget(list(forgotten))

    def reindex() -> None:
        memory.reindex(FakeEmbedder(16, model=f"fake/{next(models)}"))

    crew.run([lambda: write("one"), lambda: write("two")], [*[lambda: check(memory, "one 7 x")] * 4, forget, reindex])
    memory.forget(forgotten)
    assert memory.flush() == FlushResult(len(kept), 0, 0)
    assert {hit.turn_id for hit in memory.search("one 7 x", ALL)} == set(kept)
    memory.close(timeout=60)
    again = opened(tmp_path, memory.embeddings)
    assert {hit.turn_id for hit in again.search("one 7 x", ALL)} == set(kept)
    check(again, "one 7 x")
