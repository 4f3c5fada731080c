"""What of a record is embedded, by which model, and whether the vectors are sound."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffai.chat.flow import Flow
from ffai.core.embeddings.protocol import embedder_name
from ffai.errors import BadVectorError, DimensionError, EmbeddingError
from ffai.objects.declaration import Declared
from ffai.objects.steps import Embed, Step, given

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table

    from ffai.core.embeddings.protocol import Embedder


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors that can be compared with each other: those of one model, in one size."""

    model: str
    dimensions: int | None = None
    """``None`` while it is not known: nothing was embedded yet."""

    @classmethod
    def of(cls, embedder: Embedder) -> Space:
        """Return the space of an embedder, as far as it says.

        Examples:
            >>> from ffai.testing import FakeEmbedder
            >>> Space.of(FakeEmbedder(8))
            Space(model='fake/hashed-words', dimensions=8)
        """
        dimensions = getattr(embedder, "dimensions", None)
        known = isinstance(dimensions, int) and not isinstance(dimensions, bool) and dimensions > 0
        return cls(embedder_name(embedder), dimensions if known else None)

    def within(self, vectors: Table) -> list[ColumnElement[bool]]:
        """Return the conditions that a row of the table of vectors is of this space."""
        conditions = [vectors.c.model == self.model]
        return conditions if self.dimensions is None else [*conditions, vectors.c.dimensions == self.dimensions]


def texts_of(declared: Declared, values: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the text of each embedded field; ``None`` where none is wanted: it is blank, or no text.

    Args:
        declared: of the record's class.
        values: of the columns that are embedded, by attribute.

    Raises:
        KeyError: one of these columns is missing.
    """
    embedded = declared.embedded
    found: dict[str, str | None] = {}
    for name in embedded.fields:
        found[name] = _wanted(values[name])
    for name, template in embedded.combined.items():
        has_any = any(value is not None and str(value).strip() for value in map(values.__getitem__, template.names))
        found[name] = _wanted(template.filled(values)) if has_any else None
    return found


def columns_embedded(declared: Declared) -> list[str]:
    """Return the attributes whose values make the texts, each once."""
    embedded = declared.embedded
    return list(dict.fromkeys([*embedded.fields, *(name for t in embedded.combined.values() for name in t.names)]))


def hash_of(text: str) -> str:
    """Return what a text is known by: its SHA-256, in hex.

    Examples:
        >>> hash_of("a")[:8]
        'ca978112'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embedded(embedder: Embedder, texts: list[str]) -> Flow[Step, NDArray[np.float32]]:
    """Make a flow that embeds texts, each different one once.

    Returns:
        Shape ``(len(texts), dim)``.

    Raises:
        EmbeddingError: the model failed, gave another number of rows, or rows of a wrong size.
        BadVectorError: a row is all zeros or not finite.
    """
    different = list(dict.fromkeys(texts))
    rows = checked_rows((yield from given(Embed(embedder, different))), len(different), Space.of(embedder))
    place = {text: at for at, text in enumerate(different)}
    return rows[[place[text] for text in texts]]


def checked_rows(rows: Any, count: int, space: Space) -> NDArray[np.float32]:
    """Return what an embedder gave as an array, shape ``(count, dim)``.

    Raises:
        EmbeddingError: the number of rows is another one.
        DimensionError: the size is not that of the space.
        BadVectorError: the rows differ in size, or one is all zeros or not finite.

    Examples:
        >>> checked_rows([[1, 0]], 1, Space("m", 2))
        array([[1., 0.]], dtype=float32)
    """
    if len(rows) != count:
        raise EmbeddingError(f"{space.model!r} gave {len(rows)} vectors for {count} texts.")
    try:
        found = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadVectorError(f"{space.model!r} gave vectors that differ in size, or are no numbers: {error}") from error
    if found.ndim != 2 or not found.shape[1]:
        raise BadVectorError(f"{space.model!r} gave vectors of the shape {found.shape}.")
    if space.dimensions is not None and found.shape[1] != space.dimensions:
        raise DimensionError(found.shape[1], space.dimensions)
    if not np.isfinite(found).all():
        raise BadVectorError(f"{space.model!r} gave a vector that holds NaN or infinity.")
    if not found.any(axis=1).all():
        raise BadVectorError(f"{space.model!r} gave a vector that is all zeros.")
    return found


def _wanted(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
