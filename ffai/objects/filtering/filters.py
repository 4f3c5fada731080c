"""What `where` says, as conditions: a mapping of plain names and values, or an expression behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from sqlalchemy import ColumnElement, String, and_, false, func, literal, or_, true
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import InstrumentedAttribute

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.declaration import Declared, declared_of
from ffai.objects.filtering.filter_values import Kind, check_text
from ffai.objects.filtering.guard import check_condition
from ffai.objects.filtering.known_tables import secret_names

Where = Mapping[str, Any] | ColumnElement[bool] | None
"""Which records: ``{"status": "published", "views__gte": 10}``, an expression of your own, or ``None`` for all."""

Condition = ColumnElement[bool]


def condition_of(kind: type[Any], where: Where) -> list[Condition]:
    r"""Return what `where` says, as conditions that all must hold.

    A mapping has the names of columns, each with ``__`` and an operator after it, or without one for equality:

    ===================================== ==============================================================================
    eq, ne, gt, gte, lt, lte              compared with a value; ``None`` can only be equal or not.
    in, not_in                            one of a list; an empty one holds nothing. A list alone is ``in``.
    isnull                                ``True`` for no value, ``False`` for any.
    contains, startswith, endswith        a part of a text, as it is written: ``%`` and ``_`` are letters.
    icontains, istartswith                the same, large and small letters alike (in SQLite, those of ASCII).
    like, ilike                           a pattern of ``%`` and ``_``. SQLite's ``like`` is its ``ilike``.
    ===================================== ==============================================================================

    A record without a value is found by ``None`` and ``isnull`` alone: as the database has it, ``ne`` and ``not_in``
    pass over it (an empty ``not_in`` does not). A JSON column or an array is compared as a whole, by ``eq``, ``ne`` and
    ``isnull``; a list is a value there.

    An expression may use columns of the class, and those of other tables within `has`, `any`, EXISTS or IN.

    Args:
        kind: the mapped class.
        where: see above. A mapping can be untrusted: names are looked up, values are bound. An expression is code.

    Raises:
        SensitiveFieldError: it uses a secret column.
        UnsafeFilterError: an expression with text of its own, or with columns of unknown tables.
        InvalidArgumentError: an unknown name or operator, a value that can't be, or tables that are not joined.
        ArgumentTypeError: something else, or a value of another type than the column's.

    Examples:
        >>> from sqlalchemy import Integer
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Note(Base):
        ...     __tablename__ = "notes"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     text = mapped_column(String)
        >>> [str(condition) for condition in condition_of(Note, {"id__gte": 2, "text": None})]
        ['notes.id >= :id_1', 'notes.text IS NULL']
        >>> [str(condition) for condition in condition_of(Note, Note.id == 5)]
        ['notes.id = :id_1']
        >>> condition_of(Note, {"txt": "a"})
        Traceback (most recent call last):
            ...
        ffai.errors.InvalidArgumentError: Note has no field 'txt'; there are id, text.
    """
    declared = declared_of(kind)
    if where is None:
        return []
    if isinstance(where, Mapping):
        return [_one(declared, key, value) for key, value in where.items()]
    return [check_condition(kind, where)]


def _one(declared: Declared, key: Any, value: Any) -> Condition:
    if not isinstance(key, str):
        raise ArgumentTypeError(f"A field in `where` is named by text, not {type(key).__name__} {key!r:.100}.")
    name, operator = _parted(declared, key)
    column = cast("InstrumentedAttribute[Any]", getattr(declared.mapped, name))
    kind = Kind.of(declared.columns[name].type)
    if operator is None:
        operator = "in" if isinstance(value, (list, tuple, set, frozenset)) and not kind.is_whole else "eq"
    compare = _OPERATORS.get(operator)
    if compare is None:
        raise InvalidArgumentError(
            f"where[{key!r:.100}]: there is no operator {operator!r:.100}; there are {', '.join(_OPERATORS)}."
        )
    if kind.is_whole and operator not in _WHOLE:
        raise InvalidArgumentError(
            f"where[{key!r:.100}]: {name} is compared as a whole, by {', '.join(_WHOLE)}, not by {operator!r:.100}."
        )
    return compare(key, column, kind, value)


def _parted(declared: Declared, key: str) -> tuple[str, str | None]:
    """Return the name and the operator. The longest name wins: ``__`` may be within one."""
    name = max((name for name in declared.columns if key == name or key.startswith(f"{name}__")), key=len, default=None)
    if name is None:
        raise InvalidArgumentError(
            f"{declared.mapped.__name__} has no field {key!r:.100}; there are {fields(declared)}."
        )
    if name in secret_names(declared):
        raise SensitiveFieldError(name, declared.mapped.__name__, "filtered by")
    return name, key[len(name) + 2 :] if len(key) > len(name) else None


def fields(declared: Declared) -> str:
    """Return the names that can be used, as a message tells them."""
    secret = secret_names(declared)
    return ", ".join(name for name in declared.columns if name not in secret)


_Compare = Callable[[str, InstrumentedAttribute[Any], Kind, Any], Condition]


def _is_nothing(column: InstrumentedAttribute[Any], kind: Kind) -> Condition:
    return or_(column.is_(None), sql_cast(column, String) == "null") if kind.is_json else column.is_(None)


def _eq(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
    if value is None:
        return _is_nothing(column, kind)
    kind.check(key, value)
    if kind.is_json:  # as text: not every database compares JSON
        return sql_cast(column, String) == sql_cast(literal(value, kind.column_type), String)
    return cast("Condition", column == value)


def _ne(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
    if value is None:
        return ~_is_nothing(column, kind)
    kind.check(key, value)
    if kind.is_json:
        return and_(~_is_nothing(column, kind), ~_eq(key, column, kind, value))
    return cast("Condition", column != value)


def _isnull(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"where[{key!r:.100}] must be True or False, not {type(value).__name__} {value!r:.100}."
        )
    return _eq(key, column, kind, None) if value else _ne(key, column, kind, None)


def _ordered(name: str) -> _Compare:
    def compare(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
        if value is None:
            raise ArgumentTypeError(f"where[{key!r:.100}] is None, which is neither less nor more than a value.")
        kind.check(key, value)
        return cast("Condition", getattr(column, name)(value))

    return compare


def _in(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
    values, has_none = _listed(key, kind, value)
    found: Condition = column.in_(values) if values else false()
    return or_(found, column.is_(None)) if has_none else found


def _not_in(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
    values, has_none = _listed(key, kind, value)
    left: Condition = column.not_in(values) if values else true()
    return and_(left, column.is_not(None)) if has_none else left


def _listed(key: str, kind: Kind, value: Any) -> tuple[list[Any], bool]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ArgumentTypeError(
            f"where[{key!r:.100}] must be a list of values, not {type(value).__name__} {value!r:.100}."
        )
    values = [item for item in value if item is not None]
    for item in values:
        kind.check(key, item)
    return values, len(values) < len(value)


def _text(condition: Callable[[InstrumentedAttribute[Any], str], Condition]) -> _Compare:
    def compare(key: str, column: InstrumentedAttribute[Any], kind: Kind, value: Any) -> Condition:
        check_text(key, value, kind)
        return condition(column, value)

    return compare


# LIKE takes large and small letters alike in SQLite and not in Postgres; these functions are the same in both.
def _contains(column: InstrumentedAttribute[Any], part: str) -> Condition:
    return func.replace(column, part, "") != column if part else column.is_not(None)


def _startswith(column: InstrumentedAttribute[Any], part: str) -> Condition:
    return func.substr(column, 1, len(part)) == part


def _endswith(column: InstrumentedAttribute[Any], part: str) -> Condition:
    return func.substr(column, func.length(column) - len(part) + 1) == part if part else column.is_not(None)


_OPERATORS: dict[str, _Compare] = {
    "eq": _eq,
    "ne": _ne,
    "gt": _ordered("__gt__"),
    "gte": _ordered("__ge__"),
    "lt": _ordered("__lt__"),
    "lte": _ordered("__le__"),
    "in": _in,
    "not_in": _not_in,
    "like": _text(lambda column, pattern: column.like(pattern)),
    "ilike": _text(lambda column, pattern: column.ilike(pattern)),
    "contains": _text(_contains),
    "icontains": _text(lambda column, part: column.icontains(part, autoescape=True)),
    "startswith": _text(_startswith),
    "istartswith": _text(lambda column, part: column.istartswith(part, autoescape=True)),
    "endswith": _text(_endswith),
    "isnull": _isnull,
}
_WHOLE = ("eq", "ne", "isnull")
