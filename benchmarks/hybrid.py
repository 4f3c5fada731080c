"""Search by words and meaning together, beside search by meaning alone, over the same turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure, latencies, quantile
from benchmarks.search import QUERIES, TOP_K
from benchmarks.stored import Ready, vectors
from ffai import Memory, MemoryScope
from ffai.core.memory.identity import new_turn
from ffai.core.memory.question import Mode
from ffai.core.memory.table import columns_of

ACTORS = 100
VOCABULARY, STOP_WORDS = 30_000, 60
"""The commonest words say nothing; no index has them."""
WORDS_A_MESSAGE, WORDS_A_QUESTION = 35, 8
ROUNDS = 8


class Talk:
    """Texts whose words are as unevenly frequent as those of people."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(11)
        shares = 1.0 / np.arange(STOP_WORDS + 1, STOP_WORDS + VOCABULARY + 1)  # by Zipf's law
        self._shares = shares / shares.sum()
        letters = self._random.integers(97, 123, (VOCABULARY, 7)).astype(np.uint8)
        self._words = np.array([bytes(row).decode() for row in letters])

    def text(self, words: int) -> str:
        """Make a text."""
        return " ".join(self._words[self._random.choice(VOCABULARY, words, p=self._shares)])


def figures(size: int = 100_000) -> Iterator[Figure]:
    """Measure both among all turns, and in the turns of one person. Here, embedding the question costs nothing."""
    talk, memory = Talk(), Memory(Ready())
    people = [MemoryScope.user(f"u{number}", conversation=f"c{number}") for number in range(ACTORS)]
    turns = []
    for number in range(size):
        asked, answered = talk.text(WORDS_A_MESSAGE), talk.text(WORDS_A_MESSAGE)
        turns.append(new_turn(asked, answered, scope=people[number % ACTORS], timestamp=number))
    rows = vectors(np.random.default_rng(5), size).astype(np.float64)
    memory.store._extend(columns_of(turns), rows[:, None])
    questions = [talk.text(WORDS_A_QUESTION) for _ in range(QUERIES)]
    memory.search(questions[0], TOP_K, mode="hybrid", wait=None)  # makes words and vectors of all messages
    both, alone = (_median(memory, questions, mode, None) for mode in ("hybrid", "vector"))
    yield Figure(f"hybrid search of {size:,} turns, over a vector search", both / alone, "x", 3.0)
    limit = max(10.0, 3.0 * alone)  # one of the two is to hold
    yield Figure(f"hybrid search of {size:,} turns, beyond embedding the question", both, "ms", limit)
    of_one = _median(memory, questions, "hybrid", people[0])
    yield Figure(f"hybrid search of one person's {size // ACTORS:,} turns among them", of_one, "ms", 2.0)
    memory.close()


def _median(memory: Memory, questions: list[str], mode: Mode, scope: MemoryScope | None) -> float:
    """Return how long a search takes, in milliseconds, in the round in which others had least to do."""

    def ask(place: int) -> object:
        return memory.search(questions[place], TOP_K, mode=mode, scope=scope)

    return min(quantile(latencies(ask, len(questions)), 0.5) for _ in range(ROUNDS)) / 1000
