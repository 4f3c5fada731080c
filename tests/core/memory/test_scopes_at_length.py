"""Many people at once: each search gives the turns of its own person, and as many as were asked for."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from ffai import Memory, MemoryScope
from ffai.testing import FakeEmbedder

THREADS, TOP_K = 8, 10
LONG = pytest.param(1000, 100, id="a thousand people, a hundred turns each", marks=pytest.mark.long)
SHORT = pytest.param(80, 20, id="eighty people, twenty turns each")


class Crowd:
    """People who talk to one memory, each in a conversation of their own and one of all."""

    def __init__(self, memory: Memory, people: int, turns: int) -> None:
        self.memory, self.people, self.turns = memory, people, turns
        self.failed: list[str] = []
        self.searches = 0

    def talk(self, thread: int) -> None:
        mine = [number for number in range(self.people) if number % THREADS == thread]
        rounds = [number for number in mine for _ in range(self.turns // TOP_K)]
        random.Random(thread).shuffle(rounds)
        said = dict.fromkeys(mine, 0)
        for number in rounds:
            for _ in range(TOP_K):
                said[number] += 1
                scope = MemoryScope.user(f"u{number}", conversation=f"c{said[number] % 3}")
                self.memory.remember(f"u{number} says {said[number]}", "Yes.", scope=scope)
            self.look(number, said[number])

    def look(self, number: int, said: int) -> None:
        scope = MemoryScope.user(f"u{number}")
        hits = self.memory.search(f"u{number} says", TOP_K, scope=scope, wait=None)
        self.searches += 1
        if len(hits) != TOP_K or any(hit.scope.actor_id != f"u{number}" for hit in hits):
            self.failed.append(f"u{number}, {said} turns: {hits}")
        everybody = self.memory.search(f"u{number} says", TOP_K, wait=0.0, scope={"conversation_id": "c1"})
        if any(hit.external_conversation_id != "c1" for hit in everybody):
            self.failed.append(f"c1: {everybody}")


@pytest.mark.parametrize(("people", "turns"), [SHORT, LONG])
@pytest.mark.parametrize("persisted", [False, True], ids=["in memory", "in files"])
def test_each_search_gives_its_own_persons_turns(tmp_path: Path, persisted: bool, people: int, turns: int) -> None:
    memory = Memory(FakeEmbedder(16))
    if persisted:
        memory.persist_to(tmp_path)
    crowd = Crowd(memory, people, turns)
    threads = [threading.Thread(target=crowd.talk, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not crowd.failed
    assert crowd.searches == people * turns // TOP_K
    memory.flush()
    for number in range(0, people, 7):
        scope = MemoryScope.user(f"u{number}")
        assert memory.scoped(scope).count() == turns
        hits = memory.search("says", turns + 1, scope=scope)
        assert {hit.prompt for hit in hits} == {f"u{number} says {place}" for place in range(1, turns + 1)}
    memory.close()
