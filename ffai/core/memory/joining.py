"""Joining the turns of stores and collections, each turn once."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.journal_file import Contents
from ffai.core.memory.turn_store import TurnVectorStore

logger = logging.getLogger(__name__)


def adopt(collection: Collection, store: TurnVectorStore) -> None:
    """Search in another store from now on. Where turns are persisted, both stores' turns are joined in it."""
    with collection.changing:
        if collection.place is not None:
            mine, theirs = collection.store._turns(), store._turns()
            known, given = ({turn.turn_id for turn, _ in turns} for turns in (mine, theirs))
            store._put([(turn, vectors) for turn, vectors in mine if turn.turn_id not in given])
            collection.keep([(turn, vectors) for turn, vectors in theirs if turn.turn_id not in known])
        collection.epoch += 1
        collection.store = store


def take_in(collection: Collection, store: TurnVectorStore, embedder: Embedder) -> None:
    """Join the turns of another store, each once; those that another model embedded are embedded again.

    Args:
        collection: gets the turns.
        store: the turns; it is left as it is.
        embedder: what made their vectors.
    """
    with collection.changing:
        known = {*collection.store._ids(), *collection.journal.read(lambda journal: journal.unembedded_ids())}
        new = [(turn, vectors) for turn, vectors in store._turns() if turn.turn_id not in known]
        name, theirs = embedder_name(collection.embedder), embedder_name(embedder)
        if name == theirs:
            collection.take(new)
            collection.wake()
            return
        logger.warning("The files are in use with the embedding model %r; %r is not used.", name, theirs)
        collection.embed_again([turn for turn, _ in new])


def move_to(collection: Collection, open_it: Callable[[], Collection]) -> Collection:
    """Open another collection, give it what only this one's journal has, and end it. Nothing is indexed meanwhile."""
    with collection.changing:
        other = open_it()
        own = collection.journal.read(lambda journal: journal.contents())
        moved = Contents(arrivals=own.arrivals, knowledge=own.knowledge, threads=own.threads)
        other.journal.write(lambda journal: journal.take_over(moved))
        collection.end_now()
    other.wake()
    return other
