"""The vectors that all rivals get: real ones of all-MiniLM-L6-v2 where that takes minutes, made ones beyond."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.conversations import questions, turns
from benchmarks.search import DIMENSIONS, clustered
from ffai import Embeddings
from ffai.cli.models import build_minilm

MOST_REAL = 10_000
QUERIES = 60
_AT_ONCE = 50_000
_TIE = 1e-6  # what single precision can't tell apart


@dataclass(frozen=True)
class VectorFiles:
    """Rows to add and queries to ask, each a file with an array of unit vectors in single precision."""

    kind: str
    rows: Path
    queries: Path


def write_vectors(folder: Path, size: int, kept: Path) -> VectorFiles:
    """Write rows and queries.

    Args:
        folder: where the files are written.
        size: how many rows.
        kept: a folder that outlives the run; real vectors stay there, because they take minutes.
    """
    rows, queries = folder / "rows.npy", folder / "queries.npy"
    if size <= MOST_REAL:
        np.save(rows, _embedded(turns(MOST_REAL), kept)[:size])
        np.save(queries, _embedded(questions(QUERIES), kept))
        return VectorFiles("all-MiniLM-L6-v2", rows, queries)
    random = np.random.default_rng(7)
    file = np.lib.format.open_memmap(rows, "w+", np.float32, (size, DIMENSIONS))
    for first in range(0, size, _AT_ONCE):
        file[first : first + _AT_ONCE] = clustered(random, min(_AT_ONCE, size - first))
    file.flush()
    np.save(queries, clustered(random, QUERIES))
    return VectorFiles("clustered", rows, queries)


def _embedded(texts: list[str], kept: Path) -> NDArray[np.float32]:
    file = kept / f"minilm-{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:16]}.npy"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        print(f"Embedding {len(texts):,} texts ...", flush=True)
        embedder = Embeddings(f"local/{build_minilm(kept / 'all-MiniLM-L6-v2')}", cache_enabled=False)
        raw = np.array(embedder.embed(texts))
        np.save(file, (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32))
    vectors: NDArray[np.float32] = np.load(file)
    return vectors


class Truth:
    """The exact answers, from comparing every row in double precision."""

    def __init__(self, files: VectorFiles, top_k: int) -> None:
        self._rows = np.load(files.rows, mmap_mode="r")
        self._queries = np.load(files.queries).astype(np.float64)
        self._top_k = top_k
        self._floors = self._worst_of_best()

    def _worst_of_best(self) -> NDArray[np.float64]:
        """Return the score of the last right answer to each query."""
        best = np.full((len(self._queries), self._top_k), -np.inf)
        for first in range(0, len(self._rows), _AT_ONCE):
            part = self._queries @ self._rows[first : first + _AT_ONCE].astype(np.float64).T
            best = np.partition(np.hstack([best, part]), -self._top_k, axis=1)[:, -self._top_k :]
        floors: NDArray[np.float64] = best.min(axis=1)
        return floors

    def recall(self, answers: list[list[int]]) -> float:
        """Return which share of the right rows the answers to the first queries hold.

        A row is right if it scores no worse than the last right one; single precision can't tell equal scores apart.
        """
        right = 0
        for query, floor, rows in zip(self._queries, self._floors, answers, strict=False):
            scores = self._rows[sorted(set(rows))].astype(np.float64) @ query
            right += min(self._top_k, int((scores >= floor - _TIE).sum()))
        return right / (self._top_k * len(answers))
