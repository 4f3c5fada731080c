"""Statements that change or delete many records at once, without loading them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from ffai.objects.declaration import mapper_of
from ffai.objects.owner import key_column, key_of
from ffai.objects.vectors.changed_rows import Changed, forget_owners, want_texts
from ffai.objects.vectors.record_texts import matching, texts_in
from ffai.objects.vectors.rows import connection_of, parts

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.orm import ORMExecuteState

    from ffai.objects.tables import Tables


@dataclass(frozen=True, slots=True)
class Ran:
    """A statement that was run."""

    result: Any
    wrote_jobs: bool


def run_bulk(state: ORMExecuteState, tables: Tables, kind: type[Any], generates: bool, now: float) -> Ran | None:
    """Run a statement that changes or deletes records, and write what that means beside them.

    Returns:
        What it gave; ``None`` where it changes no text, and was not run.
    """
    changed = Changed(kind)
    names = _names_set(state, changed)
    if state.is_update and not names:
        return None
    keys = _keys(state, kind)
    result = state.invoke_statement()
    connection = connection_of(state.session, kind)
    if state.is_delete:
        forget_owners(connection, tables, changed.owner_type, keys - _existing(connection, kind, keys))
        return Ran(result, False)
    texts = {
        key: {name: text for name, text in fields.items() if changed.made_of(name) & names}
        for key, fields in texts_in(connection, kind, keys).items()
    }
    return Ran(result, want_texts(connection, tables, changed.owner_type, texts, generates, now))


def _names_set(state: ORMExecuteState, changed: Changed) -> set[str]:
    """Return the attributes that make texts and that an update sets; all of them where that can't be told."""
    if not state.is_update:
        return set()
    values: Any = _rows(state)[0] if _rows(state) else getattr(state.statement, "_values", None)
    if not isinstance(values, Mapping):
        return set(changed.columns)
    told = {getattr(name, "key", name) for name in values}
    return {name for name in changed.columns if told & {name, changed.declared.columns[name].key}}


def _keys(state: ORMExecuteState, kind: type[Any]) -> set[str]:
    """Return the keys of the records that a statement is about."""
    if rows := _rows(state):
        mapper = mapper_of(kind)
        names = [mapper.get_property_by_column(column).key for column in mapper.primary_key]
        dialect = connection_of(state.session, kind).dialect
        return {key_of(kind, tuple(row[name] for name in names), dialect) for row in rows}
    statement: Any = state.statement
    asked = select(key_column(kind)).select_from(kind)
    if statement.whereclause is not None:
        asked = asked.where(statement.whereclause)
    parameters: Any = state.parameters
    return set(state.session.scalars(asked, parameters, bind_arguments={"mapper": mapper_of(kind)}))


def _rows(state: ORMExecuteState) -> Sequence[Mapping[str, Any]]:
    """Return the rows of an update by primary key."""
    return state.parameters if isinstance(state.parameters, list) else ()


def _existing(connection: Connection, kind: type[Any], keys: Collection[str]) -> set[str]:
    found: set[str] = set()
    for some in parts(sorted(keys)):
        of_these: ColumnElement[bool] = matching(kind, some)
        found |= set(connection.scalars(select(key_column(kind)).select_from(kind).where(of_these)))
    return found
