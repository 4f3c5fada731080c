"""The guard of expressions: every leaf is a bound value or a known column that is no secret; nothing is raw text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Select, literal, select
from sqlalchemy import inspect as inspected
from sqlalchemy.orm import RelationshipProperty
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.sql.functions import next_value
from sqlalchemy.sql.operators import custom_op, exists
from sqlalchemy.sql.selectable import FromClause
from sqlalchemy.types import NullType

from ffai.errors import ArgumentTypeError, InvalidArgumentError, UnsafeFilterError
from ffai.objects.declaration import mapper_of
from ffai.objects.filtering.known_tables import KnownTables
from ffai.objects.filtering.own_text import COLLATION, WORDS, check_name, check_operator, check_plain, check_type


def check_condition(kind: type[Any], expression: Any) -> ColumnElement[bool]:
    """Return an expression as a condition on the records of a class.

    Raises:
        SensitiveFieldError, UnsafeFilterError: see `check_expression`.
        InvalidArgumentError: it needs tables that the class is not stored in: each record would come several times.
        ArgumentTypeError: it is no condition.
    """
    checked = check_expression(kind, expression, "filtered by")
    if checked.__visit_name__ in ("column", "bindparam") and not isinstance(checked.type, (Boolean, NullType)):
        raise ArgumentTypeError(f"`where` is {str(checked)!r:.100}, which is no condition: compare it with something.")
    return checked


def check_expression(kind: type[Any], expression: Any, use: str) -> ColumnElement[Any]:
    """Return an expression on the records of a class, checked: it gives no secret away, and holds no text of its own.

    It protects from accidents: a secret in a filter is told by what is found. It is no fence around those who write
    code: they can call any function of the database by its name.

    Args:
        kind: the mapped class.
        expression: a SQLAlchemy expression, or an attribute of the class.
        use: what it is for, as the message says: ``"filtered by"``, ``"ordered by"``.

    Raises:
        SensitiveFieldError: a secret column is in it, in whatever depth: in a function, a subquery, a joined table.
        UnsafeFilterError: text, a free column, a table of no known metadata, or an element not known to be safe.
        InvalidArgumentError: it needs tables that the class is not stored in: each record would come several times.
        ArgumentTypeError: it is no expression.

    Examples:
        >>> from sqlalchemy import Integer, String, func, text
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Guest(Base):
        ...     __tablename__ = "guests"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     name = mapped_column(String)
        ...     pin = mapped_column(String, info={"sensitive": True})
        >>> str(check_expression(Guest, func.lower(Guest.name) == "ann", "filtered by"))
        'lower(guests.name) = :lower_1'
        >>> check_expression(Guest, func.substr(Guest.pin, 1, 1) == "4", "filtered by")
        Traceback (most recent call last):
            ...
        ffai.errors.SensitiveFieldError: Guest.pin is sensitive and can't be filtered by.
        >>> check_expression(Guest, text("pin = '4711'"), "filtered by")
        Traceback (most recent call last):
            ...
        ffai.errors.UnsafeFilterError: A TextClause can't be checked...
    """
    if isinstance(getattr(expression, "property", None), RelationshipProperty):
        raise ArgumentTypeError(f"{expression!s:.100} is a relationship: compare it, or use its has() or any().")
    element = expression.__clause_element__() if hasattr(expression, "__clause_element__") else expression
    if isinstance(element, type) or not isinstance(element, ClauseElement):
        raise ArgumentTypeError(
            f"{type(expression).__name__} {expression!r:.100} is no expression: give a SQLAlchemy one, such as "
            f"{kind.__name__}.{next(iter(mapper_of(kind).column_attrs)).key} == value."
        )
    _Walk(KnownTables(kind), use).visit(element)
    if not isinstance(element, ColumnElement):
        raise ArgumentTypeError(f"A {type(element).__name__} is no expression on columns: use it in IN or EXISTS.")
    check_tables(kind, element)
    return element


def check_tables(kind: type[Any], element: ColumnElement[Any]) -> None:
    """Check that an expression needs no table but those of a class.

    Raises:
        InvalidArgumentError: it does: each record would come several times.
    """
    mapper = mapper_of(kind)
    own = {mapper.local_table, mapper.persist_selectable, *mapper.tables}
    for table in select(element).get_final_froms():
        if table not in own:
            raise InvalidArgumentError(
                f"An expression uses {getattr(table, 'name', 'a join')!s:.100}, where no {kind.__name__} is stored: "
                "each would come several times. Write it with has() or any() of a relationship, an EXISTS or an IN."
            )


class _Walk:
    """One walk through an expression. It goes by how an element is rendered: what it is not known for is refused."""

    def __init__(self, known: KnownTables, use: str) -> None:
        self._known, self._use = known, use
        self._seen: dict[int, Any] = {}  # keeps them: an id can come back else
        self._stars: set[int] = set()

    def visit(self, element: Any) -> None:
        if hasattr(element, "__clause_element__"):
            element = element.__clause_element__()
        if id(element) in self._seen:  # a recursive CTE is within itself
            return
        self._seen[id(element)] = element
        check = _CHECKS.get(element.__visit_name__)
        # `_compiler_dispatcher` is what sqlalchemy.ext.compiler leaves in a class with a rendering of its own.
        if check is None or hasattr(type(element), "_compiler_dispatcher"):
            raise UnsafeFilterError(
                f"A {type(element).__name__} can't be checked for secrets, so it can't be used here. Write the "
                "expression with columns of mapped classes, functions and values."
            )
        check(self, element)

    def children(self, element: Any) -> None:
        for child in element.get_children():
            if id(element) in self._stars and _is_star(child):
                continue
            self.visit(child)

    def row(self, source: Any) -> None:
        """Check a whole row: each of its columns."""
        self.visit(source)
        if source.__visit_name__ == "table":
            self._known.check_row(source, self._use)
        elif isinstance(getattr(source, "element", None), FromClause):
            self.row(source.element)

    def column(self, element: Any) -> None:
        source = element.table
        if source is None or getattr(element, "is_literal", False):
            raise UnsafeFilterError(f"{str(element)!r:.100} is a column of no table: use the attribute of a class.")
        self.column_of(source, element.key)

    def column_of(self, source: Any, key: str) -> None:
        if source.__visit_name__ == "table":
            self._known.check_column(source, key, self._use)
        elif source.__visit_name__ in ("alias", "tablesample", "lateral") and not isinstance(source.element, Select):
            self.column_of(source.element, key)
        else:
            self.visit(source)

    def table(self, element: Any) -> None:
        self._known.table(element)

    def select(self, element: Any) -> None:
        check_plain(element)
        stars = [column for column in element.selected_columns if id(element) in self._stars and _is_star(column)]
        for column in element.selected_columns:
            if not any(column is star for star in stars):
                self.visit(column)
        self.children(element)
        if stars:  # SQLAlchemy can't tell what else such a statement has
            element = element.with_only_columns(literal(1), maintain_column_froms=True)
        for told in element.column_descriptions:
            self.entity(told.get("entity"), told.get("expr"))
        for source in element.get_final_froms():  # tables that are joined by their foreign keys are joined here
            self.visit(source)

    def entity(self, entity: Any, shown: Any) -> None:
        """Check the columns of a whole object, and what is computed for it."""
        if entity is None or shown is not entity:
            return
        mapper = inspected(entity).mapper
        for each in mapper.self_and_descendants:
            for prop in each.column_attrs:
                for column in prop.columns:
                    self.visit(column)

    def plain(self, element: Any) -> None:
        check_plain(element)
        self.children(element)

    def function(self, element: Any) -> None:
        if isinstance(element, next_value):
            raise UnsafeFilterError("The next value of a sequence changes the database: it can't be used here.")
        for name in (*element.packagenames, element.name):
            check_name("function", str(name))
        if element.name == "count":
            self._stars.add(id(element.clauses))
        self.children(element)

    def operation(self, element: Any) -> None:
        for operator in (getattr(element, "operator", None), getattr(element, "modifier", None)):
            if isinstance(operator, custom_op):
                check_operator(operator.opstring)
        if getattr(element, "operator", None) is exists:
            self.star_in(element.element)
        self.children(element)

    def star_in(self, inner: Any) -> None:
        """Let an EXISTS select ``*`` or a number: it shows no column."""
        while not isinstance(inner, Select) and hasattr(inner, "element"):
            inner = inner.element
        self._stars.add(id(inner))

    def typed(self, element: Any) -> None:
        check_type(element.type)
        self.children(element)

    def extract(self, element: Any) -> None:
        check_name("field of EXTRACT", element.field, WORDS)
        self.children(element)

    def collation(self, element: Any) -> None:
        check_name("collation", str(element.collation), COLLATION)

    def window(self, element: Any) -> None:
        check_name("part of a window", getattr(element, "exclude", None) or "none", WORDS)
        self.children(element)

    def whole_row(self, element: Any) -> None:
        self.row(element.scalar_alias)

    def nothing(self, element: Any) -> None:
        pass


def _is_star(element: Any) -> bool:
    return getattr(element, "is_literal", False) and re.fullmatch(r"\*|\d+", str(element.name)) is not None


_CHECKS: dict[str, Callable[[_Walk, Any], None]] = {
    **dict.fromkeys(("null", "true", "false"), _Walk.nothing),
    **dict.fromkeys(
        ("clauselist", "element_list", "order_by_list", "tuple", "array", "grouping", "label", "label_reference"),
        _Walk.children,
    ),
    **dict.fromkeys(("case", "slice", "withingroup", "funcfilter", "frame_clause"), _Walk.children),
    **dict.fromkeys(("aggregateorderby", "aggregate_order_by"), _Walk.children),
    **dict.fromkeys(("unary", "binary", "expression_clauselist"), _Walk.operation),
    **dict.fromkeys(("bindparam", "cast", "try_cast", "type_coerce", "typeclause"), _Walk.typed),
    "over": _Walk.window,
    "extract": _Walk.extract,
    "collation": _Walk.collation,
    "function": _Walk.function,
    "column": _Walk.column,
    "table_valued_column": _Walk.whole_row,
    "table": _Walk.table,
    "select": _Walk.select,
    **dict.fromkeys(("cte", "compound_select", "memoized_select_entities"), _Walk.plain),
    **dict.fromkeys(("alias", "lateral", "tablesample", "subquery", "table_valued_alias", "join"), _Walk.children),
    "select_statement_grouping": _Walk.children,
}
