"""Rewriting a memory file without some of its turns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ffai._atomic import replace_file
from ffai.core.memory.elsewhere import with_polars
from ffai.core.memory.parquet import read_file, write_frame
from ffai.core.memory.row_ids import row_ids


def drop_rows(path: Path, turn_ids: Iterable[str]) -> int:
    """Drop turns from a memory file, whole and atomically; the old file is gone then, without a backup.

    What is left keeps its order, its values to the last bit, and what the file says of itself. Nobody else may write
    the file meanwhile.

    Args:
        path: the memory file.
        turn_ids: as :func:`~ffai.core.memory.row_ids.row_ids` gives them; those that are not in it do no harm.

    Returns:
        How many rows were dropped; for 0 nothing is written.

    Raises:
        StoreFileNotFoundError: there is no such file.
        SchemaVersionError: it is of another version.
        DamagedFileError: it is no memory file, or is damaged.
        OSError: it can't be read or written; it is as it was.
        StoreError: the disk is full; it is as it was.

    Examples:
        >>> import tempfile
        >>> import numpy as np
        >>> from ffai.core.memory.identity import NewTurn
        >>> from ffai.core.memory.parquet import FileFacts, frame_of, write_frame
        >>> notes = '{"metadata": {"ffai": {"turn_id": "a1"}}}', '{"metadata": {"ffai": {"turn_id": "b2"}}}'
        >>> turns = [NewTurn("a1", "a", notes[0], "{}"), NewTurn("b2", "b", notes[1], "{}")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "turns.parquet")
        ...     write_frame(frame_of(turns, np.eye(2)), path, FileFacts())
        ...     drop_rows(path, ["a1", "c3"]), read_file(path)[0]["text"].to_list()
        (1, ['b'])
    """
    return with_polars(_drop_rows, path, frozenset(turn_ids))


def _drop_rows(path: Path, turn_ids: frozenset[str]) -> int:
    import polars as pl

    frame, facts = read_file(path)
    kept = pl.Series([turn_id not in turn_ids for turn_id in row_ids(frame)], dtype=pl.Boolean)
    dropped = len(frame) - int(kept.sum())
    if dropped:
        left = frame.filter(kept)
        replace_file(path, lambda beside: write_frame(left, beside, facts))
    return dropped
