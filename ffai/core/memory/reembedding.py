"""Embedding all stored turns with another model: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.indexing import MAX_BATCH
from ffai.core.memory.vectorise import embed_turns
from ffai.core.similarity import Vector
from ffai.errors import ClosedError

Progress = Callable[[int, int], object]
"""Is told how many turns are done, and how many there are."""


def reindex(collection: Collection, embedder: Embedder, progress: Progress | None = None) -> None:
    """Embed all stored texts with another embedder, then use it; see :meth:`Memory.reindex`."""
    vectors: list[list[Vector]] = []
    epoch = collection.epoch
    while True:
        texts = collection.store._texts(len(vectors))
        for start in range(0, len(texts), MAX_BATCH):
            size = vectors[0][0].size if vectors else None
            vectors += embed_turns(embedder, texts[start : start + MAX_BATCH], size)
            if progress is not None:
                progress(len(vectors), max(len(vectors), collection.store._held()))
        with collection.changing:
            if collection.closed:
                raise ClosedError("The memory was closed, or moved, while it was embedded again.")
            collection.catch_up()
            if epoch != collection.epoch:
                vectors, epoch = [], collection.epoch
            elif collection.store._held() == len(vectors):
                _switch(collection, embedder, vectors)
                return


def _switch(collection: Collection, embedder: Embedder, vectors: list[list[Vector]]) -> None:
    turns = [turn for turn, _ in collection.store._turns()]
    if collection.place is not None:
        pairs, name = list(zip(turns, vectors, strict=True)), embedder_name(embedder)
        collection.did(collection.journal.write(lambda journal: journal.index_again(pairs, name)))
    with collection.switching:
        collection.store._replace(vectors)
        collection.embedder = embedder
    collection.wake()
