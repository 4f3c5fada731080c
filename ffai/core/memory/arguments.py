"""Checks of arguments, the same wherever they are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError


def check_text(name: str, text: object) -> None:
    """Refuse what is not text.

    Example:
        >>> check_text("prompt", 5)
        Traceback (most recent call last):
        ...
        ffai.errors.ArgumentTypeError: prompt must be text, not int: 5.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{name} must be text, not {type(text).__name__}: {text!r:.100}.")


def check_dict(name: str, value: object) -> None:
    """Refuse what is not a dict."""
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{name} must be a dict, not {type(value).__name__}: {value!r:.100}.")


def check_scope(scope: object) -> None:
    """Refuse what does not say whose a turn is; ``None`` says nothing."""
    if scope is not None and not isinstance(scope, MemoryScope):
        raise ArgumentTypeError(f"scope must be a MemoryScope, not {type(scope).__name__}: {scope!r:.100}.")


def check_query(query: object) -> None:
    """Refuse a query that is not text, or is blank.

    Example:
        >>> check_query(" ")
        Traceback (most recent call last):
        ...
        ffai.errors.InvalidArgumentError: query is blank. Give the words to search for.
    """
    check_text("query", query)
    if not str(query).strip():
        raise InvalidArgumentError("query is blank. Give the words to search for.")


def check_top_k(top_k: object) -> None:
    """Refuse a number of hits that is not a whole number."""
    if isinstance(top_k, bool) or not isinstance(top_k, Integral):
        raise ArgumentTypeError(f"top_k must be a whole number, not {type(top_k).__name__}: {top_k!r}.")


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that nothing can be compared with."""
    if threshold is None:
        return
    _check_number("threshold", threshold)


def check_seconds(name: str, seconds: object) -> None:
    """Refuse a time to wait that is not a number of seconds from 0 on; ``None`` is for ever."""
    if seconds is None:
        return
    if _check_number(name, seconds) < 0:
        raise InvalidArgumentError(f"{name} must be 0 or more seconds, not {seconds!r}.")


def check_timestamp(timestamp: object) -> None:
    """Refuse a time that is not a number of seconds since the epoch; ``None`` is now."""
    if timestamp is not None and math.isinf(_check_number("timestamp", timestamp)):
        raise InvalidArgumentError(f"timestamp must be seconds since the epoch, not {timestamp!r}.")


def _check_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentTypeError(f"{name} must be a number, not {type(value).__name__}: {value!r}.")
    if math.isnan(value):
        raise InvalidArgumentError(f"{name} must be a number, not NaN.")
    return float(value)
