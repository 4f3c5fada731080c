"""Whose turn it is: a value that names the people and the conversation."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """Who said it, in which conversation. A field that is ``None`` says nothing.

    Examples:
        >>> MemoryScope(actor_id="u1", actor_type="user").as_dict()
        {'actor_id': 'u1', 'actor_type': 'user'}
    """

    actor_id: str | None = None
    actor_type: str | None = None
    actor_name: str | None = None
    conversation_id: str | None = None
    source_type: str | None = None
    participant_ids: tuple[str, ...] | None = None

    def as_dict(self) -> dict[str, str | tuple[str, ...]]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}
