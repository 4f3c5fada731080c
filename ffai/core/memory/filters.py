"""Which turns are wanted: by what the caller attached to them, and by whose they are."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ffai._text import clean_text
from ffai.core.arguments import check_str
from ffai.core.conversation_id import internal_id
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.jsontext import to_json
from ffai.core.memory.turn_json import read_notes
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.errors import ArgumentTypeError

Where = Mapping[str, Any]
"""Keys of the caller's metadata, each with the value it must have."""
Source = Literal["metadata", "scope"]


class Field(NamedTuple):
    """Something that turns can be told apart by."""

    source: Source
    name: str


class Condition(NamedTuple):
    """A field and the values it may have, as :func:`as_key` gives them."""

    field: Field
    keys: Set[Hashable]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Tell whether one of the values is there."""
        return self.field.name in values and as_key(values[self.field.name]) in self.keys


ACTOR, CONVERSATION, AGENT = (Field("scope", name) for name in ("actor_id", "conversation_id", "agent_actor_id"))


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """Conditions that a turn must all fulfil; without any, every turn does.

    Examples:
        >>> wanted = TurnFilter.of({"page": 3}, {"actor_id": "alice", "actor_type": "user"})
        >>> turn = '{"metadata": {"ffai": {"scope": {"actor_id": "alice", "actor_type": "user"}}}}'
        >>> wanted.allows(NewTurn("a1", "text", turn, '{"page": 3}'))
        True
        >>> wanted.allows(NewTurn("a2", "text", "{}", '{"page": 3}'))
        False
    """

    conditions: tuple[Condition, ...] = ()
    people: tuple[str, ...] = ()
    """Who all took part in the conversation of each turn. Which ones those are depends on all turns there are, so
    that :meth:`among` takes their place before a turn can be looked at."""

    @classmethod
    def of(cls, where: Where | None, scope: Scope | None) -> TurnFilter:
        """Check what was asked for.

        Args:
            where: keys of the caller's metadata with their values, compared as JSON: ``1`` is ``1.0``, and neither
                ``"1"`` nor ``True``. A date, a path or a set is compared as it is stored. ``None`` is JSON's null;
                a key that is missing never fits.
            scope: whose turns; a turn must have each of its fields. A turn without a scope never fits.

        Raises:
            ArgumentTypeError: one of them is no mapping, or holds a key or a value that nothing can be equal to;
                a scope has no such field.
            ScopeValidationError: the scope can't be searched by.
        """
        checked = MemoryScope.of(scope).validate("search")
        return cls((*_attached(where), *_whose(checked)), checked.participant_ids or ())

    @property
    def allows_all(self) -> bool:
        """Whether every turn is wanted."""
        return not self.conditions and not self.people

    def among(self, conversations: Iterable[Hashable]) -> TurnFilter:
        """Return the filter with the conversations that its people have in common in their place.

        Args:
            conversations: their ids, in the internal form.
        """
        return TurnFilter((*self.conditions, Condition(CONVERSATION, frozenset(conversations))))

    def allows(self, turn: NewTurn) -> bool:
        """Tell whether a turn fulfils all conditions; :meth:`among` has taken the place of its people."""
        read: dict[Source, Mapping[str, Any]] = {}
        for condition in self.conditions:
            source = condition.field.source
            if source not in read:
                read[source] = values_of(source, turn.turn if source == "scope" else turn.metadata)
            if not condition.holds(read[source]):
                return False
        return True


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
        conditions.append(Condition(Field("metadata", clean_text(name)), frozenset((as_key(stored),))))
    return conditions


def _whose(scope: MemoryScope) -> list[Condition]:
    wanted = {**scope.to_metadata(), "conversation_id": scope.internal_conversation_id}
    return [Condition(Field("scope", name), frozenset((value,))) for name, value in wanted.items() if value]


def stored_values(scope: Mapping[str, Any], agent_actor_id: str | None = None) -> Mapping[str, Any]:
    """Return what a stored turn is looked up by.

    Args:
        scope: the fields that are stored. The conversation is the caller's own, and looked up by its internal form.
        agent_actor_id: who answered; ``None`` where that is not stored.

    Examples:
        >>> sorted(stored_values({"actor_id": "alice", "conversation_id": "trip"}, "planner"))
        ['actor_id', 'agent_actor_id', 'conversation_id']
    """
    values = dict(scope)
    if isinstance(conversation := values.get("conversation_id"), str):
        values["conversation_id"] = internal_id(conversation)
    if agent_actor_id is not None:
        values["agent_actor_id"] = agent_actor_id
    return values


def took_part(person: str, values: Mapping[str, Any]) -> bool:
    """Tell whether a turn shows that somebody took part in a conversation.

    Args:
        person: an actor's id.
        values: the turn's, as :func:`stored_values` gives them.

    Examples:
        >>> took_part("planner", stored_values({"actor_id": "alice", "conversation_id": "trip"}, "planner"))
        True
    """
    return "conversation_id" in values and person in (values.get("actor_id"), values.get("agent_actor_id"))


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
        notes = read_notes(text)
        return stored_values(notes.scope, notes.agent_actor_id)
    found: Mapping[str, Any] = json.loads(text)
    return found
