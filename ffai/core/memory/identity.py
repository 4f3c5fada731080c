"""What ffai notes about a turn (its id, its scope, where the response begins), and ids from content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ffai._text import clean_text
from ffai.core.arguments import check_dict, check_str, check_timestamp
from ffai.core.memory.jsontext import to_json
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError
from ffai.typing import Metadata


@dataclass(frozen=True, slots=True)
class NewTurn:
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
    timestamp: float | None = None,
    expires_at: float | None = None,
    metadata: Metadata | None = None,
) -> NewTurn:
    """Make a turn of a question and its answer, with a new id.

    Raises:
        ArgumentTypeError: an argument has a wrong type, or the metadata holds a value that JSON can't; names where.
    """
    check_str("prompt", prompt)
    check_str("response", response)
    if scope is not None and not isinstance(scope, MemoryScope):
        raise ArgumentTypeError(f"scope must be a MemoryScope, not {type(scope).__name__}: {scope!r:.100}.")
    if timestamp is not None:
        check_timestamp("timestamp", timestamp)
    if expires_at is not None:
        check_timestamp("expires_at", expires_at)
    caller = _metadata_to_json(metadata)
    prompt, response = clean_text(prompt), clean_text(response)
    text = f"{prompt}\n{response}" if response else prompt
    turn_id = os.urandom(16).hex()
    begins = len(prompt) + 1 if response else len(text)
    said_at = time.time() if timestamp is None else float(timestamp)
    scope_note = f', "scope": {to_json(fields, "scope")}' if scope is not None and (fields := scope.as_dict()) else ""
    end_note = "" if expires_at is None else f', "expires_at": {float(expires_at)!r}'
    notes = f'"ffai": {{"turn_id": "{turn_id}", "response_at": {begins}{scope_note}{end_note}}}'
    return NewTurn(turn_id, text, _turn_json(text, said_at, caller, notes), caller)


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


def turn_from_elsewhere(text: str, turn: Mapping[str, Any], metadata: Metadata | None, copy: int = 1) -> NewTurn:
    """Take a turn as it is, with an id made from its content. Raises as :func:`checked`."""
    text, turn_json, caller = checked(text, turn, metadata)
    stored = json.loads(turn_json)
    turn_id = notes_of(stored).get("turn_id") or content_id(text, stored, json.loads(caller), copy)
    return NewTurn(str(turn_id), text, turn_json, caller)


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
