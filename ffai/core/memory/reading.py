"""Reading a collection as of one moment: what its file holds, and what its journal knows better."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection as Ids
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ffai._atomic import replace_file
from ffai.core.memory.journal_file import Changes
from ffai.core.memory.parquet import FileFacts, read_rows
from ffai.core.memory.place import Place, move_aside
from ffai.core.memory.rows import Rows
from ffai.core.memory.steady_journal import SteadyJournal
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, SchemaVersionError, StoreFileNotFoundError

logger = logging.getLogger(__name__)

TRIES = 5
"""Times that a file is read again because another process has written a newer one meanwhile."""


@dataclass(frozen=True, slots=True)
class Found:
    """A collection's turns, as its files hold them."""

    rows: Rows
    """Those of the memory file."""
    facts: FileFacts
    """What the memory file says of itself."""
    changes: Changes
    """What happened since it was written."""
    unembedded: set[str]
    """Ids of the turns that wait for a vector."""
    parts: dict[str, list[Vector]]
    """Vectors of the parts of long turns, by turn id."""

    def old_rows(self, besides: Ids[str] = ()) -> Rows:
        """Return the rows of the file that nothing has replaced since, without those that have one of the ids."""
        newer = {turn.new.turn_id for turn in self.changes.indexed}
        replaced = {*newer, *self.unembedded, *self.changes.forgotten, *besides}
        each = {turn_id: row for row, turn_id in enumerate(self.rows.ids) if turn_id not in replaced}
        return self.rows.only(list(each.values()))

    def fill(self, store: TurnVectorStore) -> None:
        """Add all turns that have a vector to a store."""
        self.old_rows().add_to(store, self.parts)
        store._put([(turn.new, turn.vectors) for turn in self.changes.indexed])


def read_collection(place: Place, journal: SteadyJournal, notes: list[str]) -> Found:
    """Read what the files of a collection hold. Damaged files are moved aside, and noted.

    Args:
        place: the files.
        journal: the journal, open.
        notes: gets what was found damaged, and where its turns come from.
    """
    for _ in range(TRIES):
        was_cleared = journal.read(lambda journal: journal.fact("clearing"))  # and the files are still there
        rows, facts = (Rows.none(), FileFacts()) if was_cleared else _newest_readable(place, notes)
        changes, unembedded, parts, since = journal.read(
            lambda journal, facts=facts: (  # type: ignore[misc]
                journal.changes_since(facts.change_in(journal.journal_id)),
                journal.unembedded_ids(),
                journal.all_parts(),
                facts.change if facts.journal_id == journal.journal_id else None,
            )
        )
        if since is None or changes.complete_from <= since:
            break  # else another process has written the file since, and dropped from the journal what it holds
    if since is not None and since < changes.cleared_at:
        rows = Rows.none()  # the process that cleared it ended before it could remove the file
    return Found(rows, facts, changes, unembedded, parts)


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
            note = f"{place.file.name!r} is gone or damaged; {len(rows)} turns come from {path.name!r}."
            _say(note, notes, logging.WARNING)
            _restore(place)
        return rows, facts
    return Rows.none(), FileFacts()


def _restore(place: Place) -> None:
    """Make the memory file from its backup, so that there are two of them again."""
    if not place.file.exists():
        with suppress(OSError):  # it is made when the next turns are saved
            replace_file(place.file, partial(shutil.copyfile, place.backup))


def _set_aside(path: Path, error: Exception, notes: list[str]) -> None:
    try:
        aside = move_aside(path)
    except OSError as problem:
        _say(f"{error} It can't be moved aside either: {problem}", notes)
    else:
        _say(
            f"{error} It was moved to {aside.name!r}; its turns come from the other files where they hold them.", notes
        )


def _say(note: str, notes: list[str], level: int = logging.ERROR) -> None:
    logger.log(level, "%s", note)
    notes.append(note)
