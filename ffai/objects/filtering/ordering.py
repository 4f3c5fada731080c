"""In what order records come, and which columns of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.declaration import Declared, declared_of, mapper_of
from ffai.objects.filtering.filters import fields
from ffai.objects.filtering.guard import check_expression
from ffai.objects.filtering.known_tables import secret_names

OrderBy = str | ColumnElement[Any] | InstrumentedAttribute[Any] | Sequence[Any] | None
"""``"name"``, ``"-name"`` for the largest first, an expression such as ``Article.views.desc()``, or several of them."""


def order_of(kind: type[Any], order_by: OrderBy) -> list[ColumnElement[Any]]:
    """Return an order of records in which no two are equal: the primary key comes last.

    Records without a value come where the database puts them; ``Article.views.desc().nulls_last()`` says where.

    Args:
        kind: the mapped class.
        order_by: see `OrderBy`; ``None`` for the primary key alone.

    Raises:
        InvalidArgumentError: an unknown name, or tables that are not joined.
        SensitiveFieldError: it uses a secret column.
        UnsafeFilterError: an expression with text of its own, or with columns of unknown tables.
        ArgumentTypeError: something else.

    Examples:
        >>> from sqlalchemy import Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Book(Base):
        ...     __tablename__ = "books"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     title = mapped_column(String)
        >>> [str(part) for part in order_of(Book, ["-title"])]
        ['books.title DESC', 'books.id']
    """
    declared = declared_of(kind)
    if order_by is None:
        told: Sequence[Any] = ()
    else:
        told = order_by if isinstance(order_by, (list, tuple)) else (order_by,)
    return [*(_one(declared, part) for part in told), *mapper_of(kind).primary_key]


def _one(declared: Declared, part: Any) -> ColumnElement[Any]:
    if isinstance(part, str):
        name = part.removeprefix("-")
        column = _column(declared, name, "ordered by").__clause_element__()
        ordered: ColumnElement[Any] = column.desc() if part.startswith("-") else column.asc()
        return ordered
    return check_expression(declared.mapped, part, "ordered by")


def columns_of(kind: type[Any], columns: Sequence[str]) -> list[InstrumentedAttribute[Any]]:
    """Return the attributes of columns that are to be read, each once.

    Args:
        kind: the mapped class.
        columns: names; at least one.

    Raises:
        SensitiveFieldError: one is secret.
        InvalidArgumentError: there is no such column, or none is named.
        ArgumentTypeError: they are no list of names.

    Examples:
        >>> from sqlalchemy import Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Page(Base):
        ...     __tablename__ = "pages"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     text = mapped_column(String)
        >>> columns_of(Page, ["text", "id"])[0].key
        'text'
        >>> columns_of(Page, ["words"])
        Traceback (most recent call last):
            ...
        ffai.errors.InvalidArgumentError: Page has no field 'words'; there are id, text.
    """
    if not isinstance(columns, (list, tuple)):
        raise ArgumentTypeError(f"columns must be a list of names, not {type(columns).__name__} {columns!r:.100}.")
    if not columns:
        raise InvalidArgumentError("columns is empty: name one at least, or leave it out for the whole record.")
    if odd := [name for name in columns if not isinstance(name, str)]:
        raise ArgumentTypeError(f"columns: a field is named by text, not {type(odd[0]).__name__} {odd[0]!r:.100}.")
    declared = declared_of(kind)
    return [_column(declared, name, "shown") for name in dict.fromkeys(columns)]


def _column(declared: Declared, name: str, use: str) -> InstrumentedAttribute[Any]:
    if name in secret_names(declared):
        raise SensitiveFieldError(name, declared.mapped.__name__, use)
    if name not in declared.columns:
        raise InvalidArgumentError(
            f"{declared.mapped.__name__} has no field {name!r:.100}; there are {fields(declared)}."
        )
    attribute: InstrumentedAttribute[Any] = getattr(declared.mapped, name)
    return attribute
