"""Whose knowledge and threads are: the person and the conversation of a scope, as text."""

from __future__ import annotations

import json
from functools import lru_cache

from ffai.core.conversation_id import internal_id, is_internal
from ffai.core.memory.filters import TurnFilter, stored_values
from ffai.core.scope import MemoryScope

UNSCOPED = '{"seen": "without a scope"}'
"""The place of what belongs to no scope, and is seen only by one who asks without one."""
_FIELDS = ("actor_id", "actor_type", "conversation_id")


def place_of(scope: MemoryScope) -> str:
    """Write the person and the conversation of a scope; ``"{}"`` is everybody's.

    Examples:
        >>> place_of(MemoryScope.user("alice", name="Alice", conversation="trip"))
        '{"actor_id": "alice", "actor_type": "user", "conversation_id": "trip"}'
        >>> place_of(MemoryScope())
        '{}'
    """
    fields = scope.to_metadata()
    return json.dumps({name: fields[name] for name in _FIELDS if name in fields})


@lru_cache(maxsize=4096)
def scope_at(place: str) -> MemoryScope:
    """Read what :func:`place_of` wrote.

    Examples:
        >>> scope_at('{"actor_id": "alice", "actor_type": "user"}')
        MemoryScope(actor_id='alice', actor_type='user')
    """
    return MemoryScope.stored(json.loads(place))


def is_within(place: str, wanted: TurnFilter) -> bool:
    """Tell whether a place is one that a filter of scopes allows; people have given way to their conversations."""
    values = stored_values(scope_at(place).to_metadata())
    return all(condition.field.source == "scope" and condition.holds(values) for condition in wanted.conditions)


def is_seen(place: str, asked: MemoryScope, wanted: TurnFilter) -> bool:
    """Tell whether knowledge of a place may be seen by one who asks.

    That is knowledge of the scope that is asked for, as with turns; and what has a wider scope: what is known of the
    person in no conversation in particular, of the conversation and nobody in particular, and what is everybody's.

    Args:
        place: whose it is.
        asked: the scope that was asked for.
        wanted: that scope as a filter, whose people have given way to their conversations.

    Examples:
        >>> asked = MemoryScope.user("alice", conversation="trip")
        >>> places = (MemoryScope(), MemoryScope.user("alice"), MemoryScope.user("alice", conversation="work"))
        >>> [is_seen(place_of(scope), asked, TurnFilter.of(None, asked)) for scope in places]
        [True, True, False]
    """
    if is_within(place, _without_source(wanted)):
        return True
    if place == UNSCOPED:
        return False
    own, theirs = _named(scope_at(place)), _named(asked)
    return own.items() <= theirs.items()


def width_of(place: str, asked: MemoryScope) -> int | None:
    """Tell how much wider than what is asked for a place is; ``None`` where it is not a wider one.

    Args:
        place: whose knowledge it is.
        asked: the scope that was asked for.

    Examples:
        >>> asked = MemoryScope.user("alice", conversation="trip")
        >>> person, conversation = MemoryScope.user("alice"), MemoryScope(conversation_id="trip")
        >>> [width_of(place_of(scope), asked) for scope in (asked, person, conversation, MemoryScope())]
        [0, 1, 2, 3]
        >>> width_of(place_of(MemoryScope.user("bob")), asked)
    """
    own, theirs = _named(scope_at(place)), _named(asked)
    if place == UNSCOPED:
        return -1 if not asked.as_dict() else None
    if not own.items() <= theirs.items():
        return None
    return 2 * ("actor_id" not in own and "actor_id" in theirs) + (
        "conversation_id" not in own and "conversation_id" in theirs
    )


def _without_source(wanted: TurnFilter) -> TurnFilter:
    """Leave out where turns came from: knowledge was taught."""
    return TurnFilter(tuple(one for one in wanted.conditions if one.field.name != "source_type"), wanted.people)


def _named(scope: MemoryScope) -> dict[str, str]:
    fields = {name: value for name in _FIELDS if (value := getattr(scope, name)) is not None}
    named = fields.get("conversation_id")
    if named is not None and not is_internal(named):
        fields["conversation_id"] = internal_id(named)
    return fields
