"""LanceDB in a folder, without an index: an exact scan of its file."""

from __future__ import annotations

import tempfile
from typing import Any

import lancedb
import pyarrow as pa


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._database = lancedb.connect(self._folder.name)
        self._dimensions = dimensions

    def add(self, rows: Any) -> None:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), self._dimensions)
        texts = [f"turn {number}" for number in range(len(rows))]
        columns = {"id": range(len(rows)), "text": texts, "prompt_name": ["benchmark"] * len(rows), "vector": vectors}
        self._turns = self._database.create_table("turns", pa.table(columns))

    def search(self, query: Any, top_k: int) -> list[int]:
        found = self._turns.search(query).distance_type("cosine").limit(top_k).select(["id", "text", "prompt_name"])
        return [hit["id"] for hit in found.to_list()]
