"""Conversations of chat logs: who said what, in the form of OpenAI's messages and of ChatGPT's export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from ffai.core.arguments import check_dict, check_str, check_timestamp
from ffai.core.turn import text_of
from ffai.errors import ArgumentTypeError, InvalidArgumentError

Speaker = Literal["user", "assistant"]

_SILENT = ("system", "developer", "tool", "function")
"""Roles of messages that nobody said to anybody."""
_TIMES = ("timestamp", "create_time", "created_at", "created")
_SAID = ("text", "multimodal_text")
"""Kinds of ChatGPT's messages that are part of the talk; others are thoughts, code for tools, what tools gave."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation."""

    speaker: Speaker
    text: str
    timestamp: float | None = None
    """In seconds since the epoch; ``None`` where the log does not tell."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a log."""

    said: tuple[Said, ...]
    conversation_id: str | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What else is kept with each of its turns."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one side said until the other answered, and the answer until the first spoke again."""

    prompt: str
    response: str
    timestamp: float | None


Reader = Callable[[Any], Conversation]
"""Reads a conversation from a JSON value. Raises InvalidArgumentError, ArgumentTypeError where it is none."""


def exchanges(said: tuple[Said, ...]) -> Iterator[Exchange]:
    r"""Cut a conversation into exchanges. What comes before the first question is left out, and one without an answer.

    Examples:
        >>> talk = (Said("user", "Hi."), Said("user", "Where is it?"), Said("assistant", "Here."), Said("user", "Ah."))
        >>> [(one.prompt, one.response) for one in exchanges(talk)]
        [('Hi.\nWhere is it?', 'Here.')]
    """
    asked: list[Said] = []
    answered: list[Said] = []
    for message in (*said, Said("user", "")):
        if message.speaker == "assistant":
            if asked:
                answered.append(message)
            continue
        if answered:
            times = [one.timestamp for one in (*asked, *answered) if one.timestamp is not None]
            yield Exchange(_joined(asked), _joined(answered), times[0] if times else None)
            asked, answered = [], []
        asked.append(message)


def _joined(said: list[Said]) -> str:
    return "\n".join(message.text for message in said)


def openai_conversation(value: Any) -> Conversation:
    """Read ``{"messages": [{"role", "content"}, ...]}``, as in files for fine-tuning.

    It may have ``id`` or ``conversation_id``, ``title``, ``metadata``, and a time, which each message may have too:
    ``timestamp``, ``created_at``, ``created`` or ``create_time``.

    Raises:
        InvalidArgumentError, ArgumentTypeError: it is none; says what is wrong.

    Examples:
        >>> openai_conversation({"messages": [{"role": "user", "content": "Hi"}]}).said
        (Said(speaker='user', text='Hi', timestamp=None),)
    """
    check_dict("the conversation", value)
    if not isinstance(value.get("messages"), list):
        raise InvalidArgumentError("it has no list of 'messages'.")
    default = _time_in(value)
    said = []
    for number, message in enumerate(value["messages"], start=1):
        try:
            check_dict("it", message)
            speaker = _speaker(message.get("role"))
            text = "" if speaker is None else _content(message.get("content"))
            if speaker is not None and text.strip():
                time = _time_in(message)
                said.append(Said(speaker, text, default if time is None else time))
        except (InvalidArgumentError, ArgumentTypeError) as error:
            raise InvalidArgumentError(f"message {number}: {error}") from error
    metadata = value.get("metadata")
    if metadata is not None:
        check_dict("metadata", metadata)
    return Conversation(tuple(said), _name(value), _text_or_none("title", value.get("title")), metadata or {})


def _content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, (str, dict)) for part in content):
        raise ArgumentTypeError(f"content must be text or a list of parts, not {content!r:.100}.")
    return text_of(content)


def chatgpt_conversation(value: Any) -> Conversation:
    """Read a conversation of the ``conversations.json`` that ChatGPT exports: the branch that was shown last.

    Raises:
        InvalidArgumentError, ArgumentTypeError: it is none; says what is wrong.

    Examples:
        >>> message = {"author": {"role": "user"}, "content": {"parts": ["Hi"]}, "create_time": 1}
        >>> mapping = {"a": {"parent": None, "message": None}, "b": {"parent": "a", "message": message}}
        >>> chatgpt_conversation({"id": "c1", "title": "Hi", "mapping": mapping, "current_node": "b"}).said
        (Said(speaker='user', text='Hi', timestamp=1.0),)
    """
    check_dict("the conversation", value)
    if not isinstance(value.get("mapping"), dict):
        raise InvalidArgumentError("it has no 'mapping' of messages.")
    default = _time_in(value)
    said = []
    for name, node in _branch(value["mapping"], value.get("current_node")):
        try:
            message = _said_in(node, default)
        except (InvalidArgumentError, ArgumentTypeError) as error:
            raise InvalidArgumentError(f"message {name!r}: {error}") from error
        if message is not None:
            said.append(message)
    return Conversation(tuple(said), _name(value), _text_or_none("title", value.get("title")))


def _branch(mapping: Mapping[str, Any], shown: Any) -> list[tuple[str, Any]]:
    """Give the messages from the first one to the one shown last."""
    at = shown if isinstance(shown, str) and shown in mapping else next(reversed(list(mapping)), None)
    branch: list[tuple[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping:
        if at in seen:
            raise InvalidArgumentError(f"message {at!r} comes after itself.")
        seen.add(at)
        node = mapping[at]
        if not isinstance(node, dict):
            raise InvalidArgumentError(f"message {at!r} is no object: {node!r:.100}.")
        branch.append((at, node))
        at = node.get("parent")
    return branch[::-1]


def _said_in(node: Mapping[str, Any], default: float | None) -> Said | None:
    message = node.get("message")
    if message is None:
        return None
    check_dict("message", message)
    author, content, about = (message.get(key) or {} for key in ("author", "content", "metadata"))
    for name, part in (("author", author), ("content", content), ("metadata", about)):
        check_dict(name, part)
    speaker = _speaker(author.get("role"))
    to_a_tool = message.get("recipient") not in (None, "all")
    hidden = about.get("is_visually_hidden_from_conversation") is True
    if speaker is None or to_a_tool or hidden or content.get("content_type", "text") not in _SAID:
        return None
    parts = content.get("parts") or []
    if not isinstance(parts, list):
        raise ArgumentTypeError(f"parts must be a list, not {parts!r:.100}.")
    text = "\n".join(shown for part in parts if (shown := _part(part)))
    time = _time_in(message)
    return Said(speaker, text, default if time is None else time) if text.strip() else None


def _part(part: Any) -> str:
    """Give what a part says: its text, what was heard, or that there is a picture."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(text := part.get("text"), str):
        return text
    return "[image]" if part.get("content_type") == "image_asset_pointer" else ""


def _speaker(role: Any) -> Speaker | None:
    if role == "user":
        return "user"
    if role == "assistant":
        return "assistant"
    if role in _SILENT:
        return None
    raise InvalidArgumentError(f"role must be 'user', 'assistant', 'system' or 'tool', not {role!r:.100}.")


def _name(value: Mapping[str, Any]) -> str | None:
    name = value.get("conversation_id")
    name = value.get("id") if name is None else name
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    return _text_or_none("id", name) or None


def _text_or_none(name: str, value: Any) -> str | None:
    if value is not None:
        check_str(name, value)
    text: str | None = value
    return text


def _time_in(value: Mapping[str, Any]) -> float | None:
    return next((read_time(value[key], key) for key in _TIMES if value.get(key) is not None), None)


def read_time(value: Any, name: str = "timestamp") -> float:
    """Read a time: seconds since the epoch, or a date as text, which is UTC where it names no zone.

    Raises:
        InvalidArgumentError, ArgumentTypeError: it is neither.

    Examples:
        >>> read_time("1970-01-01T01:00:00+01:00")
        0.0
    """
    if isinstance(value, str):
        try:
            said = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidArgumentError(f"{name} can't be read: {error}.") from error
        value = (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp()
    try:
        return float(check_timestamp(name, value))
    except OverflowError as error:
        raise InvalidArgumentError(f"{name} can't be read: {error}.") from error
