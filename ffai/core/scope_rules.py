"""What the fields of a scope may be, and which go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from ffai._text import clean_text
from ffai.errors import Violation

ActorType = Literal["user", "agent", "system"]
SourceType = Literal["conversation", "document", "api"]

LONGEST_ID = 64
"""Characters of an id."""
LONGEST_NAME = 255
"""Characters of what an actor is called."""

_IDS = frozenset({"actor_id", "conversation_id"})
_CHOICES = {"actor_type": get_args(ActorType), "source_type": get_args(SourceType)}


def text_violation(name: str, value: Any) -> Violation | None:
    """Return what is wrong with a field that is text; empty text and ``None`` say nothing.

    Examples:
        >>> text_violation("actor_id", "x" * 65).rule
        'max_length'
        >>> text_violation("source_type", "api") is None
        True
    """
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return Violation(name, "type", f"{name} must be text, not {type(value).__name__}: {value!r:.100}")
    if name in _IDS:
        return id_violation(name, value)
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        *others, last = map(repr, choices)
        return Violation(name, "choice", f"{name} must be {', '.join(others)} or {last}, not {value!r:.100}")
    return None


def id_violation(name: str, value: Any) -> Violation | None:
    """Return what is wrong with an id, which must have 1 to 64 characters.

    Examples:
        >>> id_violation("participant_ids[0]", "").message
        'participant_ids[0] is empty: an id has 1 to 64 characters'
    """
    if not isinstance(value, str):
        return Violation(name, "type", f"{name} must be text, not {type(value).__name__}: {value!r:.100}")
    if not value:
        return Violation(name, "min_length", f"{name} is empty: an id has 1 to {LONGEST_ID} characters")
    if len(value) > LONGEST_ID:
        told = f"{name} has {len(value)} characters, at most {LONGEST_ID} can be used: {value!r:.100}"
        return Violation(name, "max_length", told)
    if clean_text(value) != value:  # replaced, it would be equal to others
        return Violation(name, "encoding", f"{name} has half of a surrogate pair, which no file can hold: {value!r}")
    return None


def people_of(given: Any) -> tuple[str, ...] | Violation | None:
    """Take participants: each once, in their order; ``None`` where there are none.

    Examples:
        >>> people_of(["bob", "alice", "bob"])
        ('bob', 'alice')
    """
    name = "participant_ids"
    if given is None or given == "":
        return None
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        return Violation(name, "type", f"{name} must be a list of ids, not {type(given).__name__}: {given!r:.100}")
    people = tuple(given)
    for place, person in enumerate(people):
        if not isinstance(person, str):
            return id_violation(f"{name}[{place}]", person)
    return tuple(dict.fromkeys(people)) or None


def pair_violations(actor_id: str | None, actor_type: str | None) -> list[Violation]:
    """Return what is wrong where only one half of an actor is given."""
    if actor_id and not actor_type:
        told = f"actor_type is missing: actor_id is {actor_id!r}, and they go together"
        return [Violation("actor_type", "pair", told)]
    if actor_type and not actor_id:
        told = f"actor_id is missing: actor_type is {actor_type!r}, and they go together"
        return [Violation("actor_id", "pair", told)]
    return []


def adding_violations(actor_type: str | None, actor_name: str | None, conversation_id: str | None) -> list[Violation]:
    """Return what keeps a turn from being stored with a scope."""
    wrong = []
    if conversation_id and not actor_type:
        told = f"actor_type is missing: a turn of conversation {conversation_id!r} needs an actor"
        wrong.append(Violation("conversation_id", "needs_actor", told))
    if actor_name and len(actor_name) > LONGEST_NAME:
        told = f"actor_name has {len(actor_name)} characters, at most {LONGEST_NAME} can be used: {actor_name!r:.100}"
        wrong.append(Violation("actor_name", "max_length", told))
    return wrong


def searching_violations(conversation_id: str | None, people: tuple[str, ...] | None) -> list[Violation]:
    """Return what keeps a scope from being searched by."""
    wrong = []
    if people and conversation_id:
        told = f"participant_ids can't be used with conversation_id, which is {conversation_id!r}: give one of them"
        wrong.append(Violation("participant_ids", "exclusive", told))
    checked = (id_violation(f"participant_ids[{place}]", person) for place, person in enumerate(people or ()))
    return [*wrong, *filter(None, checked)]
