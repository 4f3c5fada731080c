"""What there is to see of one record: the names of its fields, and how each is read."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Column
from sqlalchemy import inspect as inspected
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import SynonymProperty
from sqlalchemy.orm.exc import DetachedInstanceError
from sqlalchemy.sql.visitors import iterate

from ffai.errors import InvalidArgumentError, SensitiveFieldError
from ffai.objects.asking.scrubber import hidden_names, is_mapped
from ffai.objects.declaration import SENSITIVE, declared_of, mapper_of

NOTHING: Final = object()
"""There is nothing to see: it can't be loaded, or the form is within it already."""


def is_record(value: object) -> bool:
    """Say whether a value is a record: of a mapped class, a pydantic model, a dataclass or a mapping.

    Examples:
        >>> is_record({"title": "Tea"}), is_record("Tea")
        (True, False)
    """
    if isinstance(value, type):
        return False
    kind = type(value)
    return isinstance(value, Mapping) or is_mapped(kind) or dataclasses.is_dataclass(kind) or _is_pydantic(kind)


def _is_pydantic(kind: type[Any]) -> bool:
    return isinstance(getattr(kind, "model_fields", None), Mapping) and hasattr(kind, "model_dump")


def parts_of(record: Any, left_out: frozenset[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the names of what a record shows, and what reads each; that gives `NOTHING` where it can't be loaded.

    Args:
        record: see `is_record`.
        left_out: names that are not shown, and not read.

    Raises:
        InvalidArgumentError: ``AI(include=...)`` names nothing of the record.
        SensitiveFieldError: it names a sensitive field.

    Examples:
        >>> [(name, read()) for name, read in parts_of({"title": "Tea", "token": "x"}, frozenset(["token"]))]
        [('title', 'Tea')]
    """
    kind = type(record)
    if is_mapped(kind):
        names = _shown_names(record, left_out)
    elif isinstance(record, Mapping):
        names = [(str(key), record.__getitem__, key) for key in record]
    elif dataclasses.is_dataclass(kind):
        names = [(field.name, lambda name: getattr(record, name), field.name) for field in dataclasses.fields(kind)]
    else:
        dumped = _dumped(record)
        names = [(name, dumped.__getitem__, name) for name in dumped]
    yield from ((name, lambda read=read, key=key: read(key)) for name, read, key in names if name not in left_out)


def _shown_names(record: Any, left_out: frozenset[str]) -> list[tuple[str, Callable[[Any], Any], Any]]:
    kind = type(record)
    declared = declared_of(kind)
    columns = sorted(declared.columns, key=lambda name: not declared.columns[name].primary_key)
    hidden = declared.sensitive | left_out | set(declared.ai.prompt_exclude)
    names: list[tuple[str, Callable[[Any], Any], Any]] = [
        (name, lambda name: _column_value(record, name), name) for name in columns if name not in hidden
    ]
    for name in declared.ai.include:
        if _tells_secret(kind, name):
            raise SensitiveFieldError(name, kind.__name__, "shown")
        if inspect.getattr_static(record, name, None) is None:
            raise InvalidArgumentError(f"{kind.__name__}: AI(include=...) names {name!r:.100}, which it has not.")
        names.append((name, lambda name: getattr(record, name), name))
    return names


def _tells_secret(kind: type[Any], name: str) -> bool:
    """Tell whether an attribute is secret, is one by another name, or is calculated from one by the database."""
    prop = mapper_of(kind).attrs.get(name)
    if isinstance(prop, SynonymProperty):
        return _tells_secret(kind, prop.name)
    parts = [part for column in getattr(prop, "columns", ()) for part in iterate(column)]
    return any(isinstance(part, Column) and bool(part.info.get(SENSITIVE)) for part in parts)


def _column_value(record: object, name: str) -> Any:
    expired = name in inspected(record).expired_attributes
    try:
        return getattr(record, name)
    except DetachedInstanceError:
        if expired:
            raise
    except InvalidRequestError as error:
        if "raiseload" not in str(error):
            raise
    return NOTHING


def _dumped(model: Any) -> dict[str, Any]:
    """Return the fields of a pydantic model as it gives them out, but for those with records in them."""
    own = {name for name in type(model).model_fields if _holds_record(getattr(model, name, None))}
    dumped: dict[str, Any] = model.model_dump(mode="python", exclude=own | hidden_names(type(model)))
    shown = {name for name, field in type(model).model_fields.items() if name in own and not field.exclude}
    return {**dumped, **{name: getattr(model, name) for name in type(model).model_fields if name in shown}}


def _holds_record(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_record, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_holds_record, value))
    return is_record(value)
