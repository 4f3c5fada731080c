"""Turns as lines of JSON: one object a line, in UTF-8.

A line that ffai writes has ``turn_id``, ``text``, ``turn`` and ``metadata``; with its vectors also ``model``,
``embedding`` and, for a long turn, ``parts``. A line from elsewhere has ``prompt`` and ``response``, and may have
``timestamp``, ``metadata`` and ``scope``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ffai._text import clean_text
from ffai.core.arguments import check_dict, check_str, check_text
from ffai.core.conversation_id import is_internal
from ffai.core.memory.chat_messages import read_time
from ffai.core.memory.identity import NewTurn, content_id, copy_of, new_turn, notes_of
from ffai.core.memory.jsontext import to_json
from ffai.core.scope import MemoryScope, with_known_conversation
from ffai.core.similarity import Vector, as_vector
from ffai.errors import ArgumentTypeError, BadVectorError, DimensionError, InvalidArgumentError

_OURS = ("turn_id", "text", "turn", "metadata", "model", "embedding", "parts")
_FROM_ELSEWHERE = ("prompt", "response", "timestamp", "metadata", "scope")

Allowed = Callable[[MemoryScope | None], MemoryScope]
"""Gives the scope that a turn is stored with for the one that was asked for, or raises."""

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_FIRST_LOOK = 64 * 1024
"""Bytes of a line after which is checked that it begins as an object: an array of all turns has no second line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A turn as a line tells it."""

    turn: NewTurn
    is_named: bool
    """Whether the turn has an id of its own; else it was made from its content, and equal turns share it."""
    expires_at: float | None = None
    """When the turn is no longer wanted, in seconds since the epoch."""
    model: str | None = None
    """What made the vectors."""
    vectors: Sequence[Vector] = ()
    """Its own vector and its parts', all of one size and not zero; empty where the line has none that can be used."""


def line_of(turn: NewTurn, model: str | None = None, vectors: Sequence[Vector] = ()) -> str:
    r"""Write a turn as a line.

    Args:
        turn: the turn.
        model: what made the vectors.
        vectors: its own and its parts'; none leaves them out. Their numbers come back exactly.

    Examples:
        >>> line_of(NewTurn("a1", "How?", '{"role": "user"}', "{}"))
        '{"turn_id": "a1", "text": "How?", "turn": {"role": "user"}, "metadata": {}}\n'
    """
    record: dict[str, Any] = {
        "turn_id": turn.turn_id,
        "text": turn.text,
        "turn": json.loads(turn.turn),  # a file of another program may have it on several lines, or with NaN
        "metadata": json.loads(turn.metadata),
    }
    if vectors:
        record |= {"model": model, "embedding": vectors[0].tolist()}
    if vectors[1:]:
        record["parts"] = [vector.tolist() for vector in vectors[1:]]
    return f"{to_json(record, 'turn')}\n"


def read_lines(file: BinaryIO, path: Path, allowed: Allowed | None = None) -> Iterator[tuple[Line, int]]:
    """Read the turns of a file from where it stands, one at a time; blank lines are skipped.

    Args:
        file: the open file.
        path: what the errors call it.
        allowed: gives the scope that a question and its answer are stored with; ``None`` takes what the line says.

    Yields:
        Each turn, and how many bytes its line has.

    Raises:
        InvalidArgumentError: a line can't be used; names the file, the line and what is wrong.
    """
    number = 0
    while raw := file.readline(_FIRST_LOOK):
        number += 1
        try:
            if len(raw) == _FIRST_LOOK and not raw.endswith(b"\n"):
                _check_beginning(raw)
                raw += file.readline()
            if content := raw.removeprefix(_BOM).strip(_BLANKS):
                yield parse(content, allowed), len(raw)
        except (InvalidArgumentError, ArgumentTypeError, BadVectorError) as error:
            raise InvalidArgumentError(f"{str(path)!r}, line {number}: {error}") from error


def parse(content: bytes, allowed: Allowed | None = None) -> Line:
    """Read one line.

    Args:
        content: the line.
        allowed: gives the scope that a question and its answer are stored with; ``None`` takes what the line says.

    Raises:
        InvalidArgumentError, ArgumentTypeError, BadVectorError: it can't be used; says what is wrong.

    Examples:
        >>> line = parse(b'{"prompt": "Where is the key?", "response": "Under the mat."}')
        >>> line.turn.text.splitlines(), line.turn.turn_id == parse(b'{"prompt": "Hi", "response": ""}').turn.turn_id
        (['Where is the key?', 'Under the mat.'], False)
    """
    _check_beginning(content)
    try:
        record = _decode(content.decode())
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"it is not UTF-8: {error.reason} at byte {error.start}.") from error
    except ValueError as error:
        raise InvalidArgumentError(f"it is not JSON: {error}.") from error
    except RecursionError:
        raise InvalidArgumentError("it is nested too deeply.") from None
    if "prompt" in record or "response" in record:
        return _from_elsewhere(record, allowed)
    return _ours(record)


def _check_beginning(content: bytes) -> None:
    begins = content.removeprefix(_BOM).lstrip(_BLANKS)
    if begins and not begins.startswith(b"{"):
        shown = begins[:20].decode("utf-8", "backslashreplace")
        raise InvalidArgumentError(f"it must be one JSON object, in UTF-8, not {shown!r}...")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON, write null")


_decode = json.JSONDecoder(parse_constant=_no_number).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _json(name: str, value: Any) -> str:
    """Write a dict that was read from JSON as every file can hold it."""
    check_dict(name, value)
    try:
        return clean_text(_encode(value))
    except (ValueError, RecursionError) as error:  # 1e999 is read as infinity
        raise InvalidArgumentError(f"{name} can't be stored: {error}.") from error


def _check_names(record: Mapping[str, Any], known: Sequence[str]) -> None:
    if unknown := [name for name in record if name not in known]:
        raise InvalidArgumentError(
            f"it has {unknown[0]!r}, which no turn has; what belongs to it can be put in 'metadata'. "
            f"Known are {', '.join(known)}."
        )


# Lines that ffai wrote


def _ours(record: dict[str, Any]) -> Line:
    if "text" not in record:
        raise InvalidArgumentError("it has neither 'text' and 'turn' nor 'prompt' and 'response'.")
    _check_names(record, _OURS)
    check_str("text", record["text"])
    turn, metadata = record.get("turn"), record.get("metadata")
    given = record.get("turn_id")
    if given is not None:
        given = clean_text(check_text("turn_id", given))
    if record.get("model") is not None:
        check_str("model", record["model"])
    new, is_named = _identified(
        clean_text(record["text"]),
        _json("turn", turn),
        "{}" if metadata is None else _json("metadata", metadata),
        given,
    )
    expires_at = notes_of(record["turn"]).get("expires_at")
    is_time = isinstance(expires_at, (int, float)) and not isinstance(expires_at, bool)
    return Line(new, is_named, expires_at if is_time else None, record.get("model"), _vectors(record))


def _identified(text: str, turn: str, metadata: str, given: str | None) -> tuple[NewTurn, bool]:
    """Name a turn so that it has the same id whenever its file is read; tells whether that is one of its own."""
    stored = json.loads(turn)
    if noted := notes_of(stored).get("turn_id"):
        noted = str(noted)
        if given is not None and not copy_of(given, noted):
            raise InvalidArgumentError(f"turn_id is {given!r}, and its turn says {noted!r}.")
        return NewTurn(noted, text, turn, metadata), True
    from_content = content_id(text, stored, json.loads(metadata))
    if given is None or copy_of(given, from_content) or (with_id := _noted(stored, given)) is None:
        return NewTurn(from_content, text, turn, metadata), False
    return NewTurn(given, text, _encode(with_id), metadata), True


def _noted(turn: dict[str, Any], turn_id: str) -> dict[str, Any] | None:
    """Note an id in a turn, where files are looked through for it; ``None`` where something else is in its place."""
    metadata = turn.get("metadata") or {}
    notes = metadata.get("ffai") or {} if isinstance(metadata, dict) else None
    if not isinstance(notes, dict):
        return None
    return {**turn, "metadata": {**metadata, "ffai": {**notes, "turn_id": turn_id}}}


def _vectors(record: dict[str, Any]) -> Sequence[Vector]:
    embedding, parts = record.get("embedding"), record.get("parts")
    if embedding is None:
        return ()
    if parts is not None and not isinstance(parts, list):
        raise ArgumentTypeError(f"parts must be a list of vectors, not {type(parts).__name__}: {parts!r:.100}.")
    vectors = [_vector("embedding", embedding)]
    for number, part in enumerate(parts or ()):
        vectors.append(_vector(f"parts[{number}]", part, vectors[0].size))
    return vectors if all(vector.any() for vector in vectors) else ()  # nothing is found by a vector of zeros


def _vector(name: str, values: Any, size: int | None = None) -> Vector:
    if not isinstance(values, list):
        raise ArgumentTypeError(f"{name} must be a list of numbers, not {type(values).__name__}: {values!r:.100}.")
    try:
        return as_vector(values, size)
    except DimensionError as error:
        raise BadVectorError(f"{name} has {error.found} numbers, embedding has {error.expected}.") from error
    except BadVectorError as error:
        raise BadVectorError(f"{name} can't be used: {error}") from error


# Lines from elsewhere


def _from_elsewhere(record: dict[str, Any], allowed: Allowed | None) -> Line:
    _check_names(record, _FROM_ELSEWHERE)
    for name in ("prompt", "response"):
        check_str(name, record.get(name))
    prompt, response = record["prompt"], record["response"]
    timestamp = None if record.get("timestamp") is None else read_time(record["timestamp"])
    scope = _scope(record.get("scope"))
    if allowed is not None:
        scope = allowed(scope)
    metadata = {} if record.get("metadata") is None else record["metadata"]
    _json("metadata", metadata)
    content = {"response": response, "timestamp": timestamp, "scope": scope.as_dict() if scope else {}}
    turn_id = f"i{content_id(prompt, content, metadata)[1:]}"  # another kind: equal lines are one turn
    turn = new_turn(prompt, response, scope=scope, timestamp=timestamp, metadata=metadata, turn_id=turn_id)
    return Line(turn, is_named=True)


def _scope(value: Any) -> MemoryScope | None:
    if value is None:
        return None
    check_dict("scope", value)
    scope = MemoryScope.of(value)
    named = scope.conversation_id
    return scope if named is None or not is_internal(named) else with_known_conversation(scope, None)
