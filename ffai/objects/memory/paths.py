"""Where a memory lies: a scope is a path such as ``parser/example.com``, a key a name within it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, func, or_

from ffai._text import clean_text
from ffai.core.arguments import check_str, check_text
from ffai.errors import InvalidArgumentError

GLOBAL = "global"
"""The scope above all others."""
LONGEST = 255
"""Characters of a scope or a key at the most."""


def check_scope(value: Any) -> str:
    """Return a scope without slashes around it. Upper and lower case differ.

    Raises:
        ArgumentTypeError: it is not text.
        InvalidArgumentError: it is empty, has an empty part, is too long, or holds what a database can't.

    Examples:
        >>> check_scope("/parser/example.com/")
        'parser/example.com'
        >>> check_scope("a//b")
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: scope has an empty part: 'a//b'. Write it as names joined by single slashes.
    """
    check_str("scope", value)
    scope: str = value.strip("/")
    if not all(part and not part.isspace() for part in scope.split("/")):
        raise InvalidArgumentError(
            f"scope has an empty part: {value!r:.100}. Write it as names joined by single slashes."
            if scope
            else f"scope is empty: {value!r:.100}. Write it as names joined by slashes; {GLOBAL!r} is above all others."
        )
    return _storable("scope", scope)


def check_key(value: Any) -> str:
    """Return a key; any text that is not blank will do.

    Raises:
        ArgumentTypeError: it is not text.
        InvalidArgumentError: it is blank, too long, or holds what a database can't.

    Examples:
        >>> check_key("selector")
        'selector'
    """
    return _storable("key", check_text("key", value))


def ancestors(scope: str) -> list[str]:
    """Return the scopes above one, the nearest first; the last is ``global``.

    Args:
        scope: as `check_scope` gives it.

    Examples:
        >>> ancestors("a/b/c"), ancestors("global")
        (['a/b', 'a', 'global'], [])
    """
    parts = scope.split("/")
    above = ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    return above if GLOBAL in (scope, *above) else [*above, GLOBAL]


def within(column: ColumnElement[str], scope: str, *, descendants: bool) -> ColumnElement[bool]:
    """Return the condition that a column holds a scope, or one below it.

    Whole parts are compared, and exactly: ``a_b`` is above ``a_b/x``, and above neither ``a_b2``, ``axb/x`` nor
    ``A_B/y``. ``LIKE`` would take those too.

    Args:
        column: holds scopes as `check_scope` gives them.
        scope: likewise.
        descendants: whether those below count.

    Examples:
        >>> from sqlalchemy import column
        >>> print(within(column("scope"), "a_b", descendants=False))
        scope = :scope_1
    """
    exactly = column == scope
    if not descendants:
        return exactly
    below = scope + "/"
    return or_(exactly, func.substr(column, 1, len(below)) == below)


def _storable(name: str, text: str) -> str:
    if len(text) > LONGEST:
        raise InvalidArgumentError(f"{name} has {len(text)} characters; {LONGEST} is the most: {text!r:.60}.")
    if "\x00" in text or clean_text(text) != text:
        raise InvalidArgumentError(f"{name} holds a NUL or half a character, which no database stores: {text!r:.100}.")
    return text
