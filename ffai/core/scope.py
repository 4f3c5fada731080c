"""Whose turn it is: a value that names a person or an agent, and a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ffai._text import clean_text
from ffai.core.conversation_id import internal_id, is_internal
from ffai.core.scope_rules import (
    ActorType,
    SourceType,
    adding_violations,
    id_violation,
    pair_violations,
    people_of,
    searching_violations,
    text_violation,
)
from ffai.errors import ArgumentTypeError, ScopeValidationError, Violation

Operation = Literal["add", "search"]

DEFAULT_SOURCE: SourceType = "api"
"""Where a turn came from, if its scope does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """Who said it, and in which conversation. A field that is ``None`` or empty says nothing.

    Ids are compared as they are: no character has a meaning, upper and lower case differ.

    Raises:
        ScopeValidationError: a field has a wrong type, is too long, or is none of its choices; names all of them.
        TypeError: a scope has no such field.

    Examples:
        >>> MemoryScope(actor_id="alice", actor_type="user")
        MemoryScope(actor_id='alice', actor_type='user')
        >>> MemoryScope(actor_id="alice", actor_type="robot")
        Traceback (most recent call last):
        ffai.errors.ScopeValidationError: actor_type must be 'user', 'agent' or 'system', not 'robot'.
    """

    actor_id: str | None = None
    """Whom the turn is about: up to 64 characters, together with ``actor_type``."""
    actor_type: ActorType | None = None
    actor_name: str | None = None
    """What the actor is called, up to 255 characters. It is shown; nothing is found by it."""
    conversation_id: str | None = None
    """Up to 64 characters: an id of yours, or the form that hits have, which begins with ``cnv_``."""
    source_type: SourceType | None = None
    """Where the text came from. A turn that is stored without one has ``"api"``."""
    participant_ids: tuple[str, ...] | None = None
    """For searches: only conversations in which all of these took part. Any iterable of ids is taken."""

    def __post_init__(self) -> None:
        people = people_of(self.participant_ids)
        wrong = [found for name in _TEXTS if (found := text_violation(name, getattr(self, name)))]
        if isinstance(people, Violation):
            wrong.append(people)
        if wrong:
            raise ScopeValidationError(wrong)
        for name in _TEXTS:
            object.__setattr__(self, name, clean_text(getattr(self, name) or "") or None)
        object.__setattr__(self, "participant_ids", people)

    def __repr__(self) -> str:
        return f"MemoryScope({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"

    # Making one

    @classmethod
    def user(cls, actor_id: str, *, name: str | None = None, conversation: str | None = None) -> MemoryScope:
        """Make the scope of a user.

        Examples:
            >>> MemoryScope.user("alice", conversation="trip").conversation_id
            'trip'
        """
        return MemoryScope(actor_id=actor_id, actor_type="user", actor_name=name, conversation_id=conversation)

    @classmethod
    def shared(cls, *actor_ids: str) -> MemoryScope:
        """Make the scope of the conversations in which all of these took part; for searches.

        Examples:
            >>> MemoryScope.shared("alice", "bob")
            MemoryScope(participant_ids=('alice', 'bob'))
        """
        return MemoryScope(participant_ids=actor_ids)

    @classmethod
    def all(cls) -> MemoryScope:
        """Say that everybody's turns are meant, where a scope is required, or another one would apply.

        Examples:
            >>> MemoryScope.all(), MemoryScope.all() == MemoryScope()
            (MemoryScope.all(), False)
        """
        return _Everybody()

    @classmethod
    def of(cls, given: MemoryScope | Mapping[str, Any] | None) -> MemoryScope:
        """Take a scope, or a mapping of its fields; ``None`` is the empty scope.

        Raises:
            ArgumentTypeError: it is neither, or the mapping has a field that no scope has.
            ScopeValidationError: a field can't be used.

        Examples:
            >>> MemoryScope.of({"conversation_id": "trip"})
            MemoryScope(conversation_id='trip')
        """
        if isinstance(given, MemoryScope):
            return given
        if given is None:
            return NO_SCOPE
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(
                f"scope must be a MemoryScope or a mapping of its fields, not {type(given).__name__}: {given!r:.100}."
            )
        if unknown := [name for name in given if name not in SCOPE_FIELDS]:
            raise ArgumentTypeError(f"A scope has no field {unknown[0]!r}. It has {', '.join(SCOPE_FIELDS)}.")
        return MemoryScope(**given)

    @classmethod
    def stored(cls, noted: Mapping[str, Any]) -> MemoryScope:
        """Read the scope of a stored turn; what can't be used says nothing.

        Examples:
            >>> MemoryScope.stored({"actor_id": "alice", "actor_type": 5})
            MemoryScope(actor_id='alice')
        """
        given = {name: noted.get(name) for name in _TEXTS}
        return MemoryScope(**{name: value for name, value in given.items() if not text_violation(name, value)})

    # Using one

    def validate(self, operation: Operation) -> MemoryScope:
        """Check the scope for an operation.

        Returns:
            What the operation uses of it. ``"add"``: no participants, and a source; ``"search"``: no name.

        Raises:
            ScopeValidationError: fields don't go together; names all that is wrong.

        Examples:
            >>> MemoryScope(actor_id="alice", actor_type="user").validate("add").source_type
            'api'
            >>> MemoryScope(actor_type="user").validate("search")
            Traceback (most recent call last):
            ffai.errors.ScopeValidationError: actor_id is missing: actor_type is 'user', and they go together.
        """
        if self is NO_SCOPE:  # most calls have none, and each is checked before a model is called
            return NO_SCOPE if operation == "search" else NOBODYS
        if self is NOBODYS:
            return self
        wrong = pair_violations(self.actor_id, self.actor_type)
        if operation == "add":
            wrong += adding_violations(self.actor_type, self.actor_name, self.conversation_id)
        else:
            wrong += searching_violations(self.conversation_id, self.participant_ids)
        if wrong:
            raise ScopeValidationError(wrong)
        if operation == "search":
            return self if self.actor_name is None else replace(self, actor_name=None)
        if self.source_type and not self.participant_ids:
            return self
        return MemoryScope.of({"source_type": DEFAULT_SOURCE, **self.to_metadata()})

    def merged(self, other: MemoryScope | None) -> MemoryScope:
        """Return this scope with the fields of another one in their place.

        An actor is replaced as a whole, and a conversation by participants or the other way round;
        :meth:`all` replaces everything.

        Examples:
            >>> alice = MemoryScope.user("alice", name="Alice", conversation="trip")
            >>> alice.merged(MemoryScope(actor_id="bob", actor_type="user"))
            MemoryScope(actor_id='bob', actor_type='user', conversation_id='trip')
        """
        if other is None or other is NO_SCOPE:
            return self
        if other.is_all or self is NO_SCOPE:
            return other
        mine, theirs = self.as_dict(), other.as_dict()
        if "actor_id" in theirs or "actor_type" in theirs:
            mine = {name: value for name, value in mine.items() if not name.startswith("actor_")}
        if "conversation_id" in theirs or "participant_ids" in theirs:
            mine = {name: value for name, value in mine.items() if name not in ("conversation_id", "participant_ids")}
        return MemoryScope(**{**mine, **theirs}) if theirs else self

    @property
    def place(self) -> MemoryScope:
        """The person and the conversation alone."""
        if self.actor_id is None and self.conversation_id is None:
            return NO_SCOPE
        return MemoryScope(actor_id=self.actor_id, actor_type=self.actor_type, conversation_id=self.conversation_id)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are set.

        Examples:
            >>> MemoryScope.user("alice").as_dict()
            {'actor_id': 'alice', 'actor_type': 'user'}
        """
        return {name: value for name in SCOPE_FIELDS if (value := getattr(self, name)) is not None}

    def to_metadata(self) -> dict[str, str]:
        """Return what is stored with a turn: the fields that are set, without participants."""
        return {name: value for name in _TEXTS if (value := getattr(self, name)) is not None}

    @property
    def internal_conversation_id(self) -> str | None:
        """The conversation in the form that hits have, which begins with ``cnv_``; ``None`` without a conversation."""
        named = self.conversation_id
        return named if named is None or is_internal(named) else internal_id(named)

    @property
    def is_all(self) -> bool:
        """Whether it was made by :meth:`all`: it is empty on purpose."""
        return isinstance(self, _Everybody)


class _Everybody(MemoryScope):
    """The scope that is empty on purpose. Where a field is set in a copy of it, that is a scope like any other."""

    __slots__ = ()

    def __new__(cls, **fields: Any) -> MemoryScope:  # type: ignore[misc]
        is_empty = all(value is None for value in fields.values())
        return super().__new__(cls) if is_empty else MemoryScope(**fields)

    def __repr__(self) -> str:
        return "MemoryScope.all()"


SCOPE_FIELDS = tuple(field.name for field in fields(MemoryScope))
_TEXTS = tuple(name for name in SCOPE_FIELDS if name != "participant_ids")
NO_SCOPE = MemoryScope()
"""The empty scope: it says nothing."""
NOBODYS = MemoryScope(source_type=DEFAULT_SOURCE)
"""What a turn without a scope is stored with."""


def check_actor_id(name: str, value: str | None) -> str | None:
    """Check an actor's id that stands outside a scope; empty text is ``None``.

    Raises:
        ScopeValidationError: it is not text, or longer than 64 characters.

    Examples:
        >>> check_actor_id("speaker_actor_id", "bob")
        'bob'
    """
    if value is None or value == "":
        return None
    if wrong := id_violation(name, value):
        raise ScopeValidationError([wrong])
    return value


def with_known_conversation(scope: MemoryScope, conversation_id: str | None) -> MemoryScope:
    """Put the caller's own id of a conversation in the place of its internal form.

    Args:
        scope: has the internal form.
        conversation_id: the caller's; ``None`` where no turn belongs to the conversation.

    Raises:
        ScopeValidationError: it is not known.

    Examples:
        >>> with_known_conversation(MemoryScope.user("alice", conversation="cnv_1"), "trip").conversation_id
        'trip'
    """
    if conversation_id is None or is_internal(conversation_id):
        told = (
            f"conversation_id {scope.conversation_id!r} is no known conversation: "
            "ids of your own don't begin with 'cnv_', which is the form that hits have"
        )
        raise ScopeValidationError([Violation("conversation_id", "unknown", told)])
    return replace(scope, conversation_id=conversation_id)
