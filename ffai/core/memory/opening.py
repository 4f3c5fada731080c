"""Opening a collection: what its files hold, what is damaged, and where the rest of it is."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Literal

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.expiring import Expiring
from ffai.core.memory.forgetting import tell_what_others_forgot
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.parquet import read_facts
from ffai.core.memory.place import Place
from ffai.core.memory.reading import read_collection
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.errors import ModelChangedError

logger = logging.getLogger(__name__)

OnModelChange = Literal["reindex", "error"]


def open_collection(
    embedder: Embedder,
    place: Place,
    store: TurnVectorStore,
    *,
    durability: Durability = "process",
    on_model_change: OnModelChange = "reindex",
) -> Collection:
    """Open a collection and bring its turns into a store.

    Damaged files are moved aside and said at ERROR; what they held comes from the other files. Turns whose vectors
    are of another model are embedded again in the background.

    Args:
        embedder: makes the vectors from now on.
        place: the files.
        store: where the turns go; those it holds already become part of the collection.
        durability: see :class:`~ffai.core.memory.journal.Journal`.
        on_model_change: what to do about vectors of another model: ``"reindex"`` them, or raise an ``"error"``.

    Raises:
        ModelChangedError: the vectors are of another model, and that is to be an error. Nothing is changed.
    """
    collection = Collection(embedder, store, place, durability)
    collection.chores += [partial(tell_what_others_forgot, collection), Expiring(collection)]
    if not collection.journal.healthy:
        collection.when_healed = partial(_bring_in, collection, "reindex")  # nobody is there to be told
    with ExitStack() as opening:
        opening.callback(collection.close, 0.0)
        _bring_in(collection, on_model_change)
        opening.pop_all()
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


def _bring_in(collection: Collection, on_model_change: OnModelChange) -> None:
    """Join the turns of the files and of the store, each once; the store then holds them all."""
    assert collection.place and collection.saver and collection.follower  # noqa: S101, PT018 - it is opened on files
    found = read_collection(collection.place, collection.journal, collection.notes)
    in_file, changes = found.facts, found.changes
    given = {turn.turn_id: (turn, vectors) for turn, vectors in collection.store._turns()}
    old = found.old_rows(besides=given)
    newer = [(turn.new, turn.vectors) for turn in changes.indexed if turn.new.turn_id not in given]
    vectors = _Vectors(collection.embedder, on_model_change)
    old_fit = not len(old) or vectors.fit(in_file.model, old.vectors.shape[1])
    newer_fit = not newer or vectors.fit(changes.model, newer[0][1][0].size)
    collection.model_is_unknown = vectors.are_unknown
    collection.saver.found(len(found.rows), in_file)
    collection.journal.write(lambda journal: journal.start_above(in_file.change))
    if old_fit:
        old.add_to(collection.store, found.parts)
    if newer_fit:
        collection.store._put(newer)
    others = [*([] if old_fit else old.turns()), *([] if newer_fit else [turn for turn, _ in newer])]
    if others:
        collection.embed_again(others)
    known = {turn.new.turn_id for turn in changes.indexed} | found.unembedded
    known.update(found.rows.ids)
    collection.keep([pair for turn_id, pair in given.items() if turn_id not in known])
    collection.journal.write(lambda journal: journal.note("model", embedder_name(collection.embedder)))
    collection.follower.begin(found)
    is_forgetting = collection.journal.read(lambda journal: journal.fact("forgetting") is not None)
    if found.unembedded or is_forgetting or collection.store._expired(time.time()):
        collection.wake()


class _Vectors:
    """Tells which vectors are of an embedder: by its name; where none is noted, by their size."""

    def __init__(self, embedder: Embedder, on_model_change: OnModelChange) -> None:
        self._name, self._size = embedder_name(embedder), getattr(embedder, "dimensions", None)
        self._on_model_change = on_model_change
        self.are_unknown = False
        """Whether some have no name: the first vector of the embedder will tell."""

    def fit(self, model: str | None, dimensions: int) -> bool:
        """Tell whether vectors of a model can be used as they are."""
        is_other = model is not None and model != self._name
        if not is_other and self._size in (None, dimensions):
            if model is None:
                self.are_unknown = True
                logger.info(
                    "The memory file does not say which model made its vectors; %r is taken to be it.", self._name
                )
            return True
        if self._on_model_change == "error":
            raise ModelChangedError(model, self._name, dimensions)
        if is_other:
            logger.warning("The stored turns were embedded by %r; they are embedded again by %r.", model, self._name)
        else:
            logger.warning(
                "The stored vectors have %d numbers, those of %r have %d; the turns are embedded again.",
                dimensions, self._name, self._size,
            )  # fmt: skip
        return False
