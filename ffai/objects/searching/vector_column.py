"""In which type of column a Postgres database keeps vectors, and how they are brought from one to the other."""

from __future__ import annotations

import json
import logging
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Table,
    bindparam,
    delete,
    literal_column,
    select,
    text,
    tuple_,
    update,
)

from ffai.errors import ConfigError
from ffai.objects.tables import Float32Blob, as_floats

logger = logging.getLogger(__name__)

_PAGE = 1000
_NEW = "vector_new"


def only_one_makes_tables(connection: Connection) -> None:
    """Wait, until the transaction ends, for others who make the tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('ffai.objects'))"))


def check_column(connection: Connection, vectors: Table) -> None:
    """Refuse a database that keeps vectors in another type of column.

    Raises:
        ConfigError: it does; says what to call.
    """
    found = _found(connection, vectors)
    if found not in (None, _wanted(vectors)):
        raise ConfigError(
            "objects",
            "storage",
            f"the database keeps vectors as {found}, and {_wanted(vectors)} is needed. Run create_all(): it brings "
            "them over.",
        )


def convert_column(connection: Connection, vectors: Table) -> None:
    """Bring the vectors over where they are kept in another type of column; rows that hold none are dropped."""
    found, wanted = _found(connection, vectors), _wanted(vectors)
    if found in (None, wanted):
        return
    name = connection.dialect.identifier_preparer.format_table(vectors)
    declared = vectors.c.vector.type.compile(dialect=connection.dialect)
    connection.execute(text(f"ALTER TABLE {name} ADD COLUMN {_NEW} {declared}"))
    dropped = _copy(connection, vectors)
    for change in ("DROP COLUMN vector", f"RENAME COLUMN {_NEW} TO vector", "ALTER COLUMN vector SET NOT NULL"):
        connection.execute(text(f"ALTER TABLE {name} {change}"))
    logger.info("Brought the vectors of %s from %s to %s", name, found, wanted)
    if dropped:
        logger.warning("Dropped %d damaged vectors; run generate_missing_embeddings() to have them again", dropped)


def _copy(connection: Connection, vectors: Table) -> int:
    """Fill the new column page by page; return how many rows held no vector and were dropped."""
    changing = vectors.to_metadata(MetaData())
    changing.append_column(Column(_NEW, vectors.c.vector.type))
    key = list(changing.primary_key.columns)
    page = select(*key, literal_column("vector")).select_from(changing).order_by(*key).limit(_PAGE)
    this_row = [column == bindparam(f"at_{column.name}") for column in key]
    fill = update(changing).where(*this_row).values({_NEW: bindparam("new_vector", type_=vectors.c.vector.type)})
    drop = delete(changing).where(*this_row)
    dropped = 0
    rows = connection.execute(page).all()
    while rows:
        keys = [{f"at_{column.name}": value for column, value in zip(key, row, strict=False)} for row in rows]
        read = [(at, as_floats(_plain(row[-1]))) for at, row in zip(keys, rows, strict=True)]
        sound = [{**at, "new_vector": vector} for at, vector in read if vector is not None]
        damaged = [at for at, vector in read if vector is None]
        for change, values in ((fill, sound), (drop, damaged)):
            if values:
                connection.execute(change, values)
        dropped += len(damaged)
        rows = connection.execute(page.where(tuple_(*key) > tuple_(*rows[-1][:-1]))).all()
    return dropped


def _plain(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) else stored


def _wanted(vectors: Table) -> str:
    return "bytea" if isinstance(vectors.c.vector.type, Float32Blob) else "vector"


def _found(connection: Connection, vectors: Table) -> str | None:
    """Return the type there is; ``None`` where there is no such table, or the database is no Postgres."""
    if connection.dialect.name != "postgresql":
        return None
    asked = text(
        "SELECT format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = to_regclass(:name) AND attname = 'vector' AND NOT attisdropped"
    )
    name = connection.dialect.identifier_preparer.format_table(vectors)
    found: str | None = connection.execute(asked, {"name": name}).scalar()
    return found
