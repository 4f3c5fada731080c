"""What the calling thread pays for persistent memory: a call with it on, less the same call with it off."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, latencies, quantile
from benchmarks.stored import store_turns
from ffai import FFAI, Memory
from ffai.testing import FakeClient

CALLS = 1000
STORED = {1_000: 5, 100_000: 3}
"""Turns that are there already, and how often each side is measured."""
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
    for stored, rounds in STORED.items():
        with tempfile.TemporaryDirectory() as folder:
            store_turns(Path(folder), stored, model=Idle.model)
            for embedder in (Idle(), Sleeping(), Tokenising()):
                yield from _compare(
                    embedder, folder, rounds, f"{type(embedder).__name__.lower()} embedder, {stored:,} stored"
                )


def _compare(embedder: Idle, folder: str, rounds: int, what: str) -> Iterator[Figure]:
    pairs = [(_without(), _with(embedder, folder)) for _ in range(rounds)]
    for share, label, target in ((0.5, "median", 100.0), (0.99, "p99", 1000.0)):
        extra = sorted(quantile(on, share) - quantile(off, share) for off, on in pairs)[rounds // 2]
        yield Figure(f"calling thread, {what}, {label} of {CALLS} turns", extra, "µs", target)


def _without() -> list[float]:
    return _latencies(FFAI(FakeClient([REPLY] * CALLS)))


def _with(embedder: Idle, folder: str) -> list[float]:
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
