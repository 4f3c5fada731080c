"""Checks of what a search is asked, the same wherever it is asked."""

from __future__ import annotations

import math
from numbers import Integral, Real

from ffai.errors import ArgumentTypeError, InvalidArgumentError


def check_query(query: object) -> None:
    """Refuse a query that is not text, or is blank.

    Example:
        >>> check_query(" ")
        Traceback (most recent call last):
        ...
        ffai.errors.InvalidArgumentError: query is blank. Give the words to search for.
    """
    if not isinstance(query, str):
        raise ArgumentTypeError(f"query must be text, not {type(query).__name__}: {query!r}.")
    if not query.strip():
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
