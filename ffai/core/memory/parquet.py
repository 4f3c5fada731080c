"""The memory file: one Parquet file, five columns, one row a turn.

Facts about the file (which journal it belongs to, how far it holds it, which model made the vectors) are key-value
metadata of the file. They may be absent: other programs write the same columns without them.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection as Ids
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffai._atomic import replace_file
from ffai.core.memory.elsewhere import with_polars
from ffai.core.memory.identity import NewTurn, content_id
from ffai.core.memory.rows import Rows
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector
from ffai.errors import DamagedFileError, SchemaVersionError, StoreError, StoreFileNotFoundError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
COLUMNS = ("text", "embedding", "turn", "metadata", "_schema_version")
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
    frame, facts = read_file(path)
    columns = (frame[name].to_list() for name in ("text", "turn", "metadata"))
    turns = [NewTurn(*row) for row in zip(row_ids(frame), *columns, strict=True)]
    return Rows(turns, vectors_of(frame, str(path))), facts


def read_file(path: Path) -> tuple[pl.DataFrame, FileFacts]:
    """Read a memory file: its five columns, and what it says of itself. Raises as :func:`load_store`."""
    import polars as pl

    if not path.exists():
        raise StoreFileNotFoundError(path)
    try:
        with path.open("rb") as file:  # given a path, polars would take "[" and "*" in it for a pattern
            facts = _facts_from(pl.read_parquet_metadata(file))
            file.seek(0)
            frame = pl.read_parquet(file, memory_map=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise DamagedFileError(path, f"{error}") from error
    _check_columns(path, frame)
    blanks = [pl.col(name).fill_null(blank) for name, blank in (("text", ""), ("turn", "{}"), ("metadata", "{}"))]
    vectors = pl.col("embedding").cast(pl.List(pl.Float64))
    return frame.select(COLUMNS).with_columns(*blanks, vectors), facts


def drop_rows(path: Path, turn_ids: Ids[str]) -> int:
    """Write a memory file anew without some turns; the rest of it stays as it is. Raises as :func:`load_store`.

    Returns:
        How many rows were dropped.
    """
    frame, facts = read_file(path)
    kept = [turn_id not in turn_ids for turn_id in row_ids(frame)]
    dropped = len(kept) - sum(kept)
    if dropped:
        replace_file(path, lambda beside: write_frame(frame.filter(kept), beside, facts))
    return dropped


def read_facts(path: Path) -> FileFacts:
    """Read what a memory file says of itself; nothing where there is no such file, or not one that can be read."""
    return with_polars(_read_facts, path)


def _read_facts(path: Path) -> FileFacts:
    import polars as pl

    try:
        with path.open("rb") as file:
            return _facts_from(pl.read_parquet_metadata(file))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return FileFacts()


def _check_columns(path: Path, frame: pl.DataFrame) -> None:
    import polars as pl

    missing = [column for column in COLUMNS if column not in frame.columns]
    if "_schema_version" in missing:
        raise DamagedFileError(path, "missing '_schema_version' column")
    versions = frame["_schema_version"].unique().to_list()
    if versions and versions != [SCHEMA_VERSION]:
        raise SchemaVersionError([version for version in versions if version != SCHEMA_VERSION], SCHEMA_VERSION)
    if missing:
        raise DamagedFileError(path, f"missing {missing[0]!r} column")
    for column in ("text", "turn", "metadata"):
        if frame[column].dtype not in (pl.String, pl.Null):
            raise DamagedFileError(path, f"column {column!r} holds {frame[column].dtype}, not text")
    for column in ("turn", "metadata"):
        if not (frame[column].str.starts_with("{") & frame[column].str.ends_with("}")).all() or not _is_json(
            frame[column]
        ):
            raise DamagedFileError(path, f"column {column!r} holds something else than dicts as JSON")
    kind = frame["embedding"].dtype
    if kind != pl.Null and not (isinstance(kind, (pl.List, pl.Array)) and kind.inner.is_numeric()):
        raise DamagedFileError(path, f"column 'embedding' holds {kind}, not lists of numbers")


def _is_json(column: pl.Series) -> bool:
    """Tell whether all texts are JSON."""
    by_polars = column.str.json_path_match("$.role" if column.name == "turn" else "$").is_not_null()
    try:
        for text in column.filter(~by_polars).drop_nulls():  # also Python's own NaN and Infinity
            json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _facts_from(metadata: dict[str, str]) -> FileFacts:
    try:
        facts = json.loads(metadata[_FACTS])
        return FileFacts(facts.get("journal_id"), int(facts.get("change", 0)), facts.get("model"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return FileFacts()


def write_frame(frame: pl.DataFrame, path: Path, facts: FileFacts) -> None:
    """Write a memory file's columns and facts to a path, not atomically.

    Raises:
        OSError: the path can't be written.
        StoreError: the disk is full.
    """
    import polars as pl

    told = {"journal_id": facts.journal_id, "change": facts.change, "model": facts.model}
    try:
        with path.open("wb") as file:  # given a path, polars takes only what UTF-8 can hold
            frame.write_parquet(file, metadata={_FACTS: json.dumps(told)})
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"The memory file can't be written: {error}") from error


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


def vectors_of(frame: pl.DataFrame, source: str) -> NDArray[Any]:
    """Read the vectors of a file: shape ``(rows, dim)``.

    A vector that can't be searched (another size than most have, NaN, infinity) is given as zeros, and said once:
    it scores 0 until its turn is embedded again.
    """
    import polars as pl

    column = frame["embedding"]
    sizes = column.list.len().fill_null(0)
    size = max(Counter(filter(None, sizes.to_list())).items(), key=itemgetter(1), default=(1, 0))[0]
    fits = ((sizes == size) & ~column.list.eval(pl.element().is_null()).list.any().fill_null(True)).to_numpy()
    vectors = np.zeros((len(frame), size))
    vectors[fits] = column.filter(pl.Series(fits)).list.to_array(size).to_numpy()
    broken = ~np.isfinite(vectors).all(axis=1)
    vectors[broken] = 0.0
    if lost := int(broken.sum() + (~fits).sum()):
        logger.warning(
            "%s: %d of %d turns have a vector that can't be searched (not finite, or not of %d numbers). "
            "memory.reindex(embeddings) embeds them again.",
            source, lost, len(frame), size,
        )  # fmt: skip
    return vectors


def row_ids(frame: pl.DataFrame) -> list[str]:
    """Return the id of each row: the one that ffai noted in its turn, else one made from its content."""
    noted = frame["turn"].str.json_path_match("$.metadata.ffai.turn_id").to_list()
    copies: Counter[str] = Counter()
    for row in [row for row, turn_id in enumerate(noted) if turn_id is None]:
        content = frame["text"][row], json.loads(frame["turn"][row]), json.loads(frame["metadata"][row])
        copies[content_id(*content)] += 1
        noted[row] = content_id(*content, copies[content_id(*content)])
    return noted
