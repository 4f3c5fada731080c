"""The store of ffai 0.1.8: lists of Python numbers, compared one by one."""

from __future__ import annotations

from typing import Any

from ffai.core.memory.turn_store import TurnVectorStore


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._store = TurnVectorStore()

    def add(self, rows: Any) -> None:
        for number, row in enumerate(rows):
            self._store.add(f"turn {number}", row.tolist(), {"role": "assistant"}, {"prompt_name": "benchmark"})

    def search(self, query: Any, top_k: int) -> list[int]:
        return [hit.turn_index for hit in self._store.search(query.tolist(), top_k)]
