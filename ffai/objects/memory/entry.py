"""A memory as it is stored: its value is JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ffai.errors import ArgumentTypeError, InvalidArgumentError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One memory. Times are seconds since the epoch.

    Examples:
        >>> import dataclasses
        >>> [field.name for field in dataclasses.fields(MemoryEntry)][:4]
        ['id', 'scope', 'key', 'version']
    """

    id: str
    """Stays while the memory lives; a new one is given to what is written over an expired one."""
    scope: str
    key: str
    version: int
    value: Any
    confidence: float
    """How sure it is, 0 to 1."""
    metadata: dict[str, Any] | None
    success_count: int
    """Good outcomes that were reported; see `LearningMemory`."""
    failure_count: int
    """Bad outcomes."""
    created_at: float
    updated_at: float
    """When it was last written or an outcome reported."""
    last_used_at: float | None
    """When `LearningMemory` last gave it out or heard of an outcome."""
    last_outcome_at: float | None
    """When an outcome last set the confidence; ``None`` where it was set by hand."""
    expires_at: float | None
    """From then on it counts as gone; ``None`` for never."""


_COLUMNS = tuple(MemoryEntry.__dataclass_fields__)


def as_json(name: str, value: Any) -> str:
    """Return a value as JSON text. It can be read back unchanged, but for tuples, which come back as lists.

    Raises:
        ArgumentTypeError: it holds what JSON has no word for: a set, a date, an object, a key that is not text.
        InvalidArgumentError: it holds NaN or infinity, or itself.

    Examples:
        >>> as_json("value", {"css": "article .body"})
        '{"css": "article .body"}'
        >>> as_json("value", {1: "one"})
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: value can't be stored as JSON: a key of it is int 1, not text.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except TypeError as error:
        raise ArgumentTypeError(
            f"{name} can't be stored as JSON: {error}. Give dicts, lists, text, numbers, True, False and None."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{name} can't be stored as JSON: {error}.") from error
    _check_keys(name, value)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which no database stores as it is
        return json.dumps(value, allow_nan=False)
    return text


def read_entries(rows: Iterable[Mapping[Any, Any]], *, most: int | None = None) -> list[MemoryEntry]:
    """Return the memories of rows, in their order. Damaged ones are left out, with one warning for all of them.

    Args:
        rows: of the table of memories.
        most: memories to read; ``None`` for all.

    Examples:
        >>> read_entries([])
        []
    """
    entries: list[MemoryEntry] = []
    damaged: list[str] = []
    for row in rows:
        if most is not None and len(entries) >= most:
            break
        try:
            entries.append(_entry_of(row))
        except (ValueError, TypeError, RecursionError):
            damaged.append(row["id"])
    if damaged:
        logger.warning(
            "%d damaged memories are left out: their JSON can't be read; ids: %s", len(damaged), ", ".join(damaged[:5])
        )
    return entries


def _entry_of(row: Mapping[Any, Any]) -> MemoryEntry:
    found = {name: row[name] for name in _COLUMNS}
    found["value"] = read_json(row["value"])
    found["metadata"] = None if row["metadata"] is None else dict(read_json(row["metadata"]))
    return MemoryEntry(**found)


def read_json(text: str) -> Any:
    """Return what JSON text says.

    Raises:
        ValueError: it is no JSON.

    Examples:
        >>> read_json('[1, null]')
        [1, None]
    """
    return json.loads(text, parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _check_keys(name: str, value: Any) -> None:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            for key in part:
                if not isinstance(key, str):
                    raise ArgumentTypeError(
                        f"{name} can't be stored as JSON: a key of it is {type(key).__name__} {key!r:.60}, not text."
                    )
            left.extend(part.values())
        elif isinstance(part, (list, tuple)):
            left.extend(part)
