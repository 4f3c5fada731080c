"""What a call gives back."""

from __future__ import annotations

from dataclasses import dataclass

from ffai.chat.reply import TokenUsage, ToolCall
from ffai.typing import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseResult:
    """One answered prompt.

    Examples:
        >>> str(ResponseResult(response="Under the mat."))
        'Under the mat.'
    """

    response: str
    """What the model said, unaltered; ``""`` where it only asked for tools."""
    resolved_prompt: str = ""
    """The prompt with its references replaced, as it is recorded and remembered."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The tools the model asks for."""
    usage: TokenUsage | None = None
    """Tokens used; ``None`` where the provider did not say."""
    cost_usd: float | None = None
    """What it cost; ``None`` where the price is unknown."""
    model: str = ""
    """The model that answered."""
    duration_ms: float = 0.0
    """From the call to the whole reply."""
    status: Status = "success"
    turn_id: str | None = None
    """The turn's id in memory; ``None`` where it is not remembered: memory is off, or the reply has no text."""

    def __str__(self) -> str:
        return self.response
