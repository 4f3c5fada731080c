"""FAISS, its flat index: an exact scan. It keeps vectors alone, without texts."""

from __future__ import annotations

from typing import Any

import faiss


class Engine:
    def __init__(self, dimensions: int) -> None:
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexFlatIP(dimensions)

    def add(self, rows: Any) -> None:
        self._index.add(rows)

    def search(self, query: Any, top_k: int) -> list[int]:
        found: list[int] = self._index.search(query[None], top_k)[1][0].tolist()
        return found
