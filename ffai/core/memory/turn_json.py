"""Reading what a stored turn notes, from its dict, or from its JSON without decoding all of it: its text is most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ffai.core.conversation_id import internal_id
from ffai.core.memory.identity import notes_of
from ffai.core.scope import MemoryScope

_METADATA, _TIMESTAMP = ', "metadata": ', ', "timestamp": '
_TO_VALUE = len(_METADATA)
_LONGEST_NUMBER = 40
_LATEST = 1e300
_decode = json.JSONDecoder().raw_decode


class TurnNotes(NamedTuple):
    """What a turn says of itself, beside its text."""

    timestamp: float | None
    """When it was said, in seconds since the epoch; ``None`` where that is no number."""
    ffai: Mapping[str, Any]
    """What ffai noted: see :func:`~ffai.core.memory.identity.notes_of`."""

    @property
    def scope(self) -> Mapping[str, Any]:
        """The fields of the scope it is stored with; empty where nothing says whose turn it is."""
        return _scope_in(self.ffai)

    @property
    def agent_actor_id(self) -> str | None:
        """Who answered; ``None`` where that is not noted."""
        agent = self.ffai.get("agent_actor_id")
        return agent if isinstance(agent, str) else None

    @property
    def expires_at(self) -> float | None:
        """When it is to be found no longer, in seconds since the epoch; ``None`` for never."""
        return seconds(self.ffai.get("expires_at"))


def read_notes(turn: str) -> TurnNotes:
    r"""Read what a turn notes.

    Args:
        turn: the turn dict as JSON.

    Examples:
        >>> read_notes('{"role": "user", "timestamp": 1.5, "metadata": {"ffai": {"scope": {"actor_id": "a"}}}}')
        TurnNotes(timestamp=1.5, ffai={'scope': {'actor_id': 'a'}})
    """
    metadata, at = _read_end(turn)
    said = turn.rfind(_TIMESTAMP, max(0, at - _LONGEST_NUMBER - len(_TIMESTAMP)), at)
    if metadata is not None and said >= 0:
        with suppress(ValueError):  # not a number right before the metadata
            timestamp = seconds(float(turn[said + len(_TIMESTAMP) : at]))
            return TurnNotes(timestamp, notes_of({"metadata": metadata}))
    whole = json.loads(turn)
    return TurnNotes(seconds(whole.get("timestamp")), notes_of(whole))


def _read_end(turn: str) -> tuple[dict[str, Any] | None, int]:
    """Read the metadata of a turn that ends with it, as ffai writes turns, and where they begin; ``None`` for others.

    A quote inside a JSON text has a backslash before it, so that what is looked for can only be a key; and a value
    after which nothing but one brace is left can only be the whole turn's.
    """
    at = turn.find(_METADATA)
    if at >= 0 and turn[at + _TO_VALUE] == "{":
        metadata, end = _decode(turn, at + _TO_VALUE)
        if end == len(turn) - 1:
            return metadata, at
    return None, -1


def seconds(value: Any) -> float | None:
    """Read a time from JSON; ``None`` where it is none.

    Examples:
        >>> seconds(3), seconds(True), seconds("3"), seconds(float("nan"))
        (3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LATEST:
        return None
    return float(value)


def scope_of(turn: Mapping[str, Any]) -> MemoryScope:
    """Return whose turn it is; the empty scope where it does not tell.

    Examples:
        >>> scope_of({"metadata": {"ffai": {"scope": {"actor_id": "alice", "actor_type": "user"}}}})
        MemoryScope(actor_id='alice', actor_type='user')
    """
    return MemoryScope.stored(_scope_in(notes_of(turn)))


def conversation_of(turn: Mapping[str, Any]) -> str | None:
    """Return the internal form of the id of a turn's conversation; ``None`` where it belongs to none.

    Examples:
        >>> conversation_of({"metadata": {"ffai": {"scope": {"conversation_id": "trip"}}}})[:4]
        'cnv_'
    """
    named = scope_of(turn).conversation_id
    return None if named is None else internal_id(named)


def _scope_in(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    scope = notes.get("scope")
    return scope if isinstance(scope, dict) else {}


def prompt_of(text: str, turn: Mapping[str, Any]) -> str | None:
    """Return what was asked; ``None`` where the turn does not say where its response begins.

    Examples:
        >>> prompt_of("How?", {"metadata": {"ffai": {"response_at": 4}}})
        'How?'
    """
    begins = notes_of(turn).get("response_at")
    if not isinstance(begins, int):
        return None
    return text[: begins - 1] if begins < len(text) else text


def response_of(text: str, turn: Mapping[str, Any]) -> str | None:
    r"""Return what was answered; ``None`` where the turn does not say where its response begins.

    Examples:
        >>> response_of("How?\nThus.", {"metadata": {"ffai": {"response_at": 5}}})
        'Thus.'
    """
    begins = notes_of(turn).get("response_at")
    return text[begins:] if isinstance(begins, int) else None
