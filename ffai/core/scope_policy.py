"""Which scope a call has: its own, over the one that was set for all calls, as far as that is allowed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from ffai.core.scope import NO_SCOPE, NOBODYS, MemoryScope, Operation
from ffai.errors import ArgumentTypeError, ScopeValidationError, Violation

P = ParamSpec("P")
T = TypeVar("T")
Scope = MemoryScope | Mapping[str, Any]
"""A scope, or a mapping of its fields."""
ScopeGuard = Callable[[MemoryScope], MemoryScope]
"""Takes the scope of a call, and returns it, or a narrower one, or raises."""


@dataclass(frozen=True, slots=True)
class ScopePolicy:
    """What applies to the scope of each call.

    Examples:
        >>> policy = ScopePolicy(MemoryScope.user("alice"))
        >>> policy.searching({"conversation_id": "trip"})
        MemoryScope(actor_id='alice', actor_type='user', conversation_id='trip')
        >>> ScopePolicy(is_required=True).searching(None)
        Traceback (most recent call last):
        ffai.errors.ScopeValidationError: a scope is required: give one, or MemoryScope.all() for everybody's turns.
    """

    default: MemoryScope = NO_SCOPE
    """Lies under the scope of each call."""
    is_required: bool = False
    """Whether a call must have a scope, or say that it means everybody."""
    guard: ScopeGuard | None = None
    """Has the last word."""

    def narrowed(self, scope: Scope | None) -> ScopePolicy:
        """Return the policy with a scope merged over its default.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
        """
        default = self.default.merged(MemoryScope.of(scope))
        default.validate("search")
        return replace(self, default=default)

    def adding(self, scope: Scope | None) -> MemoryScope:
        """Return the scope that a turn is stored with.

        Raises:
            ScopeValidationError, ArgumentTypeError: it can't be used.
        """
        if self is OPEN and (scope is None or scope is NOBODYS):
            return NOBODYS  # most calls: their caller waits
        given = MemoryScope.of(scope)
        if given.participant_ids:  # they are not stored: the conversation that lies under them is
            given = replace(given, participant_ids=None)
        return self._allowed(self.default.merged(given), "add")

    def searching(self, scope: Scope | None) -> MemoryScope:
        """Return the scope whose turns may be seen.

        Raises:
            ScopeValidationError, ArgumentTypeError: it can't be used.
        """
        return self._allowed(self.default.merged(MemoryScope.of(scope)), "search")

    def seeing(self, scope: Scope | None) -> MemoryScope:
        """Return the scope whose calls a new one builds on: references, earlier prompts, the client's conversation.

        It is that of a search; participants give way to a conversation.

        Raises:
            ScopeValidationError, ArgumentTypeError: it can't be used.
        """
        if self is OPEN and scope is None:
            return NO_SCOPE
        merged = self.default.merged(MemoryScope.of(scope))
        if merged.conversation_id and merged.participant_ids:
            merged = replace(merged, participant_ids=None)
        return self._allowed(merged, "search")

    @property
    def is_open(self) -> bool:
        """Whether calls may have any scope, and none."""
        return self == OPEN

    def _allowed(self, scope: MemoryScope, operation: Operation) -> MemoryScope:
        checked = scope.validate(operation)
        if self.guard is not None:
            scope = self.guard(scope)
            if not isinstance(scope, MemoryScope):
                raise ArgumentTypeError(f"scope_guard must return a MemoryScope, not {scope!r:.100}.")
            checked = scope.validate(operation)
        names_somebody = checked.actor_id if operation == "add" else checked.as_dict()
        if self.is_required and not names_somebody and not scope.is_all:
            needed = "an actor" if operation == "add" else "one"
            told = f"a scope is required: give {needed}, or MemoryScope.all() for everybody's turns"
            raise ScopeValidationError([Violation("scope", "required", told)])
        return checked


def scope_taken_now(call: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a coroutine function take its ``scope`` when it is called, not when what it returns begins to run.

    A mapping that is changed in between must not make it somebody else's call. Python 3.12 and later tell that what is
    returned is a coroutine function; 3.11 has no mark for it.

    Examples:
        >>> import asyncio
        >>> @scope_taken_now
        ... async def whose(scope=None):
        ...     return scope.actor_id
        >>> scope = {"actor_id": "alice", "actor_type": "user"}
        >>> asked = whose(scope=scope)
        >>> scope["actor_id"] = "bob"
        >>> asyncio.run(asked)
        'alice'
    """

    @functools.wraps(call)
    def taken(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        given: Any = kwargs.get("scope")
        if given is not None:
            kwargs["scope"] = MemoryScope.of(given)
        return call(*args, **kwargs)

    mark = getattr(inspect, "markcoroutinefunction", None)  # new in Python 3.12
    return taken if mark is None else mark(taken)


OPEN = ScopePolicy()
"""The policy of those who have set none."""
