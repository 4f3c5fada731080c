"""Opening a collection: what its files hold, what is damaged, and where the rest of it is."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from functools import partial

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.forgetting import finish_forgetting
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.parquet import read_facts
from ffai.core.memory.place import Place
from ffai.core.memory.reading import read_collection
from ffai.core.memory.turn_store import TurnVectorStore

logger = logging.getLogger(__name__)


def open_collection(
    embedder: Embedder, place: Place, store: TurnVectorStore, *, durability: Durability = "process"
) -> Collection:
    """Open a collection and bring its turns into a store.

    Damaged files are moved aside and said at ERROR; what they held comes from the other files. Turns whose vectors
    are of another model are embedded again in the background.

    Args:
        embedder: makes the vectors from now on.
        place: the files.
        store: where the turns go; those it holds already become part of the collection.
        durability: see :class:`~ffai.core.memory.journal.Journal`.
    """
    collection = Collection(embedder, store, place, durability)
    collection.chores.append(partial(finish_forgetting, collection))
    if not collection.journal.healthy:
        collection.when_healed = partial(_bring_in, collection)
    try:
        _bring_in(collection)
    except BaseException:
        collection.close(0.0)
        raise
    return collection


def remembered_model(place: Place) -> str | None:
    """Return the name of the model that made a collection's vectors; ``None`` where no file says so."""
    for path in (place.file, place.backup):
        if (model := read_facts(path).model) is not None:
            return model
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{place.journal.absolute().as_uri()}?mode=ro", uri=True)) as journal,
    ):
        row = journal.execute(
            "SELECT value FROM facts WHERE name = 'model' AND EXISTS (SELECT * FROM indexed)"  # else it made no vector
        ).fetchone()
        return str(row[0]) if row else None
    return None


def _bring_in(collection: Collection) -> None:
    """Join the turns of the files and of the store, each once; the store then holds them all."""
    assert collection.place and collection.saver and collection.follower  # noqa: S101, PT018 - it is opened on files
    found = read_collection(collection.place, collection.journal, collection.notes)
    in_file, changes = found.facts, found.changes
    given = {turn.turn_id: (turn, vectors) for turn, vectors in collection.store._turns()}
    old = found.old_rows(besides=given)
    newer = [(turn.new, turn.vectors) for turn in changes.indexed if turn.new.turn_id not in given]
    collection.saver.found(len(found.rows.turns), in_file)
    collection.journal.write(lambda journal: journal.start_above(in_file.change))
    if old.turns and not _is_replaced(collection, old.turns, in_file.model, old.vectors.shape[1]):
        old.add_to(collection.store, found.parts)
    if newer and not _is_replaced(collection, [turn for turn, _ in newer], changes.model, newer[0][1][0].size):
        collection.store._put(newer)
    known = {turn.new.turn_id for turn in changes.indexed} | found.unembedded
    known |= {turn.turn_id for turn in found.rows.turns}
    collection.keep([pair for turn_id, pair in given.items() if turn_id not in known])
    collection.journal.write(lambda journal: journal.note("model", embedder_name(collection.embedder)))
    collection.follower.begin(found)
    if found.unembedded:
        collection.wake()


def _is_replaced(collection: Collection, turns: list[NewTurn], model: str | None, dimensions: int) -> bool:
    """Let turns whose vectors are of another model be embedded again; tells whether they are."""
    if _is_of_another_model(collection.embedder, model, dimensions):
        collection.embed_again(turns)
        return True
    if model is None:
        collection.model_is_unknown = True
    return False


def _is_of_another_model(embedder: Embedder, model: str | None, dimensions: int) -> bool:
    """Compare by name; where a file does not tell, by the size of its vectors."""
    name, size = embedder_name(embedder), getattr(embedder, "dimensions", None)
    if model is not None and model != name:
        logger.warning("The stored turns were embedded by %r; they are embedded again by %r.", model, name)
        return True
    if isinstance(size, int) and size != dimensions:
        logger.warning(
            "The stored vectors have %d numbers, those of %r have %d; the turns are embedded again.",
            dimensions, name, size,
        )  # fmt: skip
        return True
    if model is None:
        logger.info("The memory file does not say which model made its vectors; %r is taken to be it.", name)
    return False
