"""Where an element of an expression has text that goes into the statement as it is: what it may be there."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.types import ARRAY, TypeEngine

from ffai.errors import UnsafeFilterError

IDENTIFIER = re.compile(r"[^\W\d]\w*")
COLLATION = re.compile(r"\w+([.@-]\w+)*")
WORDS = re.compile(r"\w+( \w+)*")

_SIGNS = re.compile(r"[-+*/<>=~!@#%^&|?]+")
_OPERATORS = frozenset(
    [
        *("DIV", "GLOB", "ILIKE", "IS", "IS NOT", "LIKE", "MATCH", "MOD", "NOT GLOB", "NOT REGEXP", "OVERLAPS"),
        *("REGEXP", "RLIKE", "SIMILAR TO", "SOUNDS LIKE", "XOR"),
    ]
)
_OF_STATEMENTS = (
    *("_prefixes", "_suffixes", "_hints", "_statement_hints", "_with_options", "_for_update_arg", "dialect_kwargs"),
)


def check_name(what: str, name: str, shape: re.Pattern[str] = IDENTIFIER) -> None:
    """Check a name.

    Raises:
        UnsafeFilterError: it is more than a name.

    Examples:
        >>> check_name("function", "lower(token) || lower")
        Traceback (most recent call last):
            ...
        ffai.errors.UnsafeFilterError: 'lower(token) || lower' is no name of a function.
    """
    if not shape.fullmatch(name):
        raise UnsafeFilterError(f"{name!r:.100} is no name of a {what}.")


def check_operator(sign: str) -> None:
    """Check an operator that SQLAlchemy does not know.

    Raises:
        UnsafeFilterError: it is neither signs nor one of a few words, or it opens a comment.

    Examples:
        >>> check_operator("<=>")
        >>> check_operator("--")
        Traceback (most recent call last):
            ...
        ffai.errors.UnsafeFilterError: The operator '--' is neither made of signs nor one of DIV, GLOB...
    """
    is_comment = "--" in sign or "/*" in sign or "*/" in sign
    if is_comment or not (_SIGNS.fullmatch(sign.strip()) or " ".join(sign.upper().split()) in _OPERATORS):
        raise UnsafeFilterError(
            f"The operator {sign!r:.100} is neither made of signs nor one of {', '.join(sorted(_OPERATORS))}."
        )


def check_type(kind: TypeEngine[Any]) -> None:
    """Check the type that something is cast to. One of the app's own is code, and let through.

    Raises:
        UnsafeFilterError: its collation or its length is more than that.
    """
    if (collation := getattr(kind, "collation", None)) is not None:
        check_name("collation", str(collation), COLLATION)
    if not isinstance(length := getattr(kind, "length", None), (int, type(None))):
        raise UnsafeFilterError(f"{length!r:.100} is no length of a type.")
    if isinstance(kind, ARRAY):
        check_type(kind.item_type)


def check_plain(statement: Any) -> None:
    """Check a subquery for what it has beside columns, tables and conditions.

    Raises:
        UnsafeFilterError: a prefix, a hint, an option, a lock.
    """
    for name in _OF_STATEMENTS:
        told = getattr(statement, name, None)
        if isinstance(told, ClauseElement) or told:
            raise UnsafeFilterError(
                f"A subquery can't have {name.strip('_').removeprefix('with_').replace('_', ' ')} here."
            )
