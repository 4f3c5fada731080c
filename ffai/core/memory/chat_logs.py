"""Turns of chat logs: which format a file has, and its conversations as turns that have the same ids every time."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from ffai._text import clean_text
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
from ffai.core.memory.jsonl import Line, read_lines
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError

LogFormat = Literal["ffai", "openai", "chatgpt"]
Lines = Callable[[BinaryIO, Path], Iterator[tuple[Line, int]]]
"""Reads the turns of a file, each with how many bytes it takes. Raises InvalidArgumentError."""

_READERS: dict[str, Reader] = {"openai": openai_conversation, "chatgpt": chatgpt_conversation}
_LONGEST_ID = 64
"""Characters that a scope's conversation_id may have."""
_INTERNAL = "cnv_"
"""What ids of conversations begin with that are not the caller's."""
_FIRST_LOOK = 64 * 1024


def check_format(wanted: object, scope: object) -> None:
    """Refuse a format that there is not, and a scope that can't be whose log it is.

    Raises:
        InvalidArgumentError, ArgumentTypeError: one of them can't be used.

    Examples:
        >>> check_format("slack", None)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: format must be None or one of ('ffai', 'openai', 'chatgpt'), not 'slack'.
    """
    if wanted is not None and wanted not in get_args(LogFormat):
        raise InvalidArgumentError(f"format must be None or one of {get_args(LogFormat)!r}, not {wanted!r}.")
    if scope is None:
        return
    if not isinstance(scope, MemoryScope):
        raise ArgumentTypeError(f"scope must be a MemoryScope, not {type(scope).__name__}: {scope!r:.100}.")
    if not (scope.actor_id and scope.actor_type):
        raise InvalidArgumentError(f"scope must say whose log it is: actor_id and actor_type, not {scope!r}.")


def reader_for(file: BinaryIO, wanted: LogFormat | None, scope: MemoryScope | None) -> Lines:
    """Give what reads the turns of a file; the file stands where it stood.

    Args:
        file: the file, at its beginning; it can be read twice.
        wanted: its format; ``None`` looks.
        scope: whose log it is.

    Raises:
        InvalidArgumentError: a scope is given for a file whose lines have their own.
    """
    found = wanted
    if found is None:
        beginning = file.read(_FIRST_LOOK)
        file.seek(0)
        found = format_of(beginning)
    if found != "ffai":
        read = _READERS[found]
        return lambda file, path: _turns(file, path, read, scope)
    if scope is not None:
        raise InvalidArgumentError("scope is for chat logs; in this file each turn says itself whose it is.")
    return read_lines


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


def _turns(file: BinaryIO, path: Path, read: Reader, scope: MemoryScope | None) -> Iterator[tuple[Line, int]]:
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


def _lines(conversation: Conversation, scope: MemoryScope | None) -> Iterator[Line]:
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
            "scope": {} if scope is None else scope.as_dict(),
        }
        about = {**conversation.metadata, "conversation_id": conversation_id}
        if conversation.title:
            about["title"] = conversation.title
        turn_id = f"i{content_id(said.prompt, content, {})[1:]}"
        turn = new_turn(
            said.prompt, said.response, scope=whose, timestamp=said.timestamp, metadata=about, turn_id=turn_id
        )
        yield Line(turn, is_named=True)


def _whose(scope: MemoryScope | None, conversation_id: str) -> MemoryScope | None:
    """Put a conversation into the scope of a log; one that names a conversation keeps it."""
    if scope is None:
        return None
    fits = len(conversation_id) <= _LONGEST_ID and not conversation_id.startswith(_INTERNAL)
    return replace(
        scope,
        conversation_id=scope.conversation_id or (conversation_id if fits else _digest(conversation_id)),
        source_type=scope.source_type or "conversation",
        participant_ids=None,
    )


def _digest(*texts: str) -> str:
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=15).hexdigest()
