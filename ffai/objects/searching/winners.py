"""Loading the records that a search found: copies of their own, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Column, ColumnElement, Connection, Table, select, tuple_
from sqlalchemy import inspect as inspected
from sqlalchemy.orm import Mapper, Session, defer, selectin_polymorphic, selectinload, undefer
from sqlalchemy.orm.strategy_options import _AbstractLoad
from sqlalchemy.sql.visitors import iterate

from ffai.objects.declaration import SENSITIVE, declared_of, mapper_of
from ffai.objects.owner import key_of
from ffai.objects.searching.hit import Hit
from ffai.objects.searching.ranking import Scored, Wanted
from ffai.objects.vectors.embedding import columns_embedded, hash_of, texts_of

_AT_ONCE = 500
"""Values in one query: databases take so many, and not any number."""


def hits_of(connection: Connection, vectors: Table, wanted: Wanted, scored: Sequence[Scored]) -> list[Hit[Any]]:
    """Load the records that were ranked, within the connection's transaction.

    They are read anew, beside what any session holds: an object that a session has read before keeps its secrets.

    Returns:
        In the order given; a record that has gone is left out.
    """
    found: dict[tuple[Any, ...], Any] = {}
    hashes: dict[str, str] = {}
    keys, options = wanted.keys(), _options(wanted.kind)
    texts = {one.identity: key_of(wanted.kind, one.identity, connection.dialect) for one in scored}
    with Session(bind=connection, join_transaction_mode="rollback_only", autoflush=False) as fresh:
        for identities in _parts(list(texts), max(1, _AT_ONCE // len(keys))):
            these = keys[0].in_([one for (one,) in identities]) if len(keys) == 1 else tuple_(*keys).in_(identities)
            for record, *identity in fresh.execute(select(wanted.kind, *keys).where(these).options(*options)).unique():
                found[tuple(identity)] = record
            hashes |= _hashes(connection, vectors, wanted, [texts[identity] for identity in identities])
        load_shown(list(found.values()))
        _load_rest(fresh)
        _hide(fresh)
        fresh.expunge_all()
    return [
        Hit(record, one.similarity, stale=_text_hash(record, wanted) != hashes.get(texts[one.identity]))
        for one in scored
        if (record := found.get(one.identity)) is not None
    ]


def _hashes(connection: Connection, vectors: Table, wanted: Wanted, keys: Sequence[str]) -> dict[str, str]:
    """Return the hashes of the texts that vectors were made of: asked for apart, by their keys alone."""
    these = *wanted.within(vectors), vectors.c.owner_id.in_(keys)
    rows = connection.execute(select(vectors.c.owner_id, vectors.c.content_hash).where(*these))
    return {row.owner_id: row.content_hash for row in rows}


def _text_hash(record: Any, wanted: Wanted) -> str | None:
    declared = declared_of(wanted.kind)
    text = texts_of(declared, {name: getattr(record, name) for name in columns_embedded(declared)})[wanted.field]
    return None if text is None else hash_of(text)


def _options(kind: type[Any]) -> list[_AbstractLoad]:
    """Return how a class is loaded: what is embedded at once, what is shown at once, secrets not at all."""
    read = [undefer(getattr(kind, name)) for name in columns_embedded(declared_of(kind))]
    options = [*read, *_guarded(mapper_of(kind), within=())]
    below = [each.class_ for each in mapper_of(kind).self_and_descendants if each.class_ is not kind]
    return [*options, selectin_polymorphic(kind, below)] if below else options


def _guarded(mapper: Mapper[Any], within: tuple[type[Any], ...]) -> list[_AbstractLoad]:
    options: list[_AbstractLoad] = []
    for each in mapper.self_and_descendants:
        options += [defer(getattr(each.class_, name), raiseload=True) for name in secrets_of(each)]
    if mapper.class_ not in within:
        for name in declared_of(mapper.class_).ai.include:
            if name in mapper.relationships:
                shown = mapper.relationships[name]
                beside = _guarded(shown.mapper, (*within, mapper.class_))
                options.append(selectinload(shown.class_attribute).options(*beside))
    return options


def secrets_of(mapper: Mapper[Any]) -> list[str]:
    """Return the attributes that are secret, or are calculated from one that is."""
    declared_of(mapper.class_)  # marks the columns
    return [
        prop.key
        for prop in mapper.column_attrs
        if any(
            isinstance(part, Column) and part.info.get(SENSITIVE)
            for part in iterate(cast(ColumnElement[Any], prop.expression))
        )
    ]


def load_shown(records: Sequence[Any]) -> None:
    """Load what is shown of the records that are shown with these, however far it goes: it can't be loaded later."""
    met: set[int] = set()
    to_do = list(records)
    while to_do:
        record = to_do.pop()
        if id(record) in met:
            continue
        met.add(id(record))
        mapper = mapper_of(type(record))
        for name in declared_of(type(record)).ai.include:
            if name in mapper.relationships:
                to_do += _each(getattr(record, name), mapper.relationships[name].uselist)


def _each(related: Any, many: bool | None) -> list[Any]:
    """Return the records that an attribute of a relationship holds; not by its type: a SQLModel is iterable."""
    if isinstance(related, Mapping):
        return list(related.values())
    return [] if related is None else list(related) if many else [related]


def _load_rest(session: Session) -> None:
    """Load the columns of subclasses that are in tables of their own, of the records that came along."""
    for record in list(session.identity_map.values()):
        left = inspected(record).expired_attributes - set(secrets_of(mapper_of(type(record))))
        if left:
            session.refresh(record, left)


def _hide(session: Session) -> None:
    """Take the secrets out of what came along: relationships that the class loads by itself."""
    for record in session.identity_map.values():
        held = [name for name in secrets_of(mapper_of(type(record))) if name in record.__dict__]
        if held:
            session.expire(record, held)


def _parts(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
