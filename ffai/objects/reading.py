"""Reading records: the tenant's rule and the caller's conditions, behind the guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import ScalarResult, select

from ffai.chat.flow import Flow
from ffai.core.arguments import check_whole
from ffai.errors import InvalidArgumentError
from ffai.objects.declaration import mapper_of
from ffai.objects.filtering.filters import Where, condition_of
from ffai.objects.filtering.ordering import OrderBy, columns_of, order_of
from ffai.objects.filtering.tenancy import Tenancy
from ffai.objects.searching.source import identity_in
from ffai.objects.searching.winners import load_shown
from ffai.objects.steps import InDatabase, Step, given

T = TypeVar("T")


class Reading(Generic[T]):
    """Flows that read the records of one class.

    Args:
        kind: the class.
        tenancy: what can be seen now.
        is_apart: the records will be in no session, so that what a model is shown of them has to be loaded with them.
    """

    def __init__(self, kind: type[T], tenancy: Tenancy, *, is_apart: bool) -> None:
        self._kind, self._tenancy, self._is_apart = kind, tenancy, is_apart

    def get_flow(self, identity: Any) -> Flow[Step, T | None]:
        """Make a flow that gives the record with a primary key, or ``None``."""
        conditions = self._tenancy.condition(self._kind)
        try:
            values = identity_in(self._kind, identity)
        except InvalidArgumentError:  # no record can have such a key
            return None
        this = [column == value for column, value in zip(mapper_of(self._kind).primary_key, values, strict=True)]
        statement = select(self._kind).where(*this, *conditions)
        found: list[T] = yield from given(InDatabase(lambda session: self._loaded(session.scalars(statement))))
        return found[0] if found else None

    def list_flow(self, where: Where, order_by: OrderBy, limit: int | None, offset: int) -> Flow[Step, list[T]]:
        """Make a flow that gives records in order: that of ``order_by``, then of the primary key."""
        statement = self._narrowed(select(self._kind), where, order_by, limit, offset)
        return given(InDatabase(lambda session: self._loaded(session.scalars(statement))))

    def values_flow(
        self, columns: Sequence[str], where: Where, order_by: OrderBy, limit: int | None, offset: int
    ) -> Flow[Step, list[dict[str, Any]]]:
        """Make a flow that gives some columns of records."""
        statement = self._narrowed(select(*columns_of(self._kind, columns)), where, order_by, limit, offset)
        return given(
            InDatabase(lambda session: [dict(zip(columns, row, strict=True)) for row in session.execute(statement)])
        )

    def _loaded(self, rows: ScalarResult[T]) -> list[T]:
        records = list(rows.unique())
        if self._is_apart:
            load_shown(records)
        return records

    def _narrowed(self, statement: Any, where: Where, order_by: OrderBy, limit: int | None, offset: int) -> Any:
        check_whole("offset", offset, least=0)
        if limit is not None:
            check_whole("limit", limit, least=0)
        conditions = [*self._tenancy.condition(self._kind), *condition_of(self._kind, where)]
        return statement.where(*conditions).order_by(*order_of(self._kind, order_by)).limit(limit).offset(offset)
