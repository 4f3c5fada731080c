"""A turn as a list gives it, and a page of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ffai.core.memory.identity import notes_of
from ffai.core.memory.turn_json import conversation_of, prompt_of, response_of, scope_of, seconds
from ffai.core.scope import MemoryScope
from ffai.typing import Metadata

TurnState = Literal["indexed", "waiting", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    r"""One turn that is kept. Its dicts are copies: changing them changes nothing in the store.

    Examples:
        >>> notes = {"response_at": 5, "scope": {"actor_id": "alice", "actor_type": "user"}}
        >>> turn = {"timestamp": 1.5, "metadata": {"ffai": notes}}
        >>> stored = StoredTurn(turn_id="a1", text="How?\nThus.", turn=turn, metadata={}, state="indexed")
        >>> stored.prompt, stored.response, stored.scope, stored.timestamp
        ('How?', 'Thus.', MemoryScope(actor_id='alice', actor_type='user'), 1.5)
    """

    turn_id: str
    text: str
    """What is embedded: the prompt, a newline, the response."""
    turn: dict[str, Any]
    """The turn: ``{"role", "content", "timestamp", "metadata"}``."""
    metadata: Metadata
    """What the caller attached to the turn."""
    state: TurnState
    """``"indexed"``: a search finds it; ``"waiting"`` to be embedded; ``"failed"``: it was given up."""

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
    def timestamp(self) -> float | None:
        """When it was said, in seconds since the epoch; ``None`` where the turn does not tell."""
        return seconds(self.turn.get("timestamp"))

    @property
    def expires_at(self) -> float | None:
        """When it is to be found no longer, in seconds since the epoch; ``None`` for never."""
        return seconds(notes_of(self.turn).get("expires_at"))


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some of the turns of a list, oldest first."""

    turns: Sequence[StoredTurn]
    cursor: str | None
    """What the next page is asked for with; ``None`` at the end."""
