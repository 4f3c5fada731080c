"""Turns: making one, reading one, copying what is attached to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.typing import ContentPart, Metadata, Prompt, TurnDict

MAX_DEPTH = 100
"""How deep a value that is kept beside a turn may be nested, in levels."""

_CONTAINERS = (dict, list, tuple, set)


def content_of(prompt: Prompt) -> list[ContentPart]:
    """Return what was said as message parts.

    Args:
        prompt: text, or a list of message parts. A part that is not text is kept as its type alone, so that
            the base64 of a picture is never stored.

    Examples:
        >>> content_of(["Look:", {"type": "image_url", "image_url": {"url": "data:..."}}])
        [{'type': 'text', 'text': 'Look:'}, {'type': 'image_url'}]
    """
    if isinstance(prompt, str):
        return [{"type": "text", "text": prompt}]
    return [_part(part) for part in prompt]


def text_of(prompt: Prompt) -> str:
    r"""Return what was said as one text: one line a part, parts that are not text as ``[type]``.

    Examples:
        >>> text_of([{"type": "text", "text": "Look:"}, {"type": "image_url"}])
        'Look:\n[image_url]'
    """
    if isinstance(prompt, str):
        return prompt
    return "\n".join(_shown(_part(part)) for part in prompt)


def make_turn(role: str, said: Prompt, *, timestamp: float, metadata: Metadata | None = None) -> TurnDict:
    """Make a turn.

    Args:
        role: ``"user"`` or ``"assistant"``.
        said: text, or a list of message parts.
        timestamp: seconds since the epoch, UTC.
        metadata: kept as it is, not copied; ``None`` becomes ``{}``.

    Examples:
        >>> make_turn("user", "Hello", timestamp=0.0)
        {'role': 'user', 'content': [{'type': 'text', 'text': 'Hello'}], 'timestamp': 0.0, 'metadata': {}}
    """
    return {
        "role": role,
        "content": content_of(said),
        "timestamp": timestamp,
        "metadata": {} if metadata is None else metadata,
    }


def turn_text(turn: Mapping[str, Any]) -> str:
    """Return the text of a turn: every text part, one line each; other parts as ``[type]``.

    Args:
        turn: a turn; content that is plain text, or one part, is understood too.

    Raises:
        ArgumentTypeError: it is not a turn, or a part of it is neither text nor a dict.

    Examples:
        >>> turn_text({"role": "user", "content": "Hello"})
        'Hello'
    """
    content = turn.get("content") if isinstance(turn, Mapping) else None
    parts = [content] if isinstance(content, (str, Mapping)) else content
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, (str, Mapping)) for part in parts):
        raise ArgumentTypeError(f"turn must be a dict with text or message parts as its content, not {turn!r:.100}.")
    return text_of(list(parts))


def plain_copy(value: Any, *, depth: int = MAX_DEPTH) -> Any:
    """Copy dicts, lists, tuples and sets all the way down; share everything else.

    Unlike ``copy.deepcopy`` it never fails on a value that can't be copied, such as a lock or an open file.

    Args:
        value: anything.
        depth: levels of nesting allowed.

    Raises:
        InvalidArgumentError: the value is nested deeper than that, or contains itself.

    Examples:
        >>> plain_copy({"tags": ["a", "b"]})
        {'tags': ['a', 'b']}
    """
    if not isinstance(value, _CONTAINERS):
        return value
    if depth == 0:
        raise InvalidArgumentError(f"A value is nested deeper than {MAX_DEPTH} levels, or contains itself.")
    within = depth - 1
    if isinstance(value, dict):
        return {
            key: plain_copy(item, depth=within) if isinstance(item, _CONTAINERS) else item
            for key, item in value.items()
        }
    items = [plain_copy(item, depth=within) if isinstance(item, _CONTAINERS) else item for item in value]
    if isinstance(value, list):
        return items
    return set(items) if isinstance(value, set) else tuple(items)


def _part(part: Any) -> ContentPart:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        return {"type": type(part).__name__}
    text = part.get("text")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    kind = part.get("type")
    return {"type": kind if isinstance(kind, str) else "part"}


def _shown(part: ContentPart) -> str:
    text = part.get("text")
    return f"[{part['type']}]" if text is None else text
