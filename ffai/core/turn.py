"""Reading a turn: ``{"role", "content", "timestamp", "metadata"}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffai.errors import ArgumentTypeError


def turn_text(turn: Mapping[str, Any]) -> str:
    r"""Return what a turn says: its text parts, a line each; other parts are named by their type.

    Raises:
        ArgumentTypeError: it is not a turn.

    Example:
        >>> turn_text({"content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}]})
        'Look:\n[image_url]'
    """
    content = turn.get("content") if isinstance(turn, Mapping) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise ArgumentTypeError(f"turn must be a dict with a content of parts or text, not {turn!r:.100}.")
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise ArgumentTypeError(f"a part of a turn's content must be a dict or text, not {part!r:.100}.")
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'unknown')}]"
