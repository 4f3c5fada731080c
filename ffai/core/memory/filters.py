"""Which turns are wanted: by what the caller attached to them, and by whose they are."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from ffai._text import clean_text
from ffai.core.arguments import check_str
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.jsontext import to_json
from ffai.core.memory.turn_json import read_scope
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError

Where = Mapping[str, Any]
"""Keys of the caller's metadata, each with the value it must have."""
Scope = MemoryScope | Mapping[str, str]
"""Fields of a scope, each with the value it must have."""
Source = Literal["metadata", "scope"]

SCOPE_FIELDS = tuple(field.name for field in fields(MemoryScope))


class Field(NamedTuple):
    """Something that turns can be told apart by."""

    source: Source
    name: str


class Condition(NamedTuple):
    """A field and the value it must have, as :func:`as_key` gives it."""

    field: Field
    key: Hashable


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """Conditions that a turn must all fulfil; without any, every turn does.

    Examples:
        >>> wanted = TurnFilter.of({"page": 3}, {"actor_id": "alice"})
        >>> turn = '{"metadata": {"ffai": {"scope": {"actor_id": "alice"}}}}'
        >>> wanted.allows(NewTurn("a1", "text", turn, '{"page": 3}'))
        True
        >>> wanted.allows(NewTurn("a2", "text", "{}", '{"page": 3}'))
        False
    """

    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, where: Where | None, scope: Scope | None) -> TurnFilter:
        """Check what was asked for.

        Args:
            where: keys of the caller's metadata with their values, compared as JSON: ``1`` is ``1.0``, and neither
                ``"1"`` nor ``True``. A date, a path or a set is compared as it is stored. ``None`` is JSON's null;
                a key that is missing never fits.
            scope: fields of a scope, compared as whole values. A turn without a scope never fits.

        Raises:
            ArgumentTypeError: one of them is no mapping, or holds a key or a value that nothing can be equal to.
            InvalidArgumentError: a scope has no field of that name.
        """
        return cls((*_attached(where), *_whose(scope)))

    def allows(self, turn: NewTurn) -> bool:
        """Tell whether a turn fulfils all conditions."""
        return all(_has(turn, condition) for condition in self.conditions)


EVERY_TURN = TurnFilter()


def _attached(where: Where | None) -> list[Condition]:
    if where is None:
        return []
    if not isinstance(where, Mapping):
        raise ArgumentTypeError(
            f"where must be a mapping of metadata keys, not {type(where).__name__}: {where!r:.100}."
        )
    conditions = []
    for name, value in where.items():
        check_str("a key of where", name)
        if isinstance(value, Mapping):
            raise ArgumentTypeError(f"where[{name!r}] must be a plain value or a list of them, not {value!r:.100}.")
        stored = json.loads(to_json(value, f"where[{name!r}]"))
        conditions.append(Condition(Field("metadata", clean_text(name)), as_key(stored)))
    return conditions


def _whose(scope: Scope | None) -> list[Condition]:
    if scope is None:
        return []
    given = _fields_of(scope) if isinstance(scope, MemoryScope) else scope
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f"scope must be a MemoryScope or a mapping of its fields, not {type(scope).__name__}: {scope!r:.100}."
        )
    conditions = []
    for name, value in given.items():
        if name not in SCOPE_FIELDS:
            raise InvalidArgumentError(f"A scope has no field {name!r}. It has {', '.join(SCOPE_FIELDS)}.")
        if not isinstance(value, str):
            raise ArgumentTypeError(f"scope[{name!r}] must be text, not {type(value).__name__}: {value!r:.100}.")
        conditions.append(Condition(Field("scope", name), clean_text(value)))
    return conditions


def _fields_of(scope: MemoryScope) -> dict[str, Any]:
    return {name: value for name in SCOPE_FIELDS if (value := getattr(scope, name)) is not None}


def as_key(value: Any) -> Hashable:
    """Give a JSON value as one that is equal to that of equal JSON values, and to no other.

    Examples:
        >>> as_key(1) == as_key(1.0) != as_key(True)
        True
        >>> as_key([1, {"a": None}]) == as_key([1, {"a": None}])
        True
    """
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value
    try:
        return _as_key(value)
    except RecursionError:
        return object()  # nested too deeply to be compared: equal to nothing


def _as_key(value: Any) -> Hashable:
    if isinstance(value, bool):
        return bool, value  # for Python True is 1
    if isinstance(value, list):
        return (list, *map(_as_key, value))
    if isinstance(value, dict):
        return dict, frozenset((name, _as_key(inner)) for name, inner in value.items())
    key: Hashable = value
    return key


def values_of(source: Source, text: str) -> Mapping[str, Any]:
    """Read the fields of a turn.

    Args:
        source: where they are.
        text: the JSON of the caller's metadata, or for a scope that of the turn dict.
    """
    if source == "scope":
        return read_scope(text)
    found: Mapping[str, Any] = json.loads(text)
    return found


def _has(turn: NewTurn, condition: Condition) -> bool:
    (source, name), key = condition
    values = values_of(source, turn.turn if source == "scope" else turn.metadata)
    return name in values and as_key(values[name]) == key
