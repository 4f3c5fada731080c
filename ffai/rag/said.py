"""Stored turns as the messages they are made of: what was asked and what was answered, each a record of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffai.core.memory.hit import TurnHit
from ffai.core.memory.identity import notes_of
from ffai.core.memory.messages import ASSISTANT, USER
from ffai.core.memory.turn_page import StoredTurn
from ffai.rag.entry import MemoryEntry
from ffai.rag.roles import Role

Turn = StoredTurn | TurnHit


def records_of(turn: Turn) -> tuple[MemoryEntry, ...]:
    """Return the messages of a turn.

    A turn that has only one of the two is one record, whose role can be told in the turn's metadata, as ``"role"``; one
    that does not tell where its answer begins is one record, and has no other role than that.

    Args:
        turn: as a search or a list gives it.

    Returns:
        One or two records. ``value`` has ``content``, ``sender_id``, ``sender_name``, ``source``, ``timestamp`` in
        seconds since the epoch, and ``metadata``: the caller's, with ``role``, ``turn_id``, ``user_id`` and
        ``session_id``.

    Examples:
        >>> from ffai import Memory
        >>> from ffai.testing import FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> _ = memory.remember("Where is the key?", "Under the mat.")
        >>> [record.value["content"] for record in records_of(memory.list().turns[0])]
        ['Where is the key?', 'Under the mat.']
    """
    prompt, response = turn.prompt, turn.response
    if prompt is None:
        return (_record(turn, turn.text, None),)
    sides = [(Role.USER, prompt), (Role.ASSISTANT, response or "")]
    said = [(role, content) for role, content in sides if content.strip()]
    if len(said) == 1:
        return (_record(turn, said[0][1], said[0][0], is_alone=True),)
    return tuple(_record(turn, content, role) for role, content in said)


def said_at(turn: Turn) -> float | None:
    """Return when a turn was said, in seconds since the epoch; the last time, where equal ones are given as one."""
    return turn.last_timestamp if isinstance(turn, TurnHit) else turn.timestamp


def _record(turn: Turn, content: str, role: Role | None, *, is_alone: bool = False) -> MemoryEntry:
    attached, scope = turn.metadata, turn.scope
    told: Any = attached.get("role") if role is None or (is_alone and "role" in attached) else role.value
    key = turn.turn_id if role is None or is_alone else f"{turn.turn_id}:{role.value}"
    sender = _sender(turn, assistant=role is Role.ASSISTANT)
    metadata: Mapping[str, Any] = {
        **attached,
        "role": told,
        "turn_id": turn.turn_id,
        **({} if scope.actor_id is None else {"user_id": scope.actor_id}),
        **({} if scope.conversation_id is None else {"session_id": scope.conversation_id}),
    }
    return MemoryEntry(
        key,
        {"content": content, **sender, "source": scope.source_type, "timestamp": said_at(turn), "metadata": metadata},
    )


def _sender(turn: Turn, *, assistant: bool) -> dict[str, str | None]:
    if not assistant:
        return {"sender_id": turn.scope.actor_id, "sender_name": turn.scope.actor_name or turn.scope.actor_id or USER}
    agent, named = notes_of(turn.turn).get("agent_actor_id"), turn.metadata.get("assistant_name")
    names = (name for name in (named, agent) if isinstance(name, str) and name)
    return {"sender_id": agent if isinstance(agent, str) else None, "sender_name": next(names, ASSISTANT)}
