"""Opening a collection: what its files hold, what is damaged, and where the rest of it is."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ffai._atomic import replace_file
from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.parquet import FileFacts, read_facts, read_rows
from ffai.core.memory.place import Place, move_aside
from ffai.core.memory.rows import Rows
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, SchemaVersionError, StoreFileNotFoundError

if TYPE_CHECKING:
    pass

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
    notes: list[str] = []
    in_file, facts = _newest_readable(place, notes)
    collection = Collection(embedder, store, place, durability)
    collection.notes = notes
    if collection.saver is not None:
        collection.saver.found(len(in_file.turns), facts)
    if not collection.journal.healthy:
        collection.when_healed = partial(_bring_in, collection, in_file, facts)
    try:
        _bring_in(collection, in_file, facts)
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


def _newest_readable(place: Place, notes: list[str]) -> tuple[Rows, FileFacts]:
    """Read the memory file, or else the one before it."""
    for path in (place.file, place.backup):
        try:
            rows, facts = read_rows(path)
        except StoreFileNotFoundError:
            continue
        except (DamagedFileError, SchemaVersionError) as error:
            _set_aside(path, error, notes)
            continue
        except OSError as error:  # not the file's fault: it is left where it is, and not written over either
            _say(f"{path.name!r} can't be opened: {error}", notes)
            continue
        if path == place.backup:
            note = f"{place.file.name!r} is gone or damaged; {len(rows.turns)} turns come from {path.name!r}."
            _say(note, notes, logging.WARNING)
            _restore(place)
        return rows, facts
    return Rows.journaled([]), FileFacts()


def _restore(place: Place) -> None:
    """Make the memory file from its backup, so that there are two of them again."""
    if not place.file.exists():
        with suppress(OSError):  # it is made when the next turns are saved
            replace_file(place.file, partial(shutil.copyfile, place.backup))


def _set_aside(path: Path, error: Exception, notes: list[str]) -> Path | None:
    try:
        aside = move_aside(path)
    except OSError as problem:
        _say(f"{error} It can't be moved aside either: {problem}", notes)
        return None
    _say(f"{error} It was moved to {aside.name!r}; its turns come from the other files where they hold them.", notes)
    return aside


def _say(note: str, notes: list[str], level: int = logging.ERROR) -> None:
    logger.log(level, "%s", note)
    notes.append(note)


def _bring_in(collection: Collection, in_file: Rows, facts: FileFacts) -> None:
    """Join the turns of the file, of the journal and of the store, each once; the store then holds them all."""
    indexed, unembedded, parts, model = collection.journal.read(
        lambda journal: (
            journal.indexed_since(facts.change_in(journal.journal_id)),
            journal.unembedded_ids(),
            journal.all_parts(),
            journal.fact("model"),
        )
    )
    newer = {turn.new.turn_id: turn for turn in indexed}
    collection.journal.write(lambda journal: journal.start_above(facts.change))
    in_store = {turn.turn_id: (turn, vectors) for turn, vectors in collection.store._turns()}
    known = {*newer, *unembedded, *in_store}
    chosen = [row for row, turn in enumerate(in_file.turns) if turn.turn_id not in known]
    _take(collection, in_file.only(chosen), facts.model, parts)
    if newer:
        rows = Rows.journaled([turn for turn_id, turn in newer.items() if turn_id not in in_store])
        _take(collection, rows, model, parts)
    kept = {*newer, *unembedded, *(turn.turn_id for turn in in_file.turns)}
    collection.keep([pair for turn_id, pair in in_store.items() if turn_id not in kept])
    collection.journal.write(lambda journal: journal.note("model", embedder_name(collection.embedder)))
    if collection.journal.read(lambda journal: journal.count_unembedded()):
        collection.wake()


def _take(collection: Collection, rows: Rows, model: str | None, parts: dict[str, list[Vector]]) -> None:
    """Put rows in the store; those of another model are embedded again."""
    if not rows.turns:
        return
    if _is_of_another_model(collection.embedder, model, rows.vectors.shape[1]):
        collection.embed_again(rows.turns)
        return
    if model is None:
        collection.model_is_unknown = True
    rows.add_to(collection.store, parts)


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
