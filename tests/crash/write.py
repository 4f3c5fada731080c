"""A program that writes until it is killed: ``python -m tests.crash.write <folder> <who> <seed> <size> <durability>``.

It tells what it did. Told ``report``, it flushes, tells which turns it sees, and waits for ``go``; told ``close``, it
closes the memory and ends.
"""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import get_args

from ffai.core.memory import Memory
from ffai.core.memory.journal_file import Durability
from ffai.testing import FakeEmbedder
from tests.crash.ledger import SOON, ids_in, say

DO = {"remember": 85, "rest": 25, "flush": 4, "forget": 3, "search": 2, "reindex": 1}
"""What is done, and how often."""


class Writer:
    """Does one thing after another, as chance has it."""

    def __init__(self, memory: Memory, who: str, chance: random.Random) -> None:
        self.memory, self.who, self.chance = memory, who, chance
        self.mine: dict[str, str] = {}
        self.said = 0

    def step(self) -> None:
        """Do one thing."""
        getattr(self, self.chance.choices([*DO], [*DO.values()])[0])()

    def remember(self) -> None:
        word = f"{self.who}n{self.said}m"
        self.said += 1
        reply = f"{'x' * self.chance.choice((10, 100, 1500))} {self.said}"
        self.mine[word] = self.memory.remember(f"What is {word}?", reply)
        say("accepted", word, self.mine[word])

    def rest(self) -> None:
        threading.Event().wait(self.chance.random() * 0.03)

    def flush(self) -> None:
        self.memory.flush(0.05)

    def search(self) -> None:
        self.memory.search("What is it?", wait=0.0)

    def reindex(self) -> None:
        embedder = self.memory.embeddings
        assert isinstance(embedder, FakeEmbedder)
        self.memory.reindex(FakeEmbedder(embedder.dimensions, model=embedder.model))

    def forget(self) -> None:
        if self.mine:
            word = self.chance.choice([*self.mine])
            say("forgetting", word)
            self.memory.forget(self.mine.pop(word))
            say("forgot", word)


def listen(orders: SimpleQueue[str]) -> None:
    """Take orders."""
    for line in sys.stdin:
        orders.put(line.strip())


def main(folder: Path, who: str, seed: int, size: int, durability: str) -> None:
    """Write until the end."""
    chance, orders = random.Random(seed), SimpleQueue[str]()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    memory = Memory(FakeEmbedder(size, model=f"fake/{size}", delay=chance.choice((0.0, 0.0, 0.01))))
    say("opening")
    memory.persist_to(folder, durability=next(known for known in get_args(Durability) if known == durability))
    say("open")
    writer = Writer(memory, who, chance)
    while True:
        try:
            order = orders.get_nowait()
        except Empty:
            writer.step()
            continue
        if order == "close":
            say("closed", *vars_of(memory.close(SOON)))
            return
        say("sees", *vars_of(memory.flush(SOON)), *ids_in(memory))
        orders.get()


def vars_of(result: object) -> tuple[object, ...]:
    """Give what a flush says it did: how many turns are indexed, wait, and failed."""
    return tuple(getattr(result, name) for name in ("indexed", "pending", "failed"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
