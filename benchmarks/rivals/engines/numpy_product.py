"""A float32 product with argpartition: what a program without a library does. Rows must be of unit length."""

from __future__ import annotations

from typing import Any

import numpy as np


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._rows = np.empty((0, dimensions), dtype=np.float32)

    def add(self, rows: Any) -> None:
        self._rows = np.concatenate([self._rows, rows])

    def search(self, query: Any, top_k: int) -> list[int]:
        scores = self._rows @ query
        best = np.argpartition(scores, len(scores) - top_k)[-top_k:]
        order: list[int] = best[np.argsort(-scores[best])].tolist()
        return order
