"""Whose a call or a turn of the histories is, and whether one scope may see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ffai.core.memory.filters import TurnFilter, stored_values, took_part
from ffai.core.scope import MemoryScope


class Owned(Protocol):
    """What belongs to somebody."""

    @property
    def scope(self) -> MemoryScope:
        """Whose it is."""
        ...

    @property
    def agent_actor_id(self) -> str | None:
        """Who answered."""
        ...


Accept = Callable[[Owned], bool]
"""Tells whether something may be seen."""


def anybodys(_: Owned) -> bool:
    """Accept everything."""
    return True


def accepting(wanted: TurnFilter) -> Accept:
    """Return what accepts the calls of a scope.

    Args:
        wanted: conditions on scopes alone, whose people :func:`settled_by` has settled.

    Examples:
        >>> from types import SimpleNamespace as Call
        >>> accept = accepting(TurnFilter.of(None, MemoryScope.user("alice")))
        >>> [accept(Call(scope=MemoryScope.user(name), agent_actor_id=None)) for name in ("alice", "bob")]
        [True, False]
    """

    def accept(owned: Owned) -> bool:
        values = stored_values(owned.scope.to_metadata(), owned.agent_actor_id)
        return all(condition.holds(values) for condition in wanted.conditions)

    return accept


def settled_by(calls: Iterable[Owned], wanted: TurnFilter) -> TurnFilter:
    """Put the conversations that the people of a filter have in common, as calls tell, in their place."""
    if not wanted.people:
        return wanted
    told = [stored_values(call.scope.to_metadata(), call.agent_actor_id) for call in calls]
    theirs = ({values["conversation_id"] for values in told if took_part(who, values)} for who in wanted.people)
    return wanted.among(set.intersection(*theirs))
