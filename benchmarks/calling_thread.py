"""What the calling thread pays for persistent memory: a call with it on, less the same call with it off."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure, latencies, quantile
from ffai import FFAI, Memory
from ffai.testing import FakeClient

CALLS, ROUNDS = 1000, 5
PROMPT = "How do I " + "migrate the table " * 20
REPLY = "You lock the table first. " * 15


class Idle:
    """An embedder that costs nothing."""

    model, dimensions = "benchmark/idle", 384

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), self.dimensions), dtype=np.float32)


class Sleeping(Idle):
    """An embedder that waits for a network."""

    def embed(self, texts: list[str]) -> np.ndarray:
        time.sleep(0.05)
        return super().embed(texts)


class Tokenising(Idle):
    """An embedder that keeps Python busy."""

    def embed(self, texts: list[str]) -> np.ndarray:
        for text in texts:
            for word in text.split():
                hashlib.sha256(word.encode()).digest()
        return super().embed(texts)


def figures() -> Iterator[Figure]:
    """Measure both sides for each embedder in turn, several times: the machine's speed drifts."""
    for embedder in (Idle(), Sleeping(), Tokenising()):
        name = type(embedder).__name__.lower()
        rounds = [(_without(), _with(embedder)) for _ in range(ROUNDS)]
        for share, label, target in ((0.5, "median", 100.0), (0.99, "p99", 1000.0)):
            extra = sorted(quantile(on, share) - quantile(off, share) for off, on in rounds)[ROUNDS // 2]
            yield Figure(f"calling thread, {name} embedder, {label} of {CALLS} turns", extra, "µs", target)


def _without() -> list[float]:
    return _latencies(FFAI(FakeClient([REPLY] * CALLS)))


def _with(embedder: Idle) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        ffai = FFAI(
            FakeClient([REPLY] * CALLS),
            memory=Memory(embedder),
            memory_persist=True,
            config={"memory": {"persist_dir": folder}},
        )
        durations = _latencies(ffai)
        ffai.close(timeout=None)
    return durations


def _latencies(ffai: FFAI) -> list[float]:
    return latencies(lambda number: ffai.generate_response(PROMPT, prompt_name=f"turn {number}"), CALLS)
