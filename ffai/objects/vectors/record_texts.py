"""The texts of records as the database has them now, found by the keys that vectors and jobs are filed under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ColumnElement, Enum, Integer, String, Uuid, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Mapper

from ffai.objects.declaration import Declared, declared_of, mapper_of
from ffai.objects.owner import key_column
from ffai.objects.vectors.embedding import columns_embedded, texts_of
from ffai.objects.vectors.rows import parts

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.types import TypeEngine

Texts = Mapping[str, str | None]
"""Embedded field to the text that is to be embedded; ``None`` where none is."""


def texts_in(
    connection: Connection, kind: type[Any], keys: Iterable[str], conditions: Sequence[ColumnElement[bool]] = ()
) -> dict[str, Texts]:
    """Read the texts of records, also those of its subclasses; a record that is gone is not among them.

    Args:
        connection: to the database.
        kind: the class.
        keys: which records.
        conditions: what of the class can be seen.
    """
    found: dict[str, Texts] = {}
    for some in parts(sorted(set(keys))):
        for declared, of_class in _filed_together(kind):
            names = columns_embedded(declared)
            columns = [getattr(declared.mapped, name) for name in names]
            asked = select(key_column(declared.mapped), *columns).select_from(declared.mapped)
            for key, *values in connection.execute(asked.where(matching(kind, some), *of_class, *conditions)):
                found[key] = texts_of(declared, dict(zip(names, values, strict=True)))
    return found


def matching(kind: type[Any], keys: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a record has one of these keys, such that the index of its table is used."""
    attributes = key_attributes(kind)
    types = [column.type for column in mapper_of(kind).primary_key]
    values = [_values_of(key, types) for key in keys]
    if any(value is None for value in values):
        return key_column(kind).in_(keys)
    if len(attributes) == 1:
        return attributes[0].in_([value[0] for value in values if value is not None])
    return tuple_(*attributes).in_(values)


def key_attributes(kind: type[Any]) -> list[InstrumentedAttribute[Any]]:
    """Return the attributes that are the primary key."""
    mapper = mapper_of(kind)
    return [getattr(kind, mapper.get_property_by_column(column).key) for column in mapper.primary_key]


def topmost(kind: type[Any]) -> type[Any]:
    """Return the class highest above one whose records are filed under the same name."""
    owner_type = declared_of(kind).owner_type
    mapper: Mapper[Any] = mapper_of(kind)
    while mapper.inherits is not None and declared_of(mapper.inherits.class_).owner_type == owner_type:
        mapper = mapper.inherits
    return mapper.class_


def _filed_together(kind: type[Any]) -> Iterator[tuple[Declared, list[ColumnElement[bool]]]]:
    """Give each class whose records are filed as those of ``kind``, and what tells its records from the others'."""
    mapper, owner_type = mapper_of(kind), declared_of(kind).owner_type
    together = list(mapper.self_and_descendants)
    for each in together:
        declared = declared_of(each.class_)
        if declared.ai.embedded is not None and declared.owner_type == owner_type:
            on = each.polymorphic_on
            yield declared, [on == each.polymorphic_identity] if len(together) > 1 and on is not None else []


def _values_of(key: str, types: Sequence[TypeEngine[Any]]) -> tuple[Any, ...] | None:
    """Return the values of a key; ``None`` where they can't be told from its text."""
    texts = [key]
    if len(types) > 1:
        texts = [text.replace("%2F", "/").replace("%25", "%") for text in key.split("/")]
    if len(texts) != len(types):
        return None
    try:
        values = [_value_of(text, kind) for text, kind in zip(texts, types, strict=True)]
    except ValueError:
        return None
    return None if any(value is None for value in values) else tuple(values)


def _value_of(text: str, kind: TypeEngine[Any]) -> Any:
    if isinstance(kind, Integer):
        return int(text)
    if isinstance(kind, Uuid):
        return UUID(text) if kind.as_uuid else text
    return text if isinstance(kind, String) and not isinstance(kind, Enum) else None
