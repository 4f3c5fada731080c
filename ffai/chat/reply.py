"""What a chat model gives back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens a call used. ``None`` where the provider did not say; never 0 for "unknown"."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model asks for."""

    id: str
    name: str
    arguments: str
    """The arguments as the model wrote them: JSON, as a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """One reply of a chat model."""

    text: str = ""
    """What the model said, unaltered; ``""`` where it only asked for tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    """``None`` where the price is unknown."""
    model: str = ""
    """The model that answered; after a fallback another one than was asked."""
    finish_reason: str | None = None
