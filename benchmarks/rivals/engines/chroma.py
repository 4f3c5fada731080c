"""Chroma inside the process, in memory, as it is set up by default: an approximate index (HNSW)."""

from __future__ import annotations

from typing import Any

import chromadb
from chromadb.config import Settings


class Engine:
    def __init__(self, dimensions: int) -> None:
        self._client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        self._turns = self._client.create_collection(
            "turns", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, rows: Any) -> None:
        at_once = self._client.get_max_batch_size()
        for first in range(0, len(rows), at_once):
            part = rows[first : first + at_once]
            numbers = range(first, first + len(part))
            self._turns.add(
                ids=[str(number) for number in numbers],
                embeddings=part,
                documents=[f"turn {number}" for number in numbers],
                metadatas=[{"prompt_name": "benchmark"}] * len(part),
            )

    def search(self, query: Any, top_k: int) -> list[int]:
        return [int(found) for found in self._turns.query(query_embeddings=[query], n_results=top_k)["ids"][0]]
