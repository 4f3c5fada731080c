"""Whose a memory is: a record's, or that of a class as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from ffai.objects.declaration import declared_of, mapper_of
from ffai.objects.filtering.tenancy import not_there
from ffai.objects.owner import Owner, identity_of, owner_of


class Rules(Protocol):
    """What of each class can be seen now."""

    def condition(self, kind: type) -> Sequence[ColumnElement[bool]]:
        """Return the conditions on records of a class; none where it has no rule."""
        ...

    def tenant(self, kind: type) -> str:
        """Return who is looking, as text; the empty text where the class has no rule."""
        ...


def whose_owner(whose: object, rules: Rules | None = None) -> Callable[[Session], Owner]:
    """Return what finds the owner of memories within a session.

    Args:
        whose: a record, for memories of its own; or a mapped class, for those of all its records together. The latter
            are filed apart for each tenant.
        rules: what can be seen now.

    Raises:
        ArgumentTypeError: it is neither.
        InvalidArgumentError: (from what is returned) the record has no primary key, or can't be seen.

    Examples:
        >>> from sqlalchemy import Column, String
        >>> from sqlalchemy.orm import DeclarativeBase
        >>> class Base(DeclarativeBase): pass
        >>> class Parser(Base):
        ...     __tablename__ = "parsers"
        ...     id = Column(String, primary_key=True)
        >>> whose_owner(Parser)(Session())
        Owner(type='parsers[]', id='', tenant='')
    """
    if isinstance(whose, type):
        owner = Owner(f"{declared_of(whose).owner_type}[]", "", rules.tenant(whose) if rules is not None else "")
        return lambda _: owner
    kind = type(whose)
    declared_of(kind)
    conditions = list(rules.condition(kind)) if rules is not None else []

    def of_record(session: Session) -> Owner:
        if conditions:
            _check_visible(session, whose, conditions)
        return owner_of(whose, session.get_bind().dialect)

    return of_record


def _check_visible(session: Session, record: object, conditions: Sequence[ColumnElement[bool]]) -> None:
    kind: type[Any] = type(record)
    keys, identity = mapper_of(kind).primary_key, identity_of(record)
    same = and_(*(column == value for column, value in zip(keys, identity, strict=True)))
    if session.execute(select(*keys).select_from(kind).where(same, *conditions)).first() is None:
        raise not_there(kind, identity)
