"""What a search finds, and what a store holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ffai.core.memory.identity import content_id, notes_of
from ffai.core.memory.turn_json import conversation_of, prompt_of, response_of, scope_of, seconds
from ffai.core.scope import MemoryScope
from ffai.typing import Metadata


class Entry(NamedTuple):
    """One stored turn with its vector."""

    text: str
    embedding: list[float]
    turn: dict[str, Any]
    metadata: Metadata


@dataclass(frozen=True)
class TurnHit:
    r"""One turn found by a search. Its dicts are copies: changing them changes nothing in the store.

    Examples:
        >>> hit = TurnHit(score=0.9, turn={}, turn_index=0, text="How?\nThus.", metadata={})
        >>> hit.text, hit.response
        ('How?\nThus.', None)
    """

    score: float
    """Cosine similarity to the query, in ``[-1, 1]``."""
    turn: dict[str, Any]
    """The stored turn: ``{"role", "content", "timestamp", "metadata"}``."""
    turn_index: int
    """Position in the store when it was searched."""
    text: str
    """What was embedded: the prompt, a newline, the response."""
    metadata: Metadata
    """What the caller attached to the turn."""

    @property
    def turn_id(self) -> str:
        """The turn's id: the one it was given when it was accepted, else one made from its content."""
        return str(notes_of(self.turn).get("turn_id") or content_id(self.text, self.turn, self.metadata))

    @property
    def prompt(self) -> str | None:
        """What was asked; ``None`` where the turn does not say where its response begins."""
        return prompt_of(self.text, self.turn)

    @property
    def response(self) -> str | None:
        """What was answered; ``None`` where the turn does not say where its response begins."""
        return response_of(self.text, self.turn)

    @property
    def scope(self) -> MemoryScope:
        """Whose turn it is; the empty scope where it does not tell."""
        return scope_of(self.turn)

    @property
    def conversation_id(self) -> str | None:
        """The conversation's id in the form that begins with ``cnv_``; ``None`` where it belongs to none."""
        return conversation_of(self.turn)

    @property
    def external_conversation_id(self) -> str | None:
        """The conversation's id as the caller gave it."""
        return self.scope.conversation_id

    @property
    def repeats(self) -> int:
        """How many turns with this text and scope the hit stands for; 1 unless repeats were collapsed."""
        count = self._collapsed.get("count")
        return count if isinstance(count, int) else 1

    @property
    def last_timestamp(self) -> float | None:
        """When the last of them was said, in seconds since the epoch; ``None`` where none tells."""
        return seconds(self._collapsed["last"] if "last" in self._collapsed else self.turn.get("timestamp"))

    @property
    def explained(self) -> Mapping[str, Any]:
        """What its place is made of, where a search was asked to explain; else empty."""
        explained = notes_of(self.turn).get("explained")
        return explained if isinstance(explained, Mapping) else {}

    @property
    def _collapsed(self) -> Mapping[str, Any]:
        repeats = notes_of(self.turn).get("repeats")
        return repeats if isinstance(repeats, Mapping) else {}
