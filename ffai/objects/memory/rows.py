"""Reading and writing rows of the table of memories, within a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast
from uuid import uuid4

from sqlalchemy import ColumnElement, CursorResult, Table, and_, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ffai.objects.owner import Owner

_UNIQUE = ("owner_type", "owner_id", "tenant", "scope", "key", "version")


@dataclass(frozen=True, slots=True)
class Spot:
    """The one place of a memory among those of its owner."""

    scope: str
    key: str
    version: int = 1


def owned(table: Table, owner: Owner) -> ColumnElement[bool]:
    """Return the condition that a memory is somebody's."""
    return and_(table.c.owner_type == owner.type, table.c.owner_id == owner.id, table.c.tenant == owner.tenant)


def at(table: Table, owner: Owner, spot: Spot) -> ColumnElement[bool]:
    """Return the condition that a memory lies in one place."""
    return and_(owned(table, owner), *(table.c[name] == value for name, value in asdict(spot).items()))


def alive(table: Table, now: float) -> ColumnElement[bool]:
    """Return the condition that a memory has not expired."""
    return or_(table.c.expires_at.is_(None), table.c.expires_at > now)


def new_row(owner: Owner, spot: Spot, now: float, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new memory: what is given, and the defaults for all else but the value."""
    return {
        "id": str(uuid4()),
        "owner_type": owner.type,
        "owner_id": owner.id,
        "tenant": owner.tenant,
        **asdict(spot),
        "metadata": None,
        "confidence": 1.0,
        "success_count": 0,
        "failure_count": 0,
        "created_at": now,
        "updated_at": now,
        "last_used_at": None,
        "last_outcome_at": None,
        "expires_at": None,
        **given,
    }


def put(session: Session, table: Table, owner: Owner, spot: Spot, given: Mapping[str, Any], now: float) -> None:
    """Write a memory: a new one, or over what is there, of which what is not given stays.

    Over one that has expired a new one is written: that is how it can be seen again.

    Args:
        session: its transaction.
        table: of memories.
        owner: whose.
        spot: where.
        given: columns to write; the value is one of them.
        now: seconds since the epoch.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> from ffai.objects.tables import Tables
        >>> table, session = Tables().memories, Session(create_engine("sqlite://"))
        >>> table.create(session.connection())
        >>> put(session, table, Owner("articles", "a-1"), Spot("s", "k"), {"value": "1"}, 0.0)
        >>> put(session, table, Owner("articles", "a-1"), Spot("s", "k"), {"value": "2"}, 5.0)
        >>> [(row["value"], row["created_at"], row["updated_at"]) for row in rows(session, table)]
        [('2', 0.0, 5.0)]
    """
    fresh = new_row(owner, spot, now, given)
    if renew(session, table, owner, spot, fresh, now):
        return
    changed = {**given, "updated_at": now}
    upsert = _insert(session, table)
    if upsert is not None:
        session.execute(upsert.values(fresh).on_conflict_do_update(index_elements=_UNIQUE, set_=changed))
    elif not _changed(session, update(table).where(at(table, owner, spot)).values(changed)) and not add(
        session, table, fresh
    ):
        _changed(session, update(table).where(at(table, owner, spot)).values(changed))


def renew(session: Session, table: Table, owner: Owner, spot: Spot, fresh: Mapping[str, Any], now: float) -> bool:
    """Write a new memory over an expired one; say whether there was one."""
    expired = and_(at(table, owner, spot), table.c.expires_at <= now)
    return _changed(session, update(table).where(expired).values(dict(fresh))) > 0


def add(session: Session, table: Table, fresh: Mapping[str, Any]) -> bool:
    """Add a memory; ``False`` where there is one already in its place, which stays."""
    upsert = _insert(session, table)
    if upsert is not None:
        return _changed(session, upsert.values(dict(fresh)).on_conflict_do_nothing(index_elements=_UNIQUE)) > 0
    try:
        with session.begin_nested():
            session.execute(insert(table).values(dict(fresh)))
    except IntegrityError:
        return False
    return True


def change(session: Session, table: Table, where: ColumnElement[bool], values: Mapping[str, Any]) -> int:
    """Change memories; return how many."""
    return _changed(session, update(table).where(where).values(dict(values)))


def remove(session: Session, table: Table, where: ColumnElement[bool]) -> int:
    """Delete memories; return how many."""
    return _changed(session, delete(table).where(where))


def rows(session: Session, table: Table, *where: ColumnElement[bool]) -> list[Mapping[Any, Any]]:
    """Return the rows that meet every condition, in no order."""
    return [dict(row) for row in session.execute(select(table).where(*where)).mappings()]


def _changed(session: Session, statement: Any) -> int:
    counted = statement.execution_options(preserve_rowcount=True)  # else that of an INSERT is not read everywhere
    return cast("CursorResult[Any]", session.execute(counted)).rowcount


def _insert(session: Session, table: Table) -> sqlite.Insert | postgresql.Insert | None:
    """Return an INSERT that can say what happens where a row is there already; ``None`` where the database can't."""
    name = session.get_bind().dialect.name
    if name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table) if name == "postgresql" else None
