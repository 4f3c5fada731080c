"""The memory file: one Parquet file, five columns, one row a turn.

Facts about the file (which journal it belongs to, how far it holds it, which model made the vectors) are key-value
metadata of the file. They may be absent: other programs write the same columns without them.

Written with LZ4, not with what polars chooses: 100,000 turns take 280 MB instead of 200, half the time to read and a
third of it to write.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffai._atomic import replace_file
from ffai.core.memory.checksum import NO_SUM, is_as_written, write_sum
from ffai.core.memory.columns import COLUMNS, SCHEMA_VERSION, check_columns, vectors_of
from ffai.core.memory.elsewhere import with_polars
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.row_ids import noted_ids, with_content_ids
from ffai.core.memory.rows import Rows
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, StoreError, StoreFileNotFoundError

if TYPE_CHECKING:
    import polars as pl

ROWS_A_GROUP = 8192
"""Rows that are compressed together: several of these are read and written side by side."""
_FACTS = "ffai"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a memory file says of itself."""

    journal_id: str | None = None
    """The journal whose changes it holds."""
    change: int = 0
    """Number of the last change it holds."""
    model: str | None = None
    """Name of the embedding model."""

    def change_in(self, journal_id: str) -> int:
        """Return up to which change it holds a journal: none of another journal's."""
        return self.change if self.journal_id == journal_id else 0


def persist_store(store: TurnVectorStore, path: str | Path) -> None:
    """Write all turns of a store to a file; one that is there is replaced, whole and atomically.

    Args:
        store: the turns.
        path: the Parquet file; its folder is made if it is missing.

    Raises:
        OSError: the file can't be written; one that was there is as it was.
        StoreError: the same, because the disk is full.

    Examples:
        >>> import tempfile
        >>> store = TurnVectorStore()
        >>> _ = store.add("How?", [1.0, 0.0], {"role": "user"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     persist_store(store, f"{folder}/turns.parquet")
        ...     load_store(f"{folder}/turns.parquet").count()
        1
    """
    with_polars(_persist, *store._columns(), Path(path))


def _persist(turns: list[NewTurn], vectors: Vector, path: Path) -> None:
    frame = frame_of(turns, vectors)
    replace_file(path, lambda beside: write_frame(frame, beside, FileFacts()))


def load_store(path: str | Path) -> TurnVectorStore:
    """Read the turns of a file.

    Raises:
        StoreFileNotFoundError: there is no such file (a ``FileNotFoundError``).
        SchemaVersionError: it is of another version (a ``ValueError``).
        DamagedFileError: it is no such file, or is cut, or lacks columns (a ``ValueError``).
        OSError: it can't be opened.
    """
    rows, _ = read_rows(Path(path))
    store = TurnVectorStore()
    rows.add_to(store)
    return store


def read_rows(path: Path) -> tuple[Rows, FileFacts]:
    """Read the turns of a memory file, and what it says of itself. Raises as :func:`load_store`."""
    return with_polars(_read_rows, path)


def _read_rows(path: Path) -> tuple[Rows, FileFacts]:
    frame, noted, facts = _read_whole(path)
    texts, turns, metadata = (frame[name].to_list() for name in ("text", "turn", "metadata"))
    return Rows((with_content_ids(noted, frame), texts, turns, metadata), vectors_of(frame, str(path))), facts


def read_file(path: Path) -> tuple[pl.DataFrame, FileFacts]:
    """Read a memory file: its five columns, and what it says of itself. Raises as :func:`load_store`."""
    frame, _, facts = _read_whole(path)
    return frame, facts


def _read_whole(path: Path) -> tuple[pl.DataFrame, pl.Series, FileFacts]:
    """Read a memory file: its columns, the ids that ffai noted in its turns, and what it says of itself."""
    import polars as pl

    if not path.exists():
        raise StoreFileNotFoundError(path)
    try:
        with path.open("rb") as file:  # given a path, polars would take "[" and "*" in it for a pattern
            told = _told(pl.read_parquet_metadata(file))
            if not is_as_written(file, told.get("sum")):
                raise ValueError("bytes in it have changed since it was written")
            file.seek(0)
            frame = pl.read_parquet(file, memory_map=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        raise DamagedFileError(path, f"{error}") from error
    noted = noted_ids(frame) if frame.schema.get("turn") == pl.String else None
    check_columns(path, frame, noted)
    blanks = [pl.col(name).fill_null(blank) for name, blank in (("text", ""), ("turn", "{}"), ("metadata", "{}"))]
    vectors = pl.col("embedding").cast(pl.List(pl.Float64))
    whole = frame.select(COLUMNS).with_columns(*blanks, vectors)
    return whole, noted_ids(whole) if noted is None else noted, _facts_from(told)


def read_facts(path: Path) -> FileFacts:
    """Read what a memory file says of itself; nothing where there is no such file, or not one that can be read."""
    return with_polars(_read_facts, path)


def _read_facts(path: Path) -> FileFacts:
    import polars as pl

    try:
        with path.open("rb") as file:
            return _facts_from(_told(pl.read_parquet_metadata(file)))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return FileFacts()


def _told(metadata: dict[str, str]) -> dict[str, Any]:
    """Read our part of a file's key-value metadata."""
    try:
        told = json.loads(metadata[_FACTS])
    except (KeyError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _facts_from(told: dict[str, Any]) -> FileFacts:
    try:
        return FileFacts(told.get("journal_id"), int(told.get("change", 0)), told.get("model"))
    except (TypeError, ValueError):
        return FileFacts()


def write_frame(frame: pl.DataFrame, path: Path, facts: FileFacts) -> None:
    """Write a memory file's columns and facts to a path, not atomically.

    Raises:
        OSError: the path can't be written.
        StoreError: the disk is full.
    """
    import polars as pl

    told = {"journal_id": facts.journal_id, "change": facts.change, "model": facts.model, "sum": NO_SUM}
    try:
        with path.open("wb") as file:  # given a path, polars takes only what UTF-8 can hold
            frame.write_parquet(
                file,
                compression="lz4",
                row_group_size=ROWS_A_GROUP,
                statistics=False,
                metadata={_FACTS: json.dumps(told)},
            )
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"The memory file can't be written: {error}") from error
    write_sum(path)


def frame_of(turns: Sequence[NewTurn], vectors: Vector) -> pl.DataFrame:
    """Make the five columns.

    Args:
        turns: one a row.
        vectors: shape ``(len(turns), dim)``.
    """
    import polars as pl

    kind = pl.List(pl.Float64)
    embedding = pl.Series("embedding", vectors).cast(kind) if len(turns) else pl.Series("embedding", [], dtype=kind)
    return pl.DataFrame(
        [
            pl.Series("text", [turn.text for turn in turns], dtype=pl.String),
            embedding,
            pl.Series("turn", [turn.turn for turn in turns], dtype=pl.String),
            pl.Series("metadata", [turn.metadata for turn in turns], dtype=pl.String),
            pl.repeat(SCHEMA_VERSION, len(turns), dtype=pl.Int8, eager=True).alias("_schema_version"),
        ]
    )
