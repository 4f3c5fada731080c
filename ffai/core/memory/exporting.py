"""Taking turns out of a memory, as lines of JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffai._atomic import replace_file
from ffai.core.arguments import check_text
from ffai.core.embeddings.protocol import embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.filters import EVERY_TURN, TurnFilter
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.jsonl import line_of
from ffai.core.memory.table import Table
from ffai.core.similarity import Vector
from ffai.errors import ClosedError, InvalidArgumentError, JournalError

_FAR = 1e300
"""No time is as far away: what a file says may be NaN, or a whole number that no float can hold."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Turns of a collection, as they were at one moment."""

    table: Table
    entries: Sequence[int]
    """Which entries of the table; those that come later are not among them."""
    waiting: Sequence[NewTurn]
    """Turns without a vector."""
    model: str
    """What made the vectors, as far as the collection knows."""

    def __len__(self) -> int:
        return len(self.entries) + len(self.waiting)

    def oldest_first(self) -> Iterator[tuple[NewTurn, Sequence[Vector]]]:
        """Yield each turn with its own vector and its parts'; one after the other, so that few are in memory."""
        stored = len(self.entries)
        times: list[float] = []
        for place in range(len(self)):
            turn = self.table.turns[self.entries[place]] if place < stored else self.waiting[place - stored].turn
            times.append(_time_of(json.loads(turn), times[-1] if times else -math.inf))
        for place in sorted(range(len(self)), key=times.__getitem__):
            if place < stored:
                entry = self.entries[place]
                yield self.table.turn(entry), self.table.group(entry)
            else:
                yield self.waiting[place - stored], ()


def _time_of(turn: dict[str, Any], before: float) -> float:
    """Return when a turn was; one that does not say it stays behind the one before it."""
    said = turn.get("timestamp")
    if isinstance(said, (int, float)) and not isinstance(said, bool) and -_FAR < said < _FAR:
        return float(said)
    return before


def select(collection: Collection, wanted: TurnFilter = EVERY_TURN) -> Selection:
    """Take turns of a collection: those that can be found, those that wait, and those that failed.

    Args:
        collection: whose turns they are.
        wanted: what they must be like.

    Raises:
        ClosedError: it is closed while turns wait in its journal.
        JournalError: turns wait in a journal that can't be read just now.
    """
    with collection.changing:  # a turn leaves the waiting ones a moment before it is in the store
        waiting = _waiting(collection)
        wanted = collection.store._settled(wanted, waiting)
        stored = collection.store._select(wanted)
        table, count = stored.table, stored.count
        waiting = [turn for turn in waiting if table.entry_of.get(turn.turn_id, count) >= count and wanted.allows(turn)]
        return Selection(table, stored.entries().tolist(), waiting, embedder_name(collection.embedder))


def _waiting(collection: Collection) -> list[NewTurn]:
    if collection.closed:
        counts = collection.counts()
        if left := counts.pending + counts.failed:
            raise ClosedError(f"The memory is closed, and {left} of its turns wait in the journal. Export it before.")
        return []
    if collection.heal():
        collection.catch_up()
    elif collection.journal.left_waiting or collection.when_healed is not None:
        raise JournalError(f"Turns wait in a journal that can't be read just now: {collection.journal.problem}")
    return collection.journal.read(lambda journal: journal.unembedded())


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file.

    Raises:
        ArgumentTypeError, InvalidArgumentError: it is none.

    Examples:
        >>> checked_path("turns.jsonl").name
        'turns.jsonl'
    """
    text = check_text("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
    if "\0" in text:
        raise InvalidArgumentError(f"path is not the path of a file: {text!r}.")
    return Path(text).expanduser()


def export_turns(selection: Selection, path: Path, *, vectors: bool) -> int:
    """Write turns to a file, whole or not at all.

    Args:
        selection: the turns.
        path: the file to make or replace.
        vectors: whether their vectors are written too.

    Returns:
        How many turns the file has.

    Raises:
        OSError: the file can't be written; one that was there is as it was.
    """

    def write(beside: Path) -> None:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            for turn, of_turn in selection.oldest_first():
                file.write(line_of(turn, selection.model, of_turn if vectors else ()))

    replace_file(path, write)
    return len(selection)


def check_target(path: Path, collection: Collection) -> None:
    """Refuse to write where turns can't be exported to.

    Raises:
        InvalidArgumentError: the path is a folder, or a file of the collection.
    """
    if path.is_dir():
        raise InvalidArgumentError(f"path is a folder: {str(path)!r}. Give the path of a file.")
    place = collection.place
    if place is not None and path.resolve() in (*place.files().values(), place.lock):
        raise InvalidArgumentError(f"path is a file of the memory itself: {str(path)!r}. Export to another one.")
