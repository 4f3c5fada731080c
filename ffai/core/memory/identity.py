"""What ffai notes about a turn (its id, its scope, where the response begins), and ids from content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ffai._text import clean_text
from ffai.core.arguments import check_dict, check_str, check_timestamp
from ffai.core.memory.jsontext import to_json
from ffai.core.redact import Redactor, redact_strings
from ffai.core.scope import NOBODYS, MemoryScope, check_actor_id
from ffai.typing import Metadata

_REDACTED = "redacted"
"""The note that a turn was redacted when it was accepted."""


_ANYBODYS = f', "scope": {json.dumps(NOBODYS.to_metadata())}'
"""The note of a turn that was stored without a scope."""


class NewTurn(NamedTuple):
    """A turn as it enters the journal and the file: ids and JSON are final."""

    turn_id: str
    text: str
    turn: str
    """The turn dict, as JSON."""
    metadata: str
    """The caller's metadata, as JSON."""


def new_turn(
    prompt: str,
    response: str,
    *,
    scope: MemoryScope | None = None,
    agent_actor_id: str | None = None,
    timestamp: float | None = None,
    expires_at: float | None = None,
    metadata: Metadata | None = None,
    turn_id: str | None = None,
    redact: Redactor | None = None,
) -> NewTurn:
    """Make a turn of a question and its answer, with a new id where none is given; redacted where that is asked for.

    Raises:
        ArgumentTypeError: an argument has a wrong type, or the metadata holds a value that JSON can't; names where.
        ScopeValidationError: a turn can't be stored with the scope.
    """
    check_str("prompt", prompt)
    check_str("response", response)
    whose = _noted_scope(scope, agent_actor_id)
    if timestamp is not None:
        check_timestamp("timestamp", timestamp)
    if expires_at is not None:
        check_timestamp("expires_at", expires_at)
    caller = _metadata_to_json(metadata)
    prompt, response = clean_text(prompt), clean_text(response)
    redacted_note = ""
    if redact is not None:
        prompt, response, caller = (
            _redacted(prompt, redact),
            _redacted(response, redact),
            _redacted_json(caller, redact),
        )
        redacted_note = f', "{_REDACTED}": true'
    text = f"{prompt}\n{response}" if response else prompt
    turn_id = turn_id or os.urandom(16).hex()
    begins = len(prompt) + 1 if response else len(text)
    said_at = time.time() if timestamp is None else float(timestamp)
    end_note = "" if expires_at is None else f', "expires_at": {float(expires_at)!r}'
    notes = f'"ffai": {{"turn_id": "{turn_id}", "response_at": {begins}{whose}{end_note}{redacted_note}}}'
    return NewTurn(turn_id, text, _turn_json(text, said_at, caller, notes), caller)


def _noted_scope(scope: MemoryScope | None, agent_actor_id: str | None) -> str:
    """Write whose turn it is, as part of a JSON object."""
    noted = (
        _ANYBODYS
        if scope is None or scope is NOBODYS
        else f', "scope": {to_json(scope.validate("add").to_metadata(), "scope")}'
    )
    agent = check_actor_id("agent_actor_id", agent_actor_id)
    return noted if agent is None else f'{noted}, "agent_actor_id": {to_json(agent, "agent_actor_id")}'


def with_scope(turn: Mapping[str, Any], scope: MemoryScope) -> dict[str, Any]:
    """Return a turn dict that notes whose it is.

    Raises:
        ArgumentTypeError: its metadata is no dict, so that there is no place for it.

    Examples:
        >>> with_scope({"role": "user"}, MemoryScope(source_type="api"))
        {'role': 'user', 'metadata': {'ffai': {'scope': {'source_type': 'api'}}}}
    """
    check_dict("turn", turn)
    metadata = turn.get("metadata") or {}
    check_dict("turn['metadata']", metadata)
    return {**turn, "metadata": {**metadata, "ffai": {**notes_of(turn), "scope": scope.to_metadata()}}}


def _turn_json(text: str, said_at: float, caller: str, notes: str) -> str:
    """Put a turn dict together from JSON that is there: encoding it whole cost the caller four times as much."""
    metadata = f"{caller[:-1]}, {notes}}}" if caller != "{}" else f"{{{notes}}}"
    return (
        f'{{"role": "assistant", "content": [{{"type": "text", "text": {to_json(text, "text")}}}], '
        f'"timestamp": {said_at!r}, "metadata": {metadata}}}'
    )


def checked(text: str, turn: Mapping[str, Any], metadata: Metadata | None) -> tuple[str, str, str]:
    """Give a turn as every file can hold it: its text, the turn dict as JSON, the caller's metadata as JSON.

    Raises:
        ArgumentTypeError: an argument has a wrong type, or holds a value that JSON can't; names where.
    """
    check_str("text", text)
    check_dict("turn", turn)
    return clean_text(text), to_json(turn, "turn"), _metadata_to_json(metadata)


def _metadata_to_json(metadata: Metadata | None) -> str:
    if metadata is None:
        return "{}"
    check_dict("metadata", metadata)
    return to_json(metadata, "metadata")


def turn_from_elsewhere(
    text: str, turn: Mapping[str, Any], metadata: Metadata | None, copy: int = 1, redact: Redactor | None = None
) -> NewTurn:
    """Take a turn as it is, or redacted, with an id made from its content. Raises as :func:`checked`."""
    text, turn_json, caller = checked(text, turn, metadata)
    if redact is not None:
        text, turn_json = _redacted_turn(text, json.loads(turn_json), redact)
        caller = _redacted_json(caller, redact)
    stored = json.loads(turn_json)
    turn_id = notes_of(stored).get("turn_id") or content_id(text, stored, json.loads(caller), copy)
    return NewTurn(str(turn_id), text, turn_json, caller)


def _redacted(text: str, redact: Redactor) -> str:
    return clean_text(redact(text))


def _redacted_json(value: str, redact: Redactor) -> str:
    return value if value == "{}" else to_json(redact_strings(json.loads(value), redact), "metadata")


def _redacted_turn(text: str, turn: dict[str, Any], redact: Redactor) -> tuple[str, str]:
    """Redact a turn's text and its dict. What ffai noted stays, and still tells where the response begins."""
    notes = dict(notes_of(turn))
    begins = notes.get("response_at")
    if isinstance(begins, int) and 0 < begins < len(text):
        prompt, response = _redacted(text[: begins - 1], redact), _redacted(text[begins:], redact)
        text, notes["response_at"] = f"{prompt}\n{response}", len(prompt) + 1
    else:
        text = _redacted(text, redact)
        if isinstance(begins, int):
            notes["response_at"] = len(text)
    redacted = redact_strings(turn, redact)
    if "role" in turn:
        redacted["role"] = turn["role"]
    if notes:
        redacted["metadata"]["ffai"] = notes
    return text, to_json(redacted, "turn")


def redacted_turn(turn: NewTurn, redact: Redactor, *, keep_id: bool) -> NewTurn:
    """Redact a turn that is ready.

    Args:
        turn: the turn.
        redact: replaces secrets.
        keep_id: whether it has an id of its own; else it gets one from what its content is now.
    """
    text, turn_json = _redacted_turn(turn.text, json.loads(turn.turn), redact)
    caller = _redacted_json(turn.metadata, redact)
    turn_id = turn.turn_id if keep_id else content_id(text, json.loads(turn_json), json.loads(caller))
    return NewTurn(turn_id, text, turn_json, caller)


def is_redacted(turn: NewTurn) -> bool:
    """Tell whether a turn was accepted by a memory that redacts: what is said about it is redacted too."""
    return f'"{_REDACTED}": true' in turn.turn


def notes_of(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read what ffai noted about a turn; empty for a turn from elsewhere.

    Examples:
        >>> notes_of({"metadata": {"ffai": {"turn_id": "a1"}}})["turn_id"]
        'a1'
    """
    metadata = turn.get("metadata")
    notes = metadata.get("ffai") if isinstance(metadata, Mapping) else None
    return notes if isinstance(notes, Mapping) else {}


def content_id(text: str, turn: Mapping[str, Any], metadata: Mapping[str, Any], copy: int = 1) -> str:
    """Make the id of a turn that has none from its content.

    Args:
        text: what was embedded.
        turn: the turn dict.
        metadata: the caller's metadata.
        copy: which of several equal turns it is, from 1.

    Examples:
        >>> content_id("a", {}, {}) == content_id("a", {}, {}) != content_id("a", {}, {}, copy=2)
        True
    """
    content = json.dumps([text, turn, metadata], sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(content.encode(), digest_size=15).hexdigest()
    return f"c{digest}" if copy == 1 else f"c{digest}-{copy}"


_CONTENT_ID = re.compile(r"c[0-9a-f]{30}(-[0-9]+)?")


def is_content_id(turn_id: str) -> bool:
    """Tell whether an id was made from a turn's content.

    Examples:
        >>> is_content_id(content_id("a", {}, {})), is_content_id("a1")
        (True, False)
    """
    return _CONTENT_ID.fullmatch(turn_id) is not None


_COPY = re.compile(r"(-[0-9]+)?")


def copy_of(turn_id: str, original: str) -> bool:
    """Tell whether an id is another one, or that of a copy of it.

    Examples:
        >>> copy_of("c1", "c1"), copy_of("c1-2", "c1"), copy_of("c12", "c1")
        (True, True, False)
    """
    return turn_id.startswith(original) and _COPY.fullmatch(turn_id, len(original)) is not None
