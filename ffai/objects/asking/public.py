"""The public form of a record: what a model, a hit or a client may see of it."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Query

from ffai._text import clean_text
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.asking.record_fields import NOTHING, is_record, parts_of
from ffai.objects.asking.scrubber import Scrubber, hidden_names

__all__ = ["Scrubber", "public_of", "public_value"]

_DEEPEST = 100
"""Levels of nesting: deeper ones would end in a RecursionError."""
_MOST = 10_000
"""Records within a form. Relationships that lead to and fro have more ways through them than can be walked."""


def public_of(record: object, *, exclude: Collection[str] = (), scrubber: Scrubber | None = None) -> dict[str, Any]:
    """Return what may be seen of a record, made of values that JSON has.

    First its columns, in the order in which the class declares them, the primary key before the others; without those
    that are sensitive or in ``AI(prompt_exclude=...)``. Then what ``AI(include=...)`` names. Related records are in
    their own public form; one that the form is already within is left out. Deferred columns are loaded, but for those
    that must not be (``raiseload``) or can't be any more.

    A method ``public_data(self, data: dict) -> dict`` of the class may change the form. Whatever it or a property
    adds, no sensitive value that is loaded stays in a text, and no sensitive name is a key; see `Scrubber`.

    Dates and times are ISO texts, decimals and UUIDs texts, an enum is its value, bytes are ``"<12 bytes>"``, and
    numbers that are not finite are ``None``.

    Args:
        record: of a class mapped by SQLAlchemy (SQLModel too), a pydantic model, a dataclass or a mapping.
        exclude: names that are left out beside those.
        scrubber: takes note of the secrets that were met.

    Raises:
        ArgumentTypeError: it is none of these, or holds a value that has no such form; names it.
        InvalidArgumentError: ``AI(include=...)`` names nothing of the record, or the form has no end.
        SensitiveFieldError: ``AI(include=...)`` names a sensitive field.

    Examples:
        >>> from sqlalchemy import Column, Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase
        >>> class Base(DeclarativeBase): pass
        >>> class Article(Base):
        ...     __tablename__ = "articles"
        ...     title = Column(String)
        ...     id = Column(Integer, primary_key=True)
        ...     token = Column(String, info={"sensitive": True})
        >>> public_of(Article(id=1, title="Tea", token="sk-live-123"))
        {'id': 1, 'title': 'Tea'}
    """
    if isinstance(exclude, str) or not all(isinstance(name, str) for name in exclude):
        raise ArgumentTypeError(f"exclude must be names of fields, not {exclude!r:.100}.")
    if not is_record(record):
        raise ArgumentTypeError(
            "A record is of a class mapped by SQLAlchemy, a pydantic model, a dataclass or a mapping, not "
            f"{type(record).__name__}."
        )
    walk = _Walk(scrubber or Scrubber(), _refused)
    shown = walk.form(record, (), frozenset(exclude))
    form: dict[str, Any] = walk.scrubber.clean(shown)
    return form


def public_value(value: Any, scrubber: Scrubber) -> Any:
    """Return any value as JSON has it, without secrets: records in their public form, what JSON lacks as its text.

    Args:
        value: anything.
        scrubber: knows secrets, and takes note of those of records in the value.

    Examples:
        >>> public_value({"when": date(2024, 1, 2), "of": complex(1, 2)}, Scrubber())
        {'when': '2024-01-02', 'of': '(1+2j)'}
    """
    shown = _Walk(scrubber, str).value(value, ())
    return scrubber.clean(None if shown is NOTHING else shown)


def _refused(value: object) -> Any:
    raise ArgumentTypeError(
        f"A {type(value).__name__} has no public form. Leave it out with AI(prompt_exclude=...), or give its class "
        "a __str__."
    )


class _Walk:
    """One walk through a record and what belongs to it."""

    def __init__(self, scrubber: Scrubber, otherwise: Callable[[Any], Any]) -> None:
        self.scrubber, self._otherwise = scrubber, otherwise
        self._met = 0

    def form(self, record: Any, path: tuple[int, ...], exclude: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return a record's form, not yet without secrets; ``path`` is the ids of what it is within."""
        path = self._within(record, path)
        self._count(record)
        hidden = hidden_names(type(record))
        shown = {}
        for name, read in parts_of(record, hidden | exclude):
            value = self._named(record, name, read, path, hidden)
            if value is not NOTHING:
                shown[name] = value
        self.scrubber.note(record)
        return self._hooked(record, shown, path, hidden, exclude)

    def value(self, value: Any, path: tuple[int, ...], hidden: frozenset[str] = frozenset()) -> Any:
        """Return a value as JSON has it; `NOTHING` for what is already on the path."""
        if value is None or type(value) in (bool, int):
            return value
        simple = _simple(value)
        if simple is not NOTHING:
            return simple
        if isinstance(value, Enum):
            return self.value(value.value, path, hidden)
        if id(value) in path:
            return NOTHING
        if not isinstance(value, Mapping) and is_record(value):
            return self.form(value, path)
        return self._container(value, path, hidden)

    def _container(self, value: Any, path: tuple[int, ...], hidden: frozenset[str]) -> Any:
        if isinstance(value, Mapping):
            inside = self._within(value, path)
            pairs = ((_key(key), self.value(item, inside, hidden)) for key, item in value.items())
            return {key: item for key, item in pairs if item is not NOTHING and key not in hidden}
        if isinstance(value, (Sequence, Set, Query)):
            inside = self._within(value, path)
            items = [item for item in (self.value(item, inside, hidden) for item in value) if item is not NOTHING]
            # The order of a set is another one in each process.
            return sorted(items, key=json.dumps) if isinstance(value, Set) else items
        if callable(plain := getattr(value, "tolist", None)):  # an array or a number of NumPy
            return self.value(plain(), path, hidden)
        wordless = getattr(type(value), "__str__", None) is object.__str__
        return self._otherwise(value) if wordless else clean_text(str(value))

    def _named(
        self, record: object, name: str, read: Callable[[], Any], path: tuple[int, ...], hidden: frozenset[str]
    ) -> Any:
        found = read()
        try:
            return NOTHING if found is NOTHING else self.value(found, path, hidden)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{type(record).__name__}.{name}: {error}") from error

    def _hooked(
        self,
        record: Any,
        shown: dict[str, Any],
        path: tuple[int, ...],
        hidden: frozenset[str],
        exclude: frozenset[str],
    ) -> dict[str, Any]:
        if isinstance(record, Mapping) or not inspect.isfunction(getattr(type(record), "public_data", None)):
            return shown
        told = record.public_data(dict(shown))
        if not isinstance(told, Mapping):
            raise ArgumentTypeError(
                f"{type(record).__name__}.public_data must return a dict, not {type(told).__name__}."
            )
        self.scrubber.note(record)  # it may have loaded more
        form = {}
        for key, value in told.items():
            kept = value if key in shown and shown[key] is value else self.value(value, path, hidden)
            if kept is not NOTHING and _key(key) not in hidden | exclude:
                form[_key(key)] = kept
        return form

    def _within(self, value: object, path: tuple[int, ...]) -> tuple[int, ...]:
        if len(path) >= _DEEPEST:
            raise InvalidArgumentError(
                f"The public form is nested deeper than {_DEEPEST} levels. Name fewer relationships in AI(include=...)."
            )
        return (*path, id(value))

    def _count(self, record: object) -> None:
        self._met += 1
        if self._met > _MOST:
            raise InvalidArgumentError(
                f"The public form has more than {_MOST:,} records in it, the last one a {type(record).__name__}. "
                "Name fewer relationships in AI(include=...)."
            )


def _simple(value: Any) -> Any:
    """Return a value that holds no others; `NOTHING` for the rest."""
    if isinstance(value, Enum):
        return NOTHING
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, timedelta)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(bytes(value))} bytes>"
    return NOTHING


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    simple = _simple(key)
    return clean_text(simple if isinstance(simple, str) else str(key))
