"""Which values a column can be compared with in a filter: what is wrong is told before the database sees it."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import JSON, Enum, String
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from ffai.errors import ArgumentTypeError, InvalidArgumentError

_INTEGERS = range(-(2**63), 2**63)

_TAKES: dict[type[Any], tuple[type[Any], ...]] = {
    str: (str,),
    bytes: (bytes, bytearray, memoryview),
    bool: (bool,),
    int: (int, float),
    float: (int, float),
    Decimal: (int, float, Decimal),
    dt.datetime: (dt.datetime, dt.date),
    dt.date: (dt.date,),
    dt.time: (dt.time,),
    dt.timedelta: (dt.timedelta,),
    uuid.UUID: (uuid.UUID,),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds, as far as filters care."""

    column_type: TypeEngine[Any]
    bound_by: TypeEngine[Any] | None
    """The type that puts values into the database; ``None`` where the app does, with a type of its own."""

    @classmethod
    def of(cls, column_type: TypeEngine[Any]) -> Kind:
        """Return the kind of a column's type.

        Examples:
            >>> Kind.of(String()).is_text, Kind.of(Enum("a", "b")).is_text, Kind.of(JSON()).is_whole
            (True, False, True)
        """
        bound_by: TypeEngine[Any] | None = column_type
        while isinstance(bound_by, TypeDecorator):
            is_own = type(bound_by).process_bind_param is not TypeDecorator.process_bind_param
            bound_by = None if is_own else bound_by.impl_instance
        return cls(column_type, bound_by)

    @property
    def is_text(self) -> bool:
        """Whether a part of it can be looked for."""
        inner = self._stored
        return isinstance(inner, String) and not isinstance(inner, Enum)

    @property
    def is_json(self) -> bool:
        """Whether it is JSON: ``None`` may be kept as the text ``null`` in it."""
        return isinstance(self._stored, JSON)

    @property
    def is_whole(self) -> bool:
        """Whether it can only be compared as a whole: JSON, an array."""
        return self.is_json or self._python in (dict, list)

    def check(self, key: str, value: Any) -> None:
        """Check a value that is not ``None``.

        Args:
            key: what the filter calls it.
            value: to compare with.

        Raises:
            ArgumentTypeError: it is of another type than the column's.
            InvalidArgumentError: it is no number, too large, or none of an enumeration's.

        Examples:
            >>> from sqlalchemy import Integer
            >>> Kind.of(Integer()).check("views", "many")
            Traceback (most recent call last):
                ...
            ffai.errors.ArgumentTypeError: where['views'] must be int or float, not str 'many'.
        """
        if isinstance(value, ClauseElement) or hasattr(value, "__clause_element__"):
            raise ArgumentTypeError(
                f"where[{key!r:.100}] is the expression {value!s:.80}: a mapping takes plain values. Give the whole of "
                "`where` as an expression."
            )
        if isinstance(value, (float, Decimal)) and math.isnan(value):
            raise InvalidArgumentError(f"where[{key!r:.100}] is NaN, which equals nothing: give a number or None.")
        if self.is_whole:
            return
        if isinstance(value, (dict, list, tuple, set, frozenset)):
            raise _wrong(key, "one plain value", value)
        if isinstance(self.bound_by, Enum):
            _check_enum(key, value, self.bound_by)
        elif self.bound_by is not None:
            _check_plain(key, value, _TAKES.get(self._python or object))

    @property
    def _stored(self) -> TypeEngine[Any]:
        inner = self.column_type
        while isinstance(inner, TypeDecorator):
            inner = inner.impl_instance
        return inner

    @property
    def _python(self) -> type[Any] | None:
        try:
            found: type[Any] = self.column_type.python_type
        except NotImplementedError:  # types of one database name none
            return None
        return found


def _check_enum(key: str, value: Any, kind: Enum) -> None:
    taken: Collection[str] = kind.enums
    if kind.enum_class is not None and isinstance(value, kind.enum_class):
        return
    if not isinstance(value, str):
        raise _wrong(key, " or ".join(filter(None, ["str", getattr(kind.enum_class, "__name__", "")])), value)
    if value not in taken:
        raise InvalidArgumentError(f"where[{key!r:.100}] can't be {value!r:.100}; there are {', '.join(taken)}.")


def _check_plain(key: str, value: Any, taken: tuple[type[Any], ...] | None) -> None:
    if taken is None:
        return
    is_odd = (isinstance(value, bool) and bool not in taken) or (
        isinstance(value, dt.datetime) and dt.datetime not in taken
    )
    if is_odd or not isinstance(value, taken):
        raise _wrong(key, " or ".join(kind.__name__ for kind in taken), value)
    if isinstance(value, int) and value not in _INTEGERS and Decimal not in taken:
        raise InvalidArgumentError(f"where[{key!r:.100}] is {value!r:.100}: a column holds at most 64 bits.")
    if isinstance(value, str) and not _is_encodable(value):
        raise InvalidArgumentError(f"where[{key!r:.100}] is {value!r:.100}, which can't be written as UTF-8.")


def check_text(key: str, value: Any, kind: Kind) -> None:
    """Check the value of an operator that looks for a part of a text.

    Raises:
        ArgumentTypeError: the value or the column is no text.

    Examples:
        >>> check_text("title__contains", 5, Kind.of(String()))
        Traceback (most recent call last):
            ...
        ffai.errors.ArgumentTypeError: where['title__contains'] must be str, not int 5.
    """
    if not kind.is_text:
        raise ArgumentTypeError(f"where[{key!r:.100}] looks for a part of a text, and that column is none.")
    if not isinstance(value, str):
        raise _wrong(key, "str", value)
    if not _is_encodable(value):
        raise InvalidArgumentError(f"where[{key!r:.100}] is {value!r:.100}, which can't be written as UTF-8.")


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _wrong(key: str, wanted: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"where[{key!r:.100}] must be {wanted}, not {type(value).__name__} {value!r:.100}.")
