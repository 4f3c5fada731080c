"""How much of the embedding model's own batched throughput the background worker reaches."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from ffai import Embeddings, Memory
from ffai.cli.models import build_minilm

TURNS = 256
BATCH = 32


def figures() -> Iterator[Figure]:
    """Embed the same texts with the real MiniLM, in batches and through a persistent memory."""
    turns = [
        (f"question {number} about a table", f"answer {number}: " + "wait for the lock " * 15)
        for number in range(TURNS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        embedder = Embeddings(f"local/{build_minilm(Path(folder) / 'minilm')}", cache_enabled=False)
        embedder.embed(["loads the model"])
        start = time.perf_counter()
        for first in range(0, TURNS, BATCH):
            embedder.embed([f"{prompt}\n{response}" for prompt, response in turns[first : first + BATCH]])
        alone = time.perf_counter() - start
        memory = Memory(embedder)
        memory.persist_to(folder)
        for prompt, response in turns:
            memory.remember(prompt, response)
        start = time.perf_counter()
        memory.flush()
        through = time.perf_counter() - start
        memory.close()
    yield Figure(
        f"embedding {TURNS} turns in the background and saving them, over the model alone", through / alone, "x", 1.11
    )
