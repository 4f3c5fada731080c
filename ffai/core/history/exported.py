"""Dropping turns from histories that were exported: now or by an earlier run, under this name or another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ffai._atomic import replace_file
from ffai.core.memory.elsewhere import with_polars
from ffai.errors import StoreError

if TYPE_CHECKING:
    import polars as pl

_ENDINGS = ("_history.parquet", "_ordered.parquet")  # the first is also the end of "_clean_history.parquet"
_UNFINISHED = re.compile(r"\..*_(?:history|ordered)\.parquet\.(\d+)\.\d+\.tmp", re.DOTALL)  # process, thread
_OF_ARROW = "ARROW:schema"


class Dropped(NamedTuple):
    """What became of the files of a folder."""

    rows: int
    """How many were dropped."""
    left: dict[Path, str]
    """The files that may still hold some, and why."""


def drop_turns(folder: Path, turn_ids: Set[str]) -> Dropped:
    """Drop the rows of turns from the exported histories in a folder, each file whole or not at all.

    A file without such rows is left as it is. In one with them, the other rows stay as they are, and in order.
    What is left of exports that were broken off is removed. Nobody in this process may be exporting just now.

    Examples:
        >>> drop_turns(Path("no-such-folder"), {"some-turn"})
        Dropped(rows=0, left={})
    """
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return Dropped(0, {})
    except OSError as error:
        return Dropped(0, {folder: str(error)})
    left = dict(_remove_broken_off([folder / name for name in names if _UNFINISHED.fullmatch(name)]))
    paths = [folder / name for name in names if name.endswith(_ENDINGS)]
    if not paths:
        return Dropped(0, left)
    try:
        dropped = with_polars(_drop_rows, paths, frozenset(turn_ids))
    except StoreError as error:
        return Dropped(0, left | dict.fromkeys(paths, str(error)))
    return Dropped(dropped.rows, left | dropped.left)


def _drop_rows(paths: list[Path], turn_ids: frozenset[str]) -> Dropped:
    from polars.exceptions import PanicException, PolarsError

    rows, left = 0, {}
    for path in paths:
        try:
            rows += _drop_from(path, turn_ids)
        except FileNotFoundError:  # somebody has removed it meanwhile
            continue
        except (OSError, PolarsError, PanicException, ValueError) as error:
            left[path] = f"{type(error).__name__}: {error}"
    return Dropped(rows, left)


def _drop_from(path: Path, turn_ids: frozenset[str]) -> int:
    frame, facts = _read(path, turn_ids)
    if frame is None:
        return 0
    kept = frame.filter(~_is_of(turn_ids))
    replace_file(path, partial(_write, kept, facts))
    return frame.height - kept.height


def _read(path: Path, turn_ids: frozenset[str]) -> tuple[pl.DataFrame | None, dict[str, str]]:
    """Read a file, and what it says of itself; nothing where it has no row of these turns."""
    import polars as pl

    with path.open("rb") as file:  # given a path, polars would take "[" and "*" in it for a pattern
        columns = pl.read_parquet_schema(file)
        if "turn_id" not in columns:
            if {"prompt", "response"} <= columns.keys():
                raise ValueError("it does not say which turn a row is of (no column 'turn_id')")
            return None, {}
        file.seek(0)
        ids = pl.read_parquet(file, columns=["turn_id"], memory_map=False)
        if not ids.select(_is_of(turn_ids).any()).item():
            return None, {}
        file.seek(0)
        facts = pl.read_parquet_metadata(file)
        file.seek(0)
        return pl.read_parquet(file, memory_map=False), {key: facts[key] for key in facts if key != _OF_ARROW}


def _is_of(turn_ids: frozenset[str]) -> pl.Expr:
    import polars as pl

    ids = pl.Series(sorted(turn_ids), dtype=pl.String)
    return pl.col("turn_id").cast(pl.String).is_in(ids.implode()).fill_null(False)


def _write(kept: pl.DataFrame, facts: dict[str, str], beside: Path) -> None:
    with beside.open("wb") as file:
        kept.write_parquet(file, metadata=facts)


def _remove_broken_off(paths: list[Path]) -> Iterator[tuple[Path, str]]:
    """Remove the files that nobody finishes writing; yield the others, and why they stay."""
    for path in paths:
        if _is_being_written(path):
            yield path, "another process is writing it"
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            yield path, str(error)


def _is_being_written(path: Path) -> bool:
    """Tell whether another process that lives has begun a file."""
    process = int(path.name.split(".")[-3])
    if process == os.getpid():
        return False
    if os.name == "nt":
        return True  # a signal would end the process there, also the one that only asks
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
