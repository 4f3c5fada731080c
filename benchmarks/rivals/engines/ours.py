"""The store of this repository, filled as a memory file is opened: many turns at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ffai.core.memory import TurnVectorStore

AT_ONCE = 50_000


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._store = TurnVectorStore()

    def add(self, rows: Any) -> None:
        for first in range(0, len(rows), AT_ONCE):
            part = rows[first : first + AT_ONCE]
            texts = [f"turn {number}" for number in range(first, first + len(part))]
            turns, metadata = ['{"role": "assistant"}'] * len(part), ['{"prompt_name": "benchmark"}'] * len(part)
            ids = [f"turn-{number}" for number in range(first, first + len(part))]
            self._store._extend((ids, texts, turns, metadata), part.astype(np.float64)[:, None])

    def search(self, query: Any, top_k: int) -> list[int]:
        return [hit.turn_index for hit in self._store.search(query, top_k)]
