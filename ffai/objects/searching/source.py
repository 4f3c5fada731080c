"""What a search starts from: the stored vector of a record, or sizes that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, select
from sqlalchemy import inspect as inspected
from sqlalchemy.orm import InstanceState, Session

from ffai.core.similarity import Vector, as_vector
from ffai.errors import ArgumentTypeError, DimensionError, InvalidArgumentError
from ffai.objects.declaration import declared_of, mapper_of
from ffai.objects.owner import identity_of, key_column
from ffai.objects.searching.ranking import Wanted, run_of
from ffai.objects.tables import as_floats
from ffai.objects.vectors.embedding import Space


@dataclass(frozen=True, slots=True)
class Source:
    """A record that a search starts from."""

    key: str
    """Its primary key, as the vectors name it."""
    vector: Vector


def identity_in(kind: type[Any], record_or_id: Any) -> tuple[Any, ...]:
    """Return the primary key of a record, or the one that was given, with values of the columns' types.

    Raises:
        ArgumentTypeError: it is a record of another class, or no key of this one.
        InvalidArgumentError: the record has no key yet, or no record can have such a key.

    Examples:
        >>> from sqlalchemy import Integer
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase):
        ...     pass
        >>> class Note(Base):
        ...     __tablename__ = "notes"
        ...     id = mapped_column(Integer, primary_key=True)
        >>> identity_in(Note, "7"), identity_in(Note, Note(id=7))
        ((7,), (7,))
    """
    if isinstance(record_or_id, kind):
        return identity_of(record_or_id)
    if isinstance(inspected(record_or_id, raiseerr=False), InstanceState):
        raise ArgumentTypeError(f"A {type(record_or_id).__name__} is no {kind.__name__}: {record_or_id!r:.100}.")
    columns = mapper_of(kind).primary_key
    values = record_or_id if isinstance(record_or_id, tuple) else (record_or_id,)
    if len(values) != len(columns) or any(value is None for value in values):
        names = ", ".join(column.name for column in columns)
        raise ArgumentTypeError(f"The key of a {kind.__name__} is {names}; it can't be {record_or_id!r:.100}.")
    try:
        return tuple(_typed(value, column) for value, column in zip(values, columns, strict=True))
    except ValueError as error:
        raise InvalidArgumentError(_unknown(kind, values)) from error


def source_of(
    session: Session,
    vectors: Table,
    kind: type[Any],
    identity: tuple[Any, ...],
    field: str,
    space: Space,
    may_see: Sequence[ColumnElement[bool]],
) -> Source:
    """Return the stored vector of a record that may be seen.

    Raises:
        InvalidArgumentError: there is no such record among those, or it has no vector.
    """
    mapper = mapper_of(kind)
    columns = [getattr(kind, mapper.get_property_by_column(column).key) for column in mapper.primary_key]
    its_vector = and_(
        vectors.c.owner_type == declared_of(kind).owner_type,
        vectors.c.owner_id == key_column(kind),
        vectors.c.field == field,
        *space.within(vectors),
    )
    this = [column == value for column, value in zip(columns, identity, strict=True)]
    asked = select(key_column(kind).label("key"), vectors.c.vector).select_from(kind).outerjoin(vectors, its_vector)
    newest = asked.where(*this, *may_see).order_by(vectors.c.updated_at.desc()).limit(1)
    row = run_of(session, kind)(newest).one_or_none()
    if row is None:
        raise InvalidArgumentError(_unknown(kind, identity))
    floats = None if row.vector is None else as_floats(row.vector)
    if floats is None:
        raise InvalidArgumentError(
            f"{kind.__name__} {_shown(identity)} has no vector of {field!r} by {space.model!r}. Make it with "
            "generate_embeddings()."
        )
    return Source(row.key, as_vector(floats))


def check_size(session: Session, vectors: Table, wanted: Wanted) -> None:
    """Refuse a query of a size that no stored vector has, while others have.

    Raises:
        DimensionError: it is of such a size.
    """
    sizes = [space.dimensions for space in spaces_of(session, vectors, wanted) if space.model == wanted.space.model]
    if sizes and wanted.query.size not in sizes:
        raise DimensionError(wanted.query.size, sizes[0] or 0)


def spaces_of(session: Session, vectors: Table, wanted: Wanted) -> list[Space]:
    """Return which spaces have vectors of the class and field."""
    asked = select(vectors.c.model, vectors.c.dimensions).distinct().order_by(vectors.c.model, vectors.c.dimensions)
    of_field = vectors.c.owner_type == declared_of(wanted.kind).owner_type, vectors.c.field == wanted.field
    return [Space(*row) for row in run_of(session, wanted.kind)(asked.where(*of_field))]


def _typed(value: Any, column: ColumnElement[Any]) -> Any:
    """Return an id in the type of its column: strict databases compare nothing else."""
    try:
        kind = column.type.python_type
    except NotImplementedError:
        return value
    if kind in (int, UUID) and isinstance(value, str):
        return kind(value)
    return str(value) if kind is str else value


def _unknown(kind: type[Any], identity: tuple[Any, ...]) -> str:
    return f"There is no {kind.__name__} {_shown(identity)}."


def _shown(identity: tuple[Any, ...]) -> str:
    return f"{identity[0] if len(identity) == 1 else identity!r:.100}"
