"""The local mode of Qdrant's Python client, in memory: an exact scan in NumPy. Its server is another program."""

from __future__ import annotations

from typing import Any

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, VectorParams


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._client = QdrantClient(":memory:")
        self._client.create_collection("turns", VectorParams(size=dimensions, distance=Distance.COSINE))

    def add(self, rows: Any) -> None:
        payload = ({"text": f"turn {number}", "prompt_name": "benchmark"} for number in range(len(rows)))
        self._client.upload_collection("turns", rows, payload=payload, ids=range(len(rows)), batch_size=1000)

    def search(self, query: Any, top_k: int) -> list[int]:
        return [int(point.id) for point in self._client.query_points("turns", query, limit=top_k).points]
