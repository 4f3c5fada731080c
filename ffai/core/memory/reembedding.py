"""Embedding all stored turns with another model: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.indexing import MAX_BATCH
from ffai.core.memory.vectorise import embed_turns
from ffai.core.similarity import Vector
from ffai.errors import ClosedError, StoreError

Progress = Callable[[int, int], object]
"""Is told how many turns are done, and how many there are."""


def reindex(collection: Collection, embedder: Embedder, progress: Progress | None = None) -> None:
    """Embed all stored texts with another embedder, then use it; see :meth:`Memory.reindex`."""
    vectors: dict[str, list[Vector]] = {}  # by text: turns come, go and change places meanwhile
    while True:
        _refuse_a_third_model(collection, embedder)
        _embed_missing(collection, embedder, vectors, progress)
        with collection.changing:
            if collection.closed:
                raise ClosedError("The memory was closed, or moved, while it was embedded again.")
            known = collection.journal.read(lambda journal: journal.last_change())
            collection.catch_up()
            texts = collection.store._texts()
            if all(text in vectors for text in texts):
                _refuse_a_third_model(collection, embedder)
                if _switch(collection, embedder, [vectors[text] for text in texts], known):
                    return


def _refuse_a_third_model(collection: Collection, embedder: Embedder) -> None:
    other = collection.follower.model if collection.follower else None
    if other not in (None, embedder_name(embedder)):
        raise StoreError(
            f"Another process has embedded the turns with {other!r} meanwhile, and this one does not have all of them. "
            "Start it anew, then change the model."
        )


def _embed_missing(
    collection: Collection, embedder: Embedder, vectors: dict[str, list[Vector]], progress: Progress | None
) -> None:
    texts = collection.store._texts()
    missing = list(dict.fromkeys(text for text in texts if text not in vectors))
    size = next((group[0].size for group in vectors.values()), None)
    for start in range(0, len(missing), MAX_BATCH):
        some = missing[start : start + MAX_BATCH]
        groups = embed_turns(embedder, some, size)
        vectors.update(zip(some, groups, strict=True))
        size = groups[0][0].size
        if progress is not None:
            progress(len(texts) - max(0, len(missing) - start - len(some)), len(texts))


def _switch(collection: Collection, embedder: Embedder, vectors: list[list[Vector]], known: int) -> bool:
    """Exchange all vectors; ``False``, with nothing done, where another process has cleared all since a change."""
    turns = [turn for turn, _ in collection.store._turns()]
    if collection.place is not None:
        pairs, name = list(zip(turns, vectors, strict=True)), embedder_name(embedder)
        changes = collection.journal.write(lambda journal: journal.index_again(pairs, name, since=known))
        if changes is None:
            return False
        collection.did(changes)
    with collection.switching:
        collection.store._replace(vectors)
        collection.embedder = embedder
    collection.knowledge.embed_again()
    collection.wake()
    return True
