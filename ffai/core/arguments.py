"""Arguments that are refused by name, at once."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeVar

from ffai.errors import ArgumentTypeError, InvalidArgumentError

_EARLIEST, _LATEST = -62_135_596_800.0, 253_402_300_800.0
"""The years 1 to 9999, in seconds since the epoch: what a calendar date can say."""

T = TypeVar("T")
K = TypeVar("K", bound=Mapping[str, Any])


def check_whole(name: str, value: Any, *, least: int | None = None) -> int:
    """Return a whole number.

    Raises:
        ArgumentTypeError: it is not one; ``True`` and ``3.0`` are not.
        InvalidArgumentError: it is below ``least``.

    Examples:
        >>> check_whole("top_k", 5, least=0)
        5
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArgumentTypeError(f"{name} must be a whole number, not {value!r}.")
    if least is not None and value < least:
        raise InvalidArgumentError(f"{name} must be at least {least}, not {value!r}.")
    return int(value)


def check_number(name: str, value: Any, *, least: float | None = None) -> float:
    """Return a number that is not NaN; infinity is one.

    Raises:
        ArgumentTypeError: it is not a number; ``True`` is not.
        InvalidArgumentError: it is NaN, or below ``least``.

    Examples:
        >>> check_number("wait", 2)
        2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentTypeError(f"{name} must be a number, not {value!r}.")
    number = float(value)
    if math.isnan(number) or (least is not None and number < least):
        limit = "" if least is None else f" of at least {least:g}"
        raise InvalidArgumentError(f"{name} must be a number{limit}, not {value!r}.")
    return number


def check_timeout(timeout: float | None) -> float | None:
    """Return a time to wait in seconds; ``None``, for ever, where it is longer than a lock can wait.

    Raises:
        ArgumentTypeError: it is not a number.
        InvalidArgumentError: it is negative or NaN.

    Examples:
        >>> check_timeout(2), check_timeout(float("inf"))
        (2.0, None)
    """
    if timeout is None or check_number("timeout", timeout, least=0.0) > threading.TIMEOUT_MAX:
        return None
    return float(timeout)


def check_str(name: str, value: Any) -> None:
    """Refuse what is not text.

    Examples:
        >>> check_str("prompt", 5)
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: prompt must be text, not int: 5.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be text, not {type(value).__name__}: {value!r:.100}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False: the text ``"false"`` would count as True.

    Examples:
        >>> check_flag("remember", "false")
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: remember must be True or False, not 'false'.
    """
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be True or False, not {value!r:.100}.")


def check_dict(name: str, value: Any) -> None:
    """Refuse what is not a dict.

    Examples:
        >>> check_dict("turn", [])
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: turn must be a dict, not list: [].
    """
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{name} must be a dict, not {type(value).__name__}: {value!r:.100}.")


def check_text(name: str, value: Any) -> str:
    """Return a text that is not blank.

    Raises:
        ArgumentTypeError: it is not text.
        InvalidArgumentError: it is empty, or only blanks.

    Examples:
        >>> check_text("query", "the database issue")
        'the database issue'
    """
    check_str(name, value)
    if not value or value.isspace():
        raise InvalidArgumentError(f"{name} is blank: {value!r}.")
    text: str = value
    return text


def check_ids(name: str, value: Any) -> frozenset[str]:
    """Return ids as a set; one id alone is a set of one.

    Raises:
        ArgumentTypeError: one of them is not text.

    Examples:
        >>> sorted(check_ids("turn_ids", "a1")), sorted(check_ids("turn_ids", ("a1", "a2")))
        (['a1'], ['a1', 'a2'])
    """
    if isinstance(value, str):
        return frozenset({value})
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes)):
        raise ArgumentTypeError(f"{name} must be ids, not {type(value).__name__}: {value!r:.100}.")
    ids = list(value)
    for turn_id in ids:
        check_str(f"each of {name}", turn_id)
    return frozenset(ids)


def check_timestamp(name: str, value: Any) -> float:
    """Return seconds since the epoch that a calendar date can say.

    Raises:
        ArgumentTypeError: it is not a number.
        InvalidArgumentError: it is not within the years 1 to 9999.

    Examples:
        >>> check_timestamp("timestamp", 0)
        0.0
    """
    seconds = value if type(value) is float else check_number(name, value)
    if not _EARLIEST <= seconds < _LATEST:
        raise InvalidArgumentError(f"{name} must be seconds since 1970 within the years 1 to 9999, not {value!r}.")
    return seconds


def check_search(query: Any, top_k: Any, threshold: Any, wait: Any) -> None:
    """Check what a search is asked, the same wherever it is asked.

    Raises:
        ArgumentTypeError: an argument has a wrong type; names it.
        InvalidArgumentError: the query is blank, ``threshold`` is NaN, or ``wait`` is negative or NaN.

    Examples:
        >>> check_search(" ", 5, None, 2.0)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: query is blank: ' '.
    """
    check_text("query", query)
    check_whole("top_k", top_k)
    if threshold is not None:
        check_number("threshold", threshold)
    if wait is not None:
        check_number("wait", wait, least=0.0)


def known_keywords(method: str, keywords: K, kind: type) -> K:
    """Return the keyword arguments of a call, after a look whether they are known.

    Args:
        method: what was called.
        keywords: what it was called with.
        kind: the ``TypedDict`` that says what there is.

    Raises:
        ArgumentTypeError: there is no such argument; names those that there are.

    Examples:
        >>> from typing import TypedDict
        >>> class Near(TypedDict, total=False):
        ...     limit: int
        >>> known_keywords("search", {"lmit": 3}, Near)
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: search() has no argument 'lmit'; there are limit.
    """
    known: list[str] = list(kind.__annotations__)
    if unknown := sorted(set(keywords) - set(known)):
        raise ArgumentTypeError(f"{method}() has no argument {unknown[0]!r}; there are {', '.join(known)}.")
    return keywords


def from_keywords(kind: type[T], keywords: Mapping[str, Any]) -> T:
    """Return options of one kind, a frozen dataclass, from the keyword arguments of a call.

    Raises:
        ArgumentTypeError: there is no such option; names those that there are.

    Examples:
        >>> from ffai.workflow import ResponseOptions
        >>> from_keywords(ResponseOptions, {"modell": "gpt-4o"})
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: There is no argument 'modell'; there are model, system_instructions, history, ...
    """
    known = _names_of(kind)
    if unknown := sorted(set(keywords) - set(known)):
        raise ArgumentTypeError(f"There is no argument {unknown[0]!r}; there are {', '.join(known)}.")
    return kind(**keywords)


def _names_of(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def options_of(kind: type[T], options: T | Mapping[str, Any] | None, *, name: str = "options") -> T:
    """Return options of one kind, a frozen dataclass, from a mapping of them; ``None`` is all defaults.

    Raises:
        ArgumentTypeError: it is none of these.
        InvalidArgumentError: the mapping has a key that is no option; names it.

    Examples:
        >>> from ffai.workflow import ResponseOptions
        >>> options_of(ResponseOptions, {"modell": "gpt-4o"})
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: options has no 'modell'; it has model, system_instructions, history, ...
    """
    if options is None or isinstance(options, kind):
        return kind() if options is None else options
    if not isinstance(options, Mapping):
        raise ArgumentTypeError(f"{name} must be {kind.__name__} or a mapping, not {type(options).__name__}.")
    known = _names_of(kind)
    if unknown := sorted(set(options) - set(known), key=repr):
        raise InvalidArgumentError(f"{name} has no {unknown[0]!r}; it has {', '.join(known)}.")
    return kind(**options)
