"""Taking turns out of the files of a collection, those that were moved aside as well."""

from __future__ import annotations

import os
from collections.abc import Collection as Ids
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ffai._atomic import remove_unfinished
from ffai.core.memory.dropping import drop_rows
from ffai.core.memory.journal import Journal
from ffai.core.memory.place import Place
from ffai.core.memory.salvage import salvage
from ffai.errors import DamagedFileError, SchemaVersionError, StoreError, StoreFileNotFoundError


def erase(place: Place, turn_ids: Ids[str]) -> dict[str, int]:
    """Take turns out of the files. Nobody else writes them meanwhile.

    Returns:
        How many rows were removed from ``file``, ``backup`` and ``set_aside``. A file that was moved aside and that
        can't be read is removed whole, and counts as one.

    Raises:
        StoreError: a file can't be written; what it holds is still there.
    """
    try:
        remove_unfinished(place.file, place.backup)
        return {
            "file": _drop(place.file, turn_ids),
            "backup": _drop(place.backup, turn_ids),
            "set_aside": sum(_drop_aside(path, turn_ids) for path in place.set_aside()),
        }
    except OSError as error:
        raise StoreError(f"What was forgotten is in the files until they can be written: {error}.") from error


def erase_all(place: Place) -> None:
    """Remove the files but the journal, with what was moved aside. Nobody else writes them meanwhile.

    Raises:
        StoreError: one can't be removed; what it holds is still there.
    """
    remove_unfinished(place.file, place.backup)
    try:
        for path in (place.backup, place.file, *place.set_aside()):  # else a reader would take the backup for the rest
            for name in (f"{path}-wal", f"{path}-shm", path):
                Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"What was forgotten is in the files until they can be removed: {error}.") from error


def erase_knowledge(place: Place) -> None:
    """Take knowledge and threads out of the journals that were moved aside.

    Raises:
        StoreError: one can't be written; what it holds is still there.
    """
    try:
        for path in place.set_aside():
            if _is_journal(path):
                _drop_from_journal(path, ())
    except OSError as error:
        raise StoreError(f"What was forgotten is in the files until they can be written: {error}.") from error


def _is_journal(path: Path) -> bool:
    return ".sqlite3." in path.name


def _drop(path: Path, turn_ids: Ids[str]) -> int:
    with suppress(StoreFileNotFoundError):
        return drop_rows(path, turn_ids)
    return 0


def _drop_aside(path: Path, turn_ids: Ids[str]) -> int:
    if _is_journal(path):
        return _drop_from_journal(path, turn_ids)
    try:
        return _drop(path, turn_ids)
    except (DamagedFileError, SchemaVersionError):
        path.unlink()
        return 1


def _drop_from_journal(path: Path, turn_ids: Ids[str]) -> int:
    """Put a sound journal with the rest in the place of a damaged one, but for knowledge and threads.

    What could be read of these is in the journal that took its place.
    """
    found = salvage(path)
    rest = replace(
        found,
        knowledge=(),
        threads=(),
        **{
            name: [row for row in getattr(found, name) if row[0] not in turn_ids]
            for name in ("arrivals", "indexed", "parts")
        },
    )
    beside = path.with_name(f".{path.name}.tmp")
    beside.unlink(missing_ok=True)
    journal = Journal(beside)
    journal.take_over(rest)
    journal.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    os.replace(beside, path)
    return len(found.arrivals) + len(found.indexed) - len(rest.arrivals) - len(rest.indexed)
