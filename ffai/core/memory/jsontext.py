"""Values as JSON text that every later reader can read: standard, and encodable as UTF-8."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from ffai._text import clean_text
from ffai.errors import ArgumentTypeError, InvalidArgumentError

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False
).encode  # one for all: making one costs as much as its work


def to_json(value: Any, name: str) -> str:
    """Write a value as JSON; dates, paths, sets, bytes and numbers of other libraries become plain ones.

    Args:
        value: what to write.
        name: what the error calls it.

    Raises:
        ArgumentTypeError: something in it has no plain form; names where it is.
        InvalidArgumentError: it contains itself.

    Examples:
        >>> to_json({"when": date(2026, 5, 1), "tags": ("a", "b")}, "metadata")
        '{"when": "2026-05-01", "tags": ["a", "b"]}'
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError):
        try:
            text = json.dumps(_plain(value, name), ensure_ascii=False)
        except RecursionError:
            raise InvalidArgumentError(f"{name} contains itself or is nested too deeply to be stored.") from None
    return clean_text(text)


def _plain(value: Any, name: str) -> Any:
    """Rebuild a value from what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{name}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item, name) for item in value), key=repr)
    return _plain_scalar(value, name)


def _plain_scalar(value: Any, name: str) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, name)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "replace")
    if isinstance(value, (PurePath, UUID, Decimal)):
        return str(value)
    if (
        hasattr(value, "tolist") and hasattr(value, "dtype") and not isinstance(value, type)
    ):  # numpy's numbers and arrays
        return _plain(value.tolist(), name)
    raise ArgumentTypeError(
        f"{name} is a {type(value).__name__}, which can't be stored. Give text, a number or a dict."
    )
