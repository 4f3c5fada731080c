"""Looking whether a collection's files are whole, and putting right what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ffai.core.embeddings.protocol import embedder_name
from ffai.core.memory.collection import Collection
from ffai.core.memory.parquet import read_rows
from ffai.core.memory.place import Place, move_aside
from ffai.core.memory.rows import Rows
from ffai.errors import StoreError, StoreFileNotFoundError


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found when a memory was looked over."""

    turns: Mapping[str, int] = field(default_factory=dict)
    """How many turns are where: ``memory``, ``file``, ``backup``, ``journal`` (not in the file yet), ``waiting``,
    ``failed``."""
    problems: tuple[str, ...] = ()
    """What is wrong, a sentence each; ``repair()`` puts it right."""
    set_aside: tuple[Path, ...] = ()
    """Damaged files of earlier times; what could be read of them is in the memory."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(collection: Collection) -> VerifyReport:
    """Look over files, journal and memory; see :meth:`Memory.verify`."""
    look = _Look(collection)
    return VerifyReport(look.turns, tuple(look.problems), tuple(look.set_aside))


def repair(collection: Collection) -> None:
    """Put right what :func:`verify` finds. The journal gets what the files lack; the worker writes it to the file."""
    if collection.place is None or collection.saver is None:
        return
    with collection.saver.kept_still(), collection.changing:
        collection.catch_up()
        look = _Look(collection)
        for path in look.damaged:
            move_aside(path)
        in_file = set(look.ids["file"]) if collection.place.file not in look.damaged else set()
        known = in_file | collection.journal.read(lambda journal: journal.ids())
        turns = collection.store._turns()
        collection.keep([(turn, vectors) for turn, vectors in turns if turn.turn_id not in known])
        if look.unseen and collection.follower is not None:
            collection.follower.read_again(collection.store)
        unsearchable = [turn for turn, vectors in turns if not np.any(vectors[0])]
        if unsearchable:
            collection.embed_again(unsearchable)
            collection.store._drop({turn.turn_id for turn in unsearchable})
    collection.saver.ask()
    collection.wake()


class _Look:
    """One look over everything."""

    def __init__(self, collection: Collection) -> None:
        self.turns: dict[str, int] = {}
        self.problems: list[str] = []
        self.damaged: list[Path] = []
        self.unseen: set[str] = set()
        self.ids: dict[str, list[str]] = {"file": [], "backup": []}
        with collection.changing:
            collection.catch_up()
            stored = set(collection.store._ids())
            waiting = collection.journal.read(lambda journal: journal.unembedded_ids())
            failed = {turn.turn_id for turn in collection.journal.read(lambda journal: journal.failed())}
            self.turns |= {"memory": len(stored), "waiting": len(waiting - failed), "failed": len(failed)}
            self.set_aside = collection.place.set_aside() if collection.place else []
            if collection.place is not None:
                self._look_at_files(collection, collection.place, stored, waiting)
        if (problem := collection.status().problem) is not None:
            self.problems.append(problem)

    def _look_at_files(self, collection: Collection, place: Place, stored: set[str], waiting: set[str]) -> None:
        for name, path in (("file", place.file), ("backup", place.backup)):
            rows = self._read(path)
            self.ids[name] = list(rows.ids)
            self.turns[name] = len(rows)
            if path == place.file:
                self._look_at_rows(path, rows)
        faults = collection.journal.read(lambda journal: journal.faults())
        self.problems += [f"{place.journal.name!r}: {fault}" for fault in faults]
        journaled = collection.journal.read(lambda journal: journal.ids()) - waiting
        self.turns["journal"] = len(journaled)
        self._compare(place, stored, journaled, waiting)
        model = collection.journal.read(lambda journal: journal.fact("model"))
        if model not in (None, embedder_name(collection.embedder)):
            self.problems.append(f"The turns are {model!r}'s by now, not {embedder_name(collection.embedder)!r}'s.")

    def _read(self, path: Path) -> Rows:
        try:
            rows, _ = read_rows(path)
        except StoreFileNotFoundError:
            return Rows.none()
        except (StoreError, OSError) as error:
            self.problems.append(str(error))
            self.damaged.append(path)
            return Rows.none()
        return rows

    def _look_at_rows(self, path: Path, rows: Rows) -> None:
        if unsearchable := int((~rows.vectors.any(axis=1)).sum()):
            self.problems.append(f"{path.name!r}: {unsearchable} turns have a vector that can't be searched.")
        repeated = [turn_id for turn_id, times in Counter(rows.ids).items() if times > 1]
        if repeated:
            self.problems.append(f"{path.name!r}: {len(repeated)} turns are there more than once.")
            self.damaged.append(path)

    def _compare(self, place: Place, stored: set[str], journaled: set[str], waiting: set[str]) -> None:
        kept = {*self.ids["file"], *journaled}
        if missing := stored - kept:
            self.problems.append(f"{len(missing)} turns are in memory and not in {place.file.name!r} or the journal.")
        self.unseen = kept - stored - waiting
        if self.unseen:
            self.problems.append(f"{len(self.unseen)} turns of the files are not in memory.")
