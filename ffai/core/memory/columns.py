"""The columns of a memory file: whether they hold what they should, and the vectors in them."""

from __future__ import annotations

import json
import logging
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffai.errors import DamagedFileError, SchemaVersionError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
COLUMNS = ("text", "embedding", "turn", "metadata", "_schema_version")


def check_columns(path: Path, frame: pl.DataFrame, noted: pl.Series | None) -> None:
    """Check that a frame holds what a memory file holds.

    Args:
        path: what errors call it.
        frame: as it was read.
        noted: the id that was found in the JSON of each turn, if any: that JSON is not read again.

    Raises:
        SchemaVersionError: it is of another version.
        DamagedFileError: a column is missing, or holds something else.
    """
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
    sound = frame["turn"].str.json_path_match("$.role") if noted is None else noted
    _check_dicts(path, frame["turn"], sound)
    _check_dicts(path, frame["metadata"], frame["metadata"].str.json_path_match("$"))
    kind = frame["embedding"].dtype
    if kind != pl.Null and not (isinstance(kind, (pl.List, pl.Array)) and kind.inner.is_numeric()):
        raise DamagedFileError(path, f"column 'embedding' holds {kind}, not lists of numbers")


def _check_dicts(path: Path, column: pl.Series, found: pl.Series) -> None:
    """Check that all texts are dicts as JSON; ``found`` is not null where polars has read one as JSON."""
    try:
        if not (column.str.starts_with("{") & column.str.ends_with("}")).all():
            raise ValueError("not a dict")
        for text in column.filter(found.is_null()).drop_nulls():  # also Python's own NaN and Infinity
            json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"column {column.name!r} holds something else than dicts as JSON"
        raise DamagedFileError(path, problem) from error


def vectors_of(frame: pl.DataFrame, source: str) -> NDArray[Any]:
    """Read the vectors of a file: shape ``(rows, dim)``.

    A vector that can't be searched (another size than most have, NaN, infinity) is given as zeros, and said once:
    it scores 0 until its turn is embedded again.
    """
    column = frame["embedding"]
    sizes = column.list.len()
    size = sizes.min()
    if isinstance(size, int) and size > 0 and size == sizes.max() and not sizes.null_count():
        whole = _of_one_size(column, size)
        if whole is not None:
            return whole
    return _searchable(column, sizes.fill_null(0), source)


def _of_one_size(column: pl.Series, size: int) -> NDArray[Any] | None:
    """Read vectors of one size, or ``None`` if one holds a NULL or is not finite."""
    vectors, row = np.empty((len(column), size)), 0
    for chunk in column.get_chunks():  # exploding all at once copies them all once more
        flat = chunk.explode()
        if flat.null_count() or not flat.is_finite().all():
            return None
        vectors[row : row + len(chunk)] = flat.to_numpy().reshape(-1, size)
        row += len(chunk)
    return vectors


def _searchable(column: pl.Series, sizes: pl.Series, source: str) -> NDArray[Any]:
    """Read those vectors that can be searched; zeros stand for the others."""
    import polars as pl

    size = max(Counter(filter(None, sizes.to_list())).items(), key=itemgetter(1), default=(1, 0))[0]
    fits = ((sizes == size) & ~column.list.eval(pl.element().is_null()).list.any().fill_null(True)).to_numpy()
    vectors = np.zeros((len(column), size))
    vectors[fits] = column.filter(pl.Series(fits)).list.to_array(size).to_numpy()
    broken = ~np.isfinite(vectors).all(axis=1)
    vectors[broken] = 0.0
    if lost := int(broken.sum() + (~fits).sum()):
        logger.warning(
            "%s: %d of %d turns have a vector that can't be searched (not finite, or not of %d numbers). "
            "memory.reindex(embeddings) embeds them again.",
            source, lost, len(column), size,
        )  # fmt: skip
    return vectors
