"""Rows of the tables beside the user's own: written so that the same row is replaced, deleted by whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, delete, insert, select, update

from ffai.objects.declaration import mapper_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table
    from sqlalchemy.orm import Session

    from ffai.objects.tables import Tables
    from ffai.objects.vectors.embedding import Space

T = TypeVar("T")
Row = Mapping[str, Any]

MANY = 500
"""Keys in one statement: databases take only so many parameters."""


@dataclass(frozen=True, slots=True)
class Made:
    """A vector that was made of one text of a record."""

    owner_id: str
    field: str
    content_hash: str
    vector: NDArray[np.float32]


def connection_of(session: Session, kind: type[Any]) -> Connection:
    """Return the connection that a session has to the records of a class, within its transaction."""
    return session.connection(bind_arguments={"mapper": mapper_of(kind)})


def put_vectors(
    connection: Connection, tables: Tables, owner_type: str, model: str, made: Sequence[Made], now: float
) -> None:
    """Write vectors; one that is there already keeps the time it was first made."""
    rows = [
        {
            "owner_type": owner_type,
            "owner_id": one.owner_id,
            "field": one.field,
            "model": model,
            "dimensions": len(one.vector),
            "content_hash": one.content_hash,
            "vector": one.vector,
            "created_at": now,
            "updated_at": now,
        }
        for one in made
    ]
    upsert(connection, tables.vectors, rows, kept=("created_at",))


def upsert(connection: Connection, table: Table, rows: Sequence[Row], *, kept: Iterable[str] = ()) -> None:
    """Insert rows; where one with that primary key is there, give it the new values.

    Args:
        connection: within a transaction.
        table: with a primary key.
        rows: of all the same columns. They are written in the order of their keys, so that two who write the same
            rows never wait for each other.
        kept: columns that a row that is there keeps.
    """
    if not rows:
        return
    keys = [column.name for column in table.primary_key]
    rows = sorted(rows, key=lambda row: [row[key] for key in keys])
    changed = [name for name in rows[0] if name not in {*keys, *kept}]
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        into: Any = sqlite_insert(table)
    elif connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        into = postgresql_insert(table)
    else:
        _replace(connection, table, rows, keys, changed)
        return
    into = into.on_conflict_do_update(index_elements=keys, set_={name: into.excluded[name] for name in changed})
    connection.execute(into, rows)


def _replace(connection: Connection, table: Table, rows: Sequence[Row], keys: list[str], changed: list[str]) -> None:
    """Write rows in a database whose upsert is not known here."""
    to_this = [table.c[key] == bindparam(f"_{key}") for key in keys]
    change = update(table).where(*to_this).values({name: bindparam(f"_{name}") for name in changed})
    for row in rows:
        if not connection.execute(change, {f"_{name}": row[name] for name in (*keys, *changed)}).rowcount:
            connection.execute(insert(table), row)


def delete_of(
    connection: Connection, table: Table, owner_type: str, ids: Iterable[str], field: str | None = None
) -> int:
    """Delete the rows of some owners, of one field or of all; return how many there were."""
    deleted = 0
    for some in parts(sorted(set(ids))):
        conditions = [table.c.owner_type == owner_type, table.c.owner_id.in_(some)]
        if field is not None:
            conditions.append(table.c.field == field)
        deleted += connection.execute(delete(table).where(*conditions)).rowcount
    return deleted


def delete_jobs_met(connection: Connection, tables: Tables, owner_type: str, made: Sequence[Made]) -> None:
    """Delete the jobs that want what was made."""
    if made:
        jobs = tables.jobs
        keys = ("owner_type", "owner_id", "field", "wanted_hash")
        rows = sorted((owner_type, one.owner_id, one.field, one.content_hash) for one in made)
        connection.execute(
            delete(jobs).where(*(jobs.c[key] == bindparam(f"_{key}") for key in keys)),
            [{f"_{key}": value for key, value in zip(keys, row, strict=True)} for row in rows],
        )


def hashes_of(
    connection: Connection, tables: Tables, owner_type: str, ids: Iterable[str], space: Space
) -> dict[tuple[str, str], str]:
    """Return what the vectors of a space were made of: id of the owner and field to hash."""
    vectors = tables.vectors
    found: dict[tuple[str, str], str] = {}
    for some in parts(sorted(set(ids))):
        rows = connection.execute(
            select(vectors.c.owner_id, vectors.c.field, vectors.c.content_hash)
            .where(vectors.c.owner_type == owner_type, vectors.c.owner_id.in_(some), *space.within(vectors))
            .order_by(vectors.c.updated_at)
        )
        found |= {(row.owner_id, row.field): row.content_hash for row in rows}
    return found


def parts(things: Sequence[T], size: int = MANY) -> Iterator[Sequence[T]]:
    """Cut a sequence into parts.

    Examples:
        >>> list(parts([1, 2, 3], 2))
        [[1, 2], [3]]
    """
    return (things[at : at + size] for at in range(0, len(things), size))
