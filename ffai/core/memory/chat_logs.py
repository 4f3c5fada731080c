"""Turns of chat logs: which format a file has, and its conversations as turns that have the same ids every time."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from ffai._text import clean_text
from ffai.core.conversation_id import is_internal
from ffai.core.memory.chat_messages import (
    Conversation,
    Exchange,
    Reader,
    chatgpt_conversation,
    exchanges,
    openai_conversation,
)
from ffai.core.memory.identity import content_id, new_turn
from ffai.core.memory.json_objects import read_objects
from ffai.core.memory.jsonl import Allowed, Line, read_lines
from ffai.core.scope import NO_SCOPE, MemoryScope
from ffai.core.scope_rules import LONGEST_ID, SourceType
from ffai.errors import ArgumentTypeError, InvalidArgumentError

LogFormat = Literal["ffai", "openai", "chatgpt"]
Lines = Callable[[BinaryIO, Path], Iterator[tuple[Line, int]]]
"""Reads the turns of a file, each with how many bytes it takes. Raises InvalidArgumentError."""

_READERS: dict[str, Reader] = {"openai": openai_conversation, "chatgpt": chatgpt_conversation}
_FIRST_LOOK = 64 * 1024


@dataclass(frozen=True, slots=True)
class LogOwner:
    """Whose a chat log is."""

    scope: Callable[[], MemoryScope]
    """Gives the scope that its turns may be stored with. Raises ScopeValidationError."""
    is_given: bool = False
    """Whether the caller named it."""
    source: SourceType | None = None
    """Where its turns came from; a conversation, if nobody says otherwise."""
    of_line: Allowed | None = None
    """Gives the scope of a question and its answer, in a file whose lines have their own."""


NOBODYS_LOG = LogOwner(lambda: NO_SCOPE)


def check_format(wanted: object) -> None:
    """Refuse a format that there is not.

    Raises:
        InvalidArgumentError: there is no such format.

    Examples:
        >>> check_format("slack")
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: format must be None or one of ('ffai', 'openai', 'chatgpt'), not 'slack'.
    """
    if wanted is not None and wanted not in get_args(LogFormat):
        raise InvalidArgumentError(f"format must be None or one of {get_args(LogFormat)!r}, not {wanted!r}.")


def reader_for(file: BinaryIO, wanted: LogFormat | None, whose: LogOwner) -> Lines:
    """Give what reads the turns of a file; the file stands where it stood.

    Args:
        file: the file, at its beginning; it can be read twice.
        wanted: its format; ``None`` looks.
        whose: whose log it is, if it is a chat log.

    Raises:
        InvalidArgumentError: a scope is given for a file whose lines have their own, or one that names nobody.
        ScopeValidationError: its turns can't be stored with that scope.
    """
    found = wanted
    if found is None:
        beginning = file.read(_FIRST_LOOK)
        file.seek(0)
        found = format_of(beginning)
    if found != "ffai":
        read, scope = _READERS[found], _scope_of_log(whose)
        return lambda file, path: _turns(file, path, read, scope)
    if whose.is_given:
        raise InvalidArgumentError("scope is for chat logs; in this file each turn says itself whose it is.")
    return partial(read_lines, allowed=whose.of_line)


def _scope_of_log(whose: LogOwner) -> MemoryScope:
    allowed = whose.scope()
    if whose.is_given and not allowed.actor_id:
        raise InvalidArgumentError(f"scope must say whose log it is: actor_id and actor_type, not {allowed!r}.")
    return MemoryScope.of({**allowed.to_metadata(), "source_type": whose.source or "conversation"})


def format_of(beginning: bytes) -> LogFormat:
    """Tell a file's format from its beginning.

    Examples:
        >>> format_of(b'{"messages": []}'), format_of(b'[{"id": "a", "mapping": {}}]'), format_of(b'{"prompt": "Hi"}')
        ('openai', 'chatgpt', 'ffai')
    """
    text = beginning.decode("utf-8-sig", "replace").lstrip()
    in_array = text.startswith("[")
    names = _names(text.removeprefix("[").lstrip())
    if "mapping" in names:
        return "chatgpt"
    if "messages" in names:
        return "openai"
    return "chatgpt" if in_array else "ffai"


def _names(text: str) -> set[str]:
    """Read the keys of an object, as far as it is there."""
    names: set[str] = set()
    decode, at = json.JSONDecoder().raw_decode, 1
    if not text.startswith("{"):
        return names
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n,"))
        try:
            name, at = decode(text, at)
        except (ValueError, RecursionError):
            return names
        if not isinstance(name, str):
            return names
        names.add(name)
        at = text.find(":", at) + 1
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            _, at = decode(text, at)
        except (ValueError, RecursionError):
            return names


def _turns(file: BinaryIO, path: Path, read: Reader, scope: MemoryScope) -> Iterator[tuple[Line, int]]:
    found = read_objects(file)
    while True:
        try:
            one = next(found, None)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{str(path)!r}, {error}") from error
        if one is None:
            return
        try:
            lines = list(_lines(read(one.value), scope))
        except (InvalidArgumentError, ArgumentTypeError) as error:
            where = f"{str(path)!r}, line {one.line}, conversation {one.number}{_called(one.value)}"
            raise InvalidArgumentError(f"{where}: {error}") from error
        for line in lines:
            yield line, len(line.turn.turn)


def _called(value: object) -> str:
    title = value.get("title") if isinstance(value, dict) else None
    return f" ({title!r:.60})" if isinstance(title, str) else ""


def _lines(conversation: Conversation, scope: MemoryScope) -> Iterator[Line]:
    """Make the turns of a conversation.

    Its id is the log's, or made from its first exchange, which stays the same when the log grows. A turn's id is made
    from what was said, the conversation, and how many of its equals came before it.
    """
    seen: Counter[Exchange] = Counter()
    conversation_id = conversation.conversation_id
    for exchange in exchanges(conversation.said):
        said = replace(exchange, prompt=clean_text(exchange.prompt), response=clean_text(exchange.response))
        if conversation_id is None:
            conversation_id = _digest(said.prompt, said.response)
        plain = replace(said, timestamp=None)
        seen[plain] += 1
        whose = _whose(scope, conversation_id)
        content = {
            "response": said.response,
            "conversation": conversation_id,
            "position": seen[plain],
            "scope": scope.to_metadata(),
        }
        about = {**conversation.metadata, "conversation_id": conversation_id}
        if conversation.title:
            about["title"] = conversation.title
        turn_id = f"i{content_id(said.prompt, content, {})[1:]}"
        turn = new_turn(
            said.prompt, said.response, scope=whose, timestamp=said.timestamp, metadata=about, turn_id=turn_id
        )
        yield Line(turn, is_named=True)


def _whose(scope: MemoryScope, conversation_id: str) -> MemoryScope:
    """Put a conversation into the scope of a log; one that names a conversation keeps it, nobody's has none."""
    if scope.conversation_id or not scope.actor_id:
        return scope
    fits = len(conversation_id) <= LONGEST_ID and not is_internal(conversation_id)
    return replace(scope, conversation_id=conversation_id if fits else _digest(conversation_id))


def _digest(*texts: str) -> str:
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=15).hexdigest()
