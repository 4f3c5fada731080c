"""The shapes of dicts that cross the public surface."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, Required, TypedDict

Metadata = dict[str, Any]
"""What a caller attaches to a turn; anything JSON can hold."""

Status = Literal["success", "failed", "skipped", "aborted"]
"""How a call ended. Only a success is remembered."""


class ContentPart(TypedDict, total=False):
    """One part of a message: text, or something described by its type."""

    type: Required[str]
    text: NotRequired[str]


class TurnDict(TypedDict):
    """A stored turn, in the shape the permanent history uses."""

    role: str
    content: list[ContentPart]
    timestamp: float
    """Seconds since the epoch, UTC."""
    metadata: Metadata


Prompt = str | list[Any]
"""A prompt: text, or a list of message parts (``{"type": "text", "text": ...}`` and others)."""
