"""Which records can be seen now: a rule for each class, and nothing where a rule does not say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import BindParameter, Column, ColumnElement, and_, select
from sqlalchemy.orm import Session
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression, BooleanClauseList, ClauseElement, Grouping

from ffai.errors import ArgumentTypeError, InvalidArgumentError, ScopeValidationError, Violation
from ffai.objects.declaration import mapper_of
from ffai.objects.filtering.guard import check_tables
from ffai.objects.owner import identity_of

Rule = Callable[[], ColumnElement[bool]]
"""What can be seen now: ``lambda: Article.tenant_id == current_tenant.get()``. It is asked each time."""


class Tenancy:
    """The rules of what can be seen, class by class.

    The rules of the classes that a class inherits from hold for it too. A rule is code of the app: it may use any
    column. What it raises is raised, such as the `LookupError` of an empty `ContextVar`.

    Args:
        rules: class to a function that returns a condition.

    Raises:
        ArgumentTypeError: a class is not mapped, or a rule can't be called.

    Examples:
        >>> from sqlalchemy import Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Letter(Base):
        ...     __tablename__ = "letters"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     tenant = mapped_column(String, nullable=False)
        >>> now = {"tenant": "a"}
        >>> tenancy = Tenancy({Letter: lambda: Letter.tenant == now["tenant"]})
        >>> str(tenancy.condition(Letter)[0]), tenancy.tenant(Letter)
        ('letters.tenant = :tenant_1', 'a')
        >>> now["tenant"] = None
        >>> tenancy.condition(Letter)
        Traceback (most recent call last):
            ...
        ffai.errors.ScopeValidationError: No tenant is set: the rule of Letter gave 'letters.tenant IS NULL'...
    """

    def __init__(self, rules: Mapping[type[Any], Rule] | None = None) -> None:
        if rules is not None and not isinstance(rules, Mapping):
            raise ArgumentTypeError(f"scope must map classes to rules, not {type(rules).__name__} {rules!r:.100}.")
        self._rules = dict(rules or {})
        for kind, rule in self._rules.items():
            name = mapper_of(kind).class_.__name__
            if not callable(rule):
                raise ArgumentTypeError(
                    f"scope[{name}] must be a function that returns a condition, not {type(rule).__name__} "
                    f"{rule!s:.100}. Write lambda: {name}.tenant_id == ..."
                )

    def condition(self, kind: type[Any]) -> list[ColumnElement[bool]]:
        """Return what a record of a class must meet to be seen now; nothing where no rule is.

        A rule that gave ``None``, ``True`` or ``False`` does not say who asks, and neither does a comparison with
        ``None`` that is the whole rule, or is of a column that is never empty. A comparison of another column with
        ``None``, beside other conditions, can't be told from one that is meant, such as ``deleted_at IS NULL``: let the
        rule raise where no tenant is set.

        Raises:
            ScopeValidationError: the rule does not say who asks.
            ArgumentTypeError: the rule gave something that is no condition.
            InvalidArgumentError: it needs tables that the class is not stored in.
        """
        return [_checked(owner, rule()) for owner, rule in self._of(kind)]

    def tenant(self, kind: type[Any]) -> str:
        """Return a text that is the same for the same tenant, in every process; ``""`` where no rule is.

        It is the value that the rule compares one column with. Of another rule it is a hash of the rule and its values,
        which must have a `repr` that tells them.

        Raises:
            ScopeValidationError, ArgumentTypeError: see `condition`.
        """
        conditions = self.condition(kind)
        if not conditions:
            return ""
        parts = [part for condition in conditions for part in _parts(condition)]
        telling = [part for part in parts if not _is_null_test(part)]
        value = _compared_with(telling[0]) if len(telling) == 1 else None
        return str(value) if value not in (None, "") else _hash(and_(*conditions))

    def _of(self, kind: type[Any]) -> Iterator[tuple[type[Any], Rule]]:
        for each in mapper_of(kind).class_.__mro__:
            if each in self._rules:
                yield each, self._rules[each]


def check_visible(session: Session, record: object, tenancy: Tenancy) -> None:
    """Check that a record can be seen now. Asks the database, unless no rule is for its class.

    Raises:
        InvalidArgumentError: it can't: the message is that of a record which is not there.
        ScopeValidationError, ArgumentTypeError: see `Tenancy.condition`.
    """
    kind = type(record)
    conditions = tenancy.condition(kind)
    if not conditions:
        return
    mapper, identity = mapper_of(kind), identity_of(record)
    same = [column == value for column, value in zip(mapper.primary_key, identity, strict=True)]
    if session.execute(select(*mapper.primary_key).select_from(kind).where(*same, *conditions)).first() is None:
        raise not_there(kind, identity)


def not_there(kind: type[Any], identity: object) -> InvalidArgumentError:
    """Return the error of a record that is not there, or that can't be seen.

    Args:
        kind: the mapped class.
        identity: the value of the key; a tuple where it has more than one column.

    Examples:
        >>> not_there(dict, ("a-1",))
        InvalidArgumentError("There is no dict 'a-1'.")
    """
    shown = identity[0] if isinstance(identity, tuple) and len(identity) == 1 else identity
    return InvalidArgumentError(f"There is no {kind.__name__} {shown!r:.100}.")


def _checked(kind: type[Any], given: Any) -> ColumnElement[bool]:
    name = kind.__name__
    if given is None or isinstance(given, bool):
        raise _unset(name, repr(given))
    condition = given.__clause_element__() if hasattr(given, "__clause_element__") else given
    if isinstance(condition, type) or not isinstance(condition, ColumnElement):
        told = str(given) if isinstance(given, ClauseElement) else repr(given)
        raise ArgumentTypeError(
            f"The rule of {name} must return a condition, not {type(given).__name__} {told:.100}. "
            f"Write lambda: {name}.tenant_id == ..."
        )
    check_tables(kind, condition)
    parts = list(_parts(condition))
    if all(_is_null(part) for part in parts) or any(_is_null(part) and _is_never_empty(part) for part in parts):
        raise _unset(name, repr(str(condition)))
    return condition


def _unset(name: str, told: str) -> ScopeValidationError:
    message = f"No tenant is set: the rule of {name} gave {told:.200}, which would not tell one from another"
    return ScopeValidationError([Violation("scope", "required", message)])


def _parts(condition: Any) -> Iterator[Any]:
    """Yield the conditions that all must hold."""
    while isinstance(condition, Grouping):
        condition = condition.element
    if isinstance(condition, BooleanClauseList) and condition.operator is operators.and_:
        for part in condition.clauses:
            yield from _parts(part)
    else:
        yield condition


def _is_null(part: Any) -> bool:
    return getattr(part, "operator", None) is operators.is_ and part.right.__visit_name__ == "null"


def _is_null_test(part: Any) -> bool:
    return _is_null(part) or (
        getattr(part, "operator", None) is operators.is_not and part.right.__visit_name__ == "null"
    )


def _is_never_empty(part: Any) -> bool:
    return isinstance(part.left, Column) and not part.left.nullable


def _compared_with(part: Any) -> Any:
    if not isinstance(part, BinaryExpression) or part.operator is not operators.eq:
        return None
    sides = (part.left, part.right)
    columns = [side for side in sides if isinstance(side, Column)]
    values = [side for side in sides if isinstance(side, BindParameter)]
    return values[0].effective_value if len(columns) == len(values) == 1 else None


def _hash(condition: ColumnElement[bool]) -> str:
    compiled = condition.compile()
    params = sorted((name, _shown(value)) for name, value in compiled.params.items())
    return hashlib.sha256(f"{compiled}\n{params!r}".encode("utf-8", "surrogatepass")).hexdigest()


def _shown(value: Any) -> str:
    """Return a value as text. Those of an IN have no order: a set has another one in every process."""
    return repr(sorted(map(repr, value))) if isinstance(value, (list, tuple, set, frozenset)) else repr(value)
