"""What there is of a class's vectors: by space, and what still waits or failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, not_, select

from ffai.objects.declaration import declared_of
from ffai.objects.owner import key_column
from ffai.objects.vectors.embedding import Space
from ffai.objects.vectors.jobs import NEVER
from ffai.objects.vectors.rows import connection_of

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.orm import Session

    from ffai.objects.tables import Tables

MOST_ERRORS = 10


class JobError(NamedTuple):
    """Why a text has no vector yet."""

    id: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    """What there is of a class's vectors.

    Examples:
        >>> Status(spaces={Space("a-model", 8): 3}).waiting
        0
    """

    spaces: dict[Space, int] = field(default_factory=dict)
    """How many vectors there are, by what they can be compared with."""
    waiting: int = 0
    """Texts that wait for their vectors, or for their next try."""
    failed: int = 0
    """Texts that failed and are not tried again by themselves."""
    errors: tuple[JobError, ...] = ()
    """What went wrong with those that failed, or wait for their next try; the first of them."""


def status(session: Session, tables: Tables, kind: type[Any], seen: Sequence[ColumnElement[bool]] = ()) -> Status:
    """Return what there is of a class's vectors; with conditions, of those of records that meet them."""
    connection, owner_type = connection_of(session, kind), declared_of(kind).owner_type
    vectors, jobs = tables.vectors, tables.jobs
    space = vectors.c.model, vectors.c.dimensions

    def of_class(table: Table) -> ColumnElement[bool]:
        its = table.c.owner_type == owner_type
        visible = select(key_column(kind)).select_from(kind).where(*seen)
        return and_(its, table.c.owner_id.in_(visible)) if seen else its

    by_space = select(*space, func.count()).where(of_class(vectors)).group_by(*space).order_by(*space)
    mine = of_class(jobs)
    over = select(func.count()).select_from(jobs).where(mine, jobs.c.not_before >= NEVER)
    every = select(func.count()).select_from(jobs).where(mine)
    errors = select(jobs.c.owner_id, jobs.c.field, jobs.c.last_error).where(mine, jobs.c.last_error.is_not(None))
    failed = int(connection.scalar(over) or 0)
    return Status(
        {Space(model, dimensions): count for model, dimensions, count in connection.execute(by_space)},
        int(connection.scalar(every) or 0) - failed,
        failed,
        tuple(JobError(*row) for row in connection.execute(errors.order_by(jobs.c.created_at).limit(MOST_ERRORS))),
    )


def drop_other_spaces(
    session: Session, tables: Tables, kind: type[Any], space: Space, seen: Sequence[ColumnElement[bool]] = ()
) -> int:
    """Delete the vectors of a class that can't be compared with those of a space; return how many there were.

    Those of records that do not meet the conditions ``seen`` stay.
    """
    vectors = tables.vectors
    other = vectors.c.owner_type == declared_of(kind).owner_type, not_(and_(*space.within(vectors)))
    mine = vectors.c.owner_id.in_(select(key_column(kind)).select_from(kind).where(*seen))
    return connection_of(session, kind).execute(delete(vectors).where(*other, mine)).rowcount
