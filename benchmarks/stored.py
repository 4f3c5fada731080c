"""A collection of many turns on disk, made without embedding them one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.identity import NewTurn, new_turn
from ffai.core.memory.parquet import FileFacts, frame_of, write_frame

DIMENSIONS = 384
CHARACTERS = 600
"""Of a turn's text."""
WORDS = [
    "how", "do", "i", "move", "the", "table", "lock", "column", "index",
    "query", "plan", "user", "account", "message", "thread", "key", "value", "store",
]  # fmt: skip


class Ready:
    """An embedder whose vectors are made beforehand: they cost nothing, and no two texts have the same."""

    model, dimensions = "benchmark/ready", DIMENSIONS

    def __init__(self) -> None:
        self._rows = vectors(np.random.default_rng(3), 8192)
        self._next = 0

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        chosen = np.arange(self._next, self._next + len(texts)) % len(self._rows)
        self._next += len(texts)
        return self._rows[chosen]


def vectors(random: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Make unit vectors: shape ``(count, DIMENSIONS)``."""
    rows = random.standard_normal((count, DIMENSIONS), dtype=np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def a_turn(random: np.random.Generator, number: int) -> NewTurn:
    """Make a turn of :data:`CHARACTERS` characters."""
    text = f"{number} " + " ".join(WORDS[word] for word in random.integers(0, len(WORDS), CHARACTERS // 3))
    return new_turn(text[:200], text[200 : CHARACTERS - 1], metadata={"prompt_name": f"prompt {number % 10}"})


def store_turns(folder: Path, count: int) -> None:
    """Write a memory file of turns."""
    random = np.random.default_rng(count)
    turns = [a_turn(random, number) for number in range(count)]
    frame = frame_of(turns, vectors(random, count).astype(np.float64))
    write_frame(frame, folder / "ffai_turns.parquet", FileFacts(model=Ready.model))
