"""LangGraph's InMemoryStore, with NumPy installed as it recommends. It embeds texts itself: here it looks them up."""

from __future__ import annotations

from typing import Any

from langgraph.store.memory import InMemoryStore


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._rows: Any = None
        self._query: list[float] = []
        self._store = InMemoryStore(index={"dims": dimensions, "embed": self._embed, "fields": ["text"]})

    def _embed(self, texts: list[str]) -> list[list[float]]:
        return [self._query if text == "query" else self._rows[int(text.split()[1])].tolist() for text in texts]

    def add(self, rows: Any) -> None:
        self._rows = rows
        for number in range(len(rows)):
            self._store.put(("turns",), str(number), {"text": f"turn {number}", "prompt_name": "benchmark"})

    def search(self, query: Any, top_k: int) -> list[int]:
        self._query = query.tolist()
        return [int(item.key) for item in self._store.search(("turns",), query="query", limit=top_k)]
