"""The tables that lie beside the user's own: vectors, jobs, memories. Times are seconds since the epoch, UTC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    Column,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.types import TypeDecorator, TypeEngine

from ffai.errors import ConfigError

_NAME, _KEY = 200, 255
_NAMES = ("ai_vector_jobs", "ai_vectors", "ai_memories")


class Float32Blob(TypeDecorator[Any]):
    """A vector as little-endian 32-bit floats."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, _: Dialect) -> bytes | None:
        """Return the bytes of a vector."""
        return None if value is None else np.ascontiguousarray(value, dtype="<f4").tobytes()

    def process_result_value(self, value: Any, _: Dialect) -> Any:
        """Return the bytes as they are: `as_floats` reads many at once, and what is damaged is counted there."""
        return value


def as_floats(stored: object) -> NDArray[np.float32] | None:
    """Read a stored vector, shape ``(dim,)``; ``None`` where it is damaged.

    Examples:
        >>> as_floats(np.array([1.0, 2.0], dtype="<f4").tobytes())
        array([1., 2.], dtype=float32)
        >>> as_floats(b"abc") is None
        True
    """
    try:
        vector = (
            np.frombuffer(stored, dtype="<f4") if isinstance(stored, (bytes, memoryview)) else np.asarray(stored, "<f4")
        )
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and np.isfinite(vector).all() and vector.any() else None


class Tables:
    """The tables, with vectors in a type of the database's own or as bytes.

    Args:
        vector_type: the type of the column ``vector``; bytes where it is ``None``.

    Examples:
        >>> sorted(Tables().metadata.tables)
        ['ai_memories', 'ai_vector_jobs', 'ai_vectors']
    """

    def __init__(self, vector_type: TypeEngine[Any] | None = None) -> None:
        self.metadata = MetaData()
        self.vectors = Table(
            "ai_vectors",
            self.metadata,
            Column("owner_type", String(_NAME), nullable=False),
            Column("owner_id", String(_KEY), nullable=False),
            Column("field", String(_NAME), nullable=False),
            Column("model", String(_NAME), nullable=False),
            Column("dimensions", Integer, nullable=False),
            Column("content_hash", String(64), nullable=False),
            Column("vector", vector_type or Float32Blob(), nullable=False),
            Column("created_at", Double, nullable=False),
            Column("updated_at", Double, nullable=False),
            PrimaryKeyConstraint("owner_type", "owner_id", "field", "model", "dimensions"),
            Index("ix_ai_vectors_space", "owner_type", "field", "model", "dimensions", "owner_id"),
        )
        self.jobs = Table(
            "ai_vector_jobs",
            self.metadata,
            Column("owner_type", String(_NAME), nullable=False),
            Column("owner_id", String(_KEY), nullable=False),
            Column("field", String(_NAME), nullable=False),
            Column("wanted_hash", String(64), nullable=False),
            Column("attempts", Integer, nullable=False, default=0),
            Column("last_error", Text),
            Column("not_before", Double, nullable=False, default=0.0),
            Column("claimed_by", String(_KEY)),
            Column("claimed_until", Double),
            Column("created_at", Double, nullable=False),
            PrimaryKeyConstraint("owner_type", "owner_id", "field"),
            Index("ix_ai_vector_jobs_due", "not_before"),
        )
        self.memories = Table(
            "ai_memories",
            self.metadata,
            Column("id", String(36), primary_key=True),
            Column("owner_type", String(_NAME), nullable=False),
            Column("owner_id", String(_KEY), nullable=False),
            Column("tenant", String(_KEY), nullable=False, default=""),
            Column("scope", String(_KEY), nullable=False),
            Column("key", String(_KEY), nullable=False),
            Column("version", Integer, nullable=False, default=1),
            Column("value", Text, nullable=False),
            Column("metadata", Text),
            Column("confidence", Double, nullable=False, default=1.0),
            Column("success_count", Integer, nullable=False, default=0),
            Column("failure_count", Integer, nullable=False, default=0),
            Column("created_at", Double, nullable=False),
            Column("updated_at", Double, nullable=False),
            Column("last_used_at", Double),
            Column("last_outcome_at", Double),
            Column("expires_at", Double),
            UniqueConstraint("owner_type", "owner_id", "tenant", "scope", "key", "version"),
            Index("ix_ai_memories_expires_at", "expires_at"),
        )


@contextmanager
def telling_of_missing_tables() -> Iterator[None]:
    """Say what to do where a database has not got the tables.

    Raises:
        ConfigError: they are missing.
    """
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        name = next((name for name in _NAMES if name in str(error.orig)), None)
        if name is None or "column" in str(error.orig):
            raise
        raise ConfigError("the database", name, "there is no such table. Run store.create_all() once.") from error
