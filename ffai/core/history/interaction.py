"""The record of one call to a model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ffai.core.scope import NO_SCOPE, MemoryScope
from ffai.core.turn import plain_copy
from ffai.typing import Metadata, Status

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One call: what was asked, what came back, and how it went.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response="Hello!", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> call.said, call.to_dict()["datetime"]
        ('Hi', '1970-01-01T00:00:00+00:00')
    """

    sequence_number: int
    """1, 2, 3 … in the order of recording."""
    prompt: str
    """As it was given, with its references in braces; parts that are not text as ``[type]``."""
    response: str | None
    """What came back, unaltered; ``None`` where nothing did."""
    clean_response: Any
    """The response without thoughts, parsed where JSON was asked for."""
    model: str
    timestamp: float
    """Seconds since the epoch, UTC."""
    prompt_name: str | None = None
    resolved_prompt: str | None = None
    """The prompt with its references resolved; ``None`` where it is the same."""
    history: tuple[str, ...] | None = None
    """Names of the prompts that were put in front of this one."""
    status: Status = "success"
    error: str | None = None
    usage: Any = None
    """What the client told about tokens; ``None`` where it told nothing."""
    cost_usd: float | None = None
    duration_ms: float | None = None
    tool_calls: tuple[Any, ...] = ()
    turn_id: str | None = None
    """The turn's id in memory; ``None`` where it was not remembered."""
    scope: MemoryScope = NO_SCOPE
    """Whose call it is."""
    agent_actor_id: str | None = None
    """Who answered."""
    metadata: Metadata = field(default_factory=dict)

    @property
    def said(self) -> str:
        """What the model was asked: the prompt with its references resolved."""
        return self.prompt if self.resolved_prompt is None else self.resolved_prompt

    def copy(self, **changes: Any) -> Interaction:
        """Return a copy that shares nothing which can be changed, with some fields replaced."""
        own = {"metadata": plain_copy(self.metadata), "clean_response": plain_copy(self.clean_response)}
        return replace(self, **own | changes)

    def to_dict(self) -> dict[str, Any]:
        """Return every field by name, and ``datetime`` as ISO 8601 text in UTC; nothing is shared."""
        return {
            "sequence_number": self.sequence_number,
            "model": self.model,
            "timestamp": self.timestamp,
            "datetime": (_EPOCH + timedelta(seconds=self.timestamp)).isoformat(),
            "prompt_name": self.prompt_name,
            "prompt": self.prompt,
            "resolved_prompt": self.resolved_prompt,
            "response": self.response,
            "clean_response": plain_copy(self.clean_response),
            "history": None if self.history is None else list(self.history),
            "status": self.status,
            "error": self.error,
            "usage": self.usage,
            "cost_usd": self.cost_usd,
            "duration_ms": self.duration_ms,
            "tool_calls": list(self.tool_calls),
            "turn_id": self.turn_id,
            "scope": self.scope.to_metadata(),
            "agent_actor_id": self.agent_actor_id,
            "metadata": plain_copy(self.metadata),
        }
