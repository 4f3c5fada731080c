"""Which records are closest: what is compared, and in which order it comes out, the same from every storage.

Whoever compares roughly hands over the rows that can be among the best; they are scored again here, in double
precision. So ids, scores and order do not depend on where the rough work was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Dialect, Result, Select, Table, and_, select, type_coerce
from sqlalchemy.orm import Session
from sqlalchemy.types import NullType

from ffai.core.similarity import Vector, candidates, cosine, rounding_bound, unit
from ffai.objects.declaration import declared_of, mapper_of
from ffai.objects.owner import is_owned, key_column
from ffai.objects.tables import Float32Blob, as_floats
from ffai.objects.vectors.embedding import Space

PAGE = 512
"""Rows that are read at once: 20,000 of 384 dimensions take 53 ms so, and 69 ms by 1024, which leave the cache."""
SPARE = 32
"""Rows that a database is asked for beyond the limit, so that it is seen where near ties end."""
_SMALLEST = np.float32(1e-20)
"""Sums of squares below it have lost digits: such rows are scored in double precision."""
_DIGITS = 12
"""Scores that differ beyond are equal: that is rounding of the calculation."""

Run = Callable[..., Result[Any]]
"""Executes a statement: ``run(statement, execution_options=...)``."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is ranked: the records of a class within conditions, by one of their vectors."""

    kind: type[Any]
    dialect: Dialect
    field: str
    space: Space
    """Whose dimensions are those of the query."""
    query: Vector
    limit: int
    conditions: Sequence[ColumnElement[bool]] = ()
    """Every one holds for every record that is ranked."""
    without: str | None = None
    """The key of a record that is left out."""

    @property
    def error(self) -> float:
        """How far a score in single precision can be from the exact one."""
        return 2.0 * rounding_bound(self.query.size)

    def keys(self) -> list[Any]:
        """Return the attributes of the primary key."""
        mapper = mapper_of(self.kind)
        return [getattr(self.kind, mapper.get_property_by_column(column).key) for column in mapper.primary_key]

    @property
    def width(self) -> int:
        """How many columns the primary key has."""
        return len(mapper_of(self.kind).primary_key)

    def within(self, vectors: Table) -> list[ColumnElement[bool]]:
        """Return the conditions that a vector is one of those that are compared."""
        of_class = vectors.c.owner_type == declared_of(self.kind).owner_type
        return [of_class, vectors.c.field == self.field, *self.space.within(vectors)]

    def of_record(self, vectors: Table) -> ColumnElement[bool]:
        """Return the condition that a vector is the one of the record beside it.

        Where records are narrowed, they come first, and their vectors are looked up; else the vectors come first.
        """
        owner_id = vectors.c.owner_id
        narrowed = bool(self.conditions)
        its = owner_id == key_column(self.kind) if narrowed else is_owned(self.kind, owner_id, self.dialect)
        return and_(its, *self.within(vectors))

    def rows(self, vectors: Table, *columns: ColumnElement[Any]) -> Select[Any]:
        """Return the query of all that is ranked: the primary key, then the columns asked for."""
        keys = [key.label(f"key_{at}") for at, key in enumerate(self.keys())]
        found = select(*keys, *columns).select_from(self.kind).join(vectors, self.of_record(vectors))
        found = found.where(*self.conditions)
        return found if self.without is None else found.where(vectors.c.owner_id != self.without)


@dataclass(frozen=True, slots=True)
class Scored:
    """A record's primary key, and how close it is."""

    identity: tuple[Any, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """The closest records, best first; equals by primary key."""

    best: list[Scored]
    damaged: int = 0
    """Vectors that can't be read."""


class Best:
    """The closest rows of those that came by, exactly.

    Args:
        query: shape ``(dim,)``.
        limit: how many are kept.
        width: how many columns the primary key has.

    Examples:
        >>> best = Best(np.array([1.0, 0.0]), limit=1)
        >>> best.add([("a",), ("b",)], [np.float32([0, 1]).tobytes(), np.float32([2, 0]).tobytes()])
        >>> best.ranked()
        Ranked(best=[Scored(identity=('b',), similarity=1.0)], damaged=0)
    """

    def __init__(self, query: Vector, limit: int, width: int = 1) -> None:
        self._query, self._limit, self._width = query, limit, width
        self._rough_query = unit(query).astype(np.float32)
        self._error = 2.0 * rounding_bound(query.size)
        self._best: list[Scored] = []
        self._damaged = 0

    def add(self, identities: Sequence[Any], stored: Sequence[Any]) -> None:
        """Take a page of rows.

        Args:
            identities: the primary keys; whatever is beside them is passed over.
            stored: the vectors as the database gave them.
        """
        right_size = 4 * self._query.size
        if set(map(type, stored)) != {bytes} or set(map(len, stored)) != {right_size}:
            identities, stored = self._readable(identities, stored)
            if not stored:
                return
        matrix = np.frombuffer(b"".join(stored), dtype="<f4").reshape(-1, self._query.size)
        at = self._worth_scoring(matrix)
        scores = np.round(cosine(self._query, matrix[at]), _DIGITS).tolist()
        worst = self._best[-1].similarity if len(self._best) == self._limit else -np.inf
        near = [(row, score) for row, score in zip(at, scores, strict=True) if score >= worst]
        new = [Scored(tuple(identities[row][: self._width]), score) for row, score in near]
        if new:
            self._best = _in_order([*self._best, *new])[: self._limit]

    def add_rows(self, rows: Sequence[Any]) -> None:
        """Take a page of rows: the key's columns, the vector, and whatever else."""
        if rows:
            self.add(rows, [row[self._width] for row in rows])

    def ranked(self) -> Ranked:
        """Return what is best of all that was taken."""
        return Ranked(list(self._best), self._damaged)

    def _readable(self, identities: Sequence[Any], stored: Sequence[Any]) -> tuple[list[Any], list[bytes]]:
        floats = [as_floats(one) for one in stored]
        sound = [
            (identity, vector.tobytes())
            for identity, vector in zip(identities, floats, strict=True)
            if vector is not None and vector.size == self._query.size
        ]
        self._damaged += len(stored) - len(sound)
        return [identity for identity, _ in sound], [vector for _, vector in sound]

    def _worth_scoring(self, matrix: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the rows that can be among the best; counts those that hold no vector."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", matrix, matrix)
            plain = np.isfinite(squares) & (squares > _SMALLEST)
            at = np.flatnonzero(plain)
            rough = (matrix @ self._rough_query)[at] / np.sqrt(squares[at])
        chosen = candidates(rough, self._limit, self._error)
        if len(self._best) == self._limit:
            floor = np.float32(self._best[-1].similarity - self._error)
            chosen = chosen[rough[chosen] >= floor]
        odd = [row for row in np.flatnonzero(~plain) if as_floats(matrix[row]) is not None]
        self._damaged += len(matrix) - at.size - len(odd)
        return np.concatenate([at[chosen], np.asarray(odd, dtype=np.intp)])


def stored_in(vectors: Table) -> ColumnElement[Any]:
    """Return the column of vectors as it is read here: bytes without a call of Python for each."""
    column: ColumnElement[Any] = vectors.c.vector
    return type_coerce(column, NullType()).label("vector") if isinstance(column.type, Float32Blob) else column


def in_process(run: Run, vectors: Table, wanted: Wanted) -> Ranked:
    """Rank in this process: the vectors are read page by page."""
    best = Best(wanted.query, wanted.limit, wanted.width)
    _read(best, run(wanted.rows(vectors, stored_in(vectors)), execution_options={"yield_per": PAGE}))
    return best.ranked()


Ask = Callable[["Condition | None", "int | None"], Select[Any]]
"""Makes the query that a database ranks by: rows of the key, the vector and the distance; those without one first.

It is given a condition on the distance and a limit, each of which may be ``None``.
"""
Condition = Callable[[ColumnElement[float]], ColumnElement[bool]]


def in_database(run: Run, wanted: Wanted, ask: Ask) -> Ranked:
    """Rank in the database, and score again here what can be among the best."""
    best = Best(wanted.query, wanted.limit, wanted.width)
    asked = wanted.limit + SPARE
    rows: Sequence[Any] = run(ask(None, asked)).all()
    if rows and rows[0][-1] is None:  # what can't be compared there is looked at here, and is not to crowd out the rest
        _read(best, run(ask(lambda distance: distance.is_(None), None), execution_options={"yield_per": PAGE}))
        rows = run(ask(lambda distance: distance.is_not(None), asked)).all()
    if len(rows) == asked:
        reach = rows[wanted.limit - 1][-1] + 2.0 * wanted.error
        if rows[-1][-1] <= reach:
            within = ask(lambda distance: distance <= reach, None)
            _read(best, run(within, execution_options={"yield_per": PAGE}))
            return best.ranked()
    best.add_rows(rows)
    return best.ranked()


def _read(best: Best, result: Result[Any]) -> None:
    for page in result.partitions(PAGE):
        best.add_rows(page)


def _in_order(scored: Iterable[Scored]) -> list[Scored]:
    found = list(scored)
    try:
        return sorted(found, key=lambda one: (-one.similarity, one.identity))
    except TypeError:  # keys that have no order of their own
        return sorted(found, key=lambda one: (-one.similarity, tuple(map(str, one.identity))))


def connection_of(session: Session, kind: type[Any]) -> Connection:
    """Return the connection, within the session's transaction, to the database of a class."""
    return session.connection(bind_arguments={"mapper": mapper_of(kind)})


def run_of(session: Session, kind: type[Any]) -> Run:
    """Return what executes statements: a session with listeners of its own, else its connection, which is quicker."""
    listened: Any = session.dispatch
    if not listened.do_orm_execute:
        return connection_of(session, kind).execute
    return partial(session.execute, bind_arguments={"mapper": mapper_of(kind)})
