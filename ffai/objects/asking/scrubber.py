"""Taking secret values out of what a hook or a method gave, before it goes to a model."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any
from uuid import UUID

from sqlalchemy import inspect as inspected
from sqlalchemy.orm import Mapper

from ffai._text import clean_text
from ffai.objects.declaration import SENSITIVE, declared_of, marked_in_pydantic

REMOVED = "[removed]"
"""What stands in the place of a secret."""

_LEAST = 4
"""Characters of the shortest text that counts as a secret: a shorter one stands in too many words."""


class Scrubber:
    """Knows the secrets of records, and takes them out of texts.

    A secret is what a sensitive field holds: a text of four characters or more, the text of a UUID or of bytes in
    UTF-8, and such texts within a dict or list. Numbers, dates and shorter texts are none. It is found as it is, and as
    JSON or Python's ``repr`` write it; not where it was changed otherwise: cut, hashed or encoded.

    Only what is loaded is looked at: a secret that was never read from the database is in nothing that could be told.

    Args:
        records: see `note`.

    Examples:
        >>> from sqlalchemy import Column, Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase
        >>> class Base(DeclarativeBase): pass
        >>> class Article(Base):
        ...     __tablename__ = "articles"
        ...     id = Column(Integer, primary_key=True)
        ...     token = Column(String, info={"sensitive": True})
        >>> Scrubber(Article(id=1, token="sk-live-123")).clean({"see": ["the token is sk-live-123"]})
        {'see': ['the token is [removed]']}
    """

    def __init__(self, *records: object) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for record in records:
            self.note(record)

    def note(self, record: object) -> None:
        """Take note of the secrets of a record, and of those of records that it has loaded beside it."""
        before = len(self._secrets)
        for one in (record, *_loaded_beside(record)):
            for value in _hidden_values(one):
                self._secrets.update(form for text in _texts(value) if len(text) >= _LEAST for form in _written(text))
        if len(self._secrets) > before:
            longest_first = sorted(self._secrets, key=lambda secret: (-len(secret), secret))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return text if self._pattern is None else self._pattern.sub(REMOVED, text)

    def clean(self, value: Any) -> Any:
        """Return dicts, lists and texts without the secrets, keys too; other values as they are."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.clean(key): self.clean(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.clean(item) for item in value]
        return value


def hidden_names(kind: type[Any]) -> frozenset[str]:
    """Return the names of the sensitive fields of a class: a mapped one, a pydantic one or a dataclass.

    Examples:
        >>> hidden_names(dict)
        frozenset()
    """
    if is_mapped(kind):
        return declared_of(kind).sensitive
    if dataclasses.is_dataclass(kind):
        return frozenset(field.name for field in dataclasses.fields(kind) if field.metadata.get(SENSITIVE))
    marked = frozenset(marked_in_pydantic(kind))
    # SQLModel drops the mark in a class without a table that is made from one with a table.
    return marked.union(*(declared_of(one).sensitive for one in kind.__mro__[1:] if is_mapped(one)))


def is_mapped(kind: type[Any]) -> bool:
    """Say whether SQLAlchemy maps a class.

    Examples:
        >>> is_mapped(dict)
        False
    """
    return isinstance(inspected(kind, raiseerr=False), Mapper)


def _hidden_values(record: object) -> Iterator[Any]:
    kind = type(record)
    if not is_mapped(kind):
        yield from (getattr(record, name, None) for name in hidden_names(kind))
        return
    attributes = inspected(record).attrs
    for name in hidden_names(kind):
        # Its history is what is in memory now, and what was before a change: asking for it loads nothing.
        yield from attributes[name].history.sum()


def _loaded_beside(record: object) -> Iterator[object]:
    """Yield the related records that are in memory."""
    if not is_mapped(type(record)):
        return
    state = inspected(record)
    for relationship in state.mapper.relationships:
        found = state.dict.get(relationship.key)
        if isinstance(found, Mapping):
            yield from found.values()
        elif isinstance(found, (list, tuple, set, frozenset)):
            yield from found
        elif found is not None and is_mapped(type(found)):
            yield found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Enum):
        yield from _texts(value.value)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, UUID):
        yield from (str(value), value.hex)
    elif isinstance(value, (bytes, bytearray)):
        yield bytes(value).decode(errors="ignore")
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _texts(item)
    elif callable(reveal := getattr(value, "get_secret_value", None)):
        yield from _texts(reveal())


def _written(text: str) -> set[str]:
    """Return a text in the ways it may be written within another one."""
    clean = clean_text(text)
    return {clean, json.dumps(clean)[1:-1], json.dumps(clean, ensure_ascii=False)[1:-1], repr(clean)[1:-1]}
