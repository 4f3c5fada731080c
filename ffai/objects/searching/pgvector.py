"""pgvector: Postgres compares the vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Double,
    Index,
    Select,
    Table,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from ffai._lazy import require
from ffai.errors import ConfigError, InvalidArgumentError, MissingExtraError
from ffai.objects.declaration import declared_of
from ffai.objects.searching.backends import NativeBackend
from ffai.objects.searching.ranking import SPARE, Best, Condition, Ranked, Run, Wanted, in_database
from ffai.objects.tables import Tables
from ffai.objects.vectors.embedding import Space

EXACT_UP_TO = 50_000
"""Candidates that are all compared, even where there is an index: fewer are quick, and an index may miss some."""

_WIDE, _WIDEST = 200, 1000
"""Rows that the index looks among at once: more are missed by fewer. It takes no more than 1000."""
_USUAL = {"hnsw.iterative_scan": "off", "hnsw.ef_search": "40"}


class Pgvector(NativeBackend):
    """Ranks with ``<=>``, exactly: conditions first, then distances.

    An index is used where `create_index` has made one and there is much to rank.

    Args:
        dialect: of the database.
        exact_up_to: candidates that are all compared, even where there is an index.

    Examples:
        >>> from sqlalchemy.dialects.postgresql import dialect
        >>> Pgvector(dialect()).name
        'pgvector'
    """

    wanted_name = "pgvector"
    _missing: MissingExtraError | None = None

    def __init__(self, dialect: Dialect, *, exact_up_to: int = EXACT_UP_TO) -> None:
        self._exact_up_to = exact_up_to
        super().__init__(dialect)
        if self._missing is not None:
            self.give_up(self._missing)

    def vector_type(self) -> TypeEngine[Any] | None:
        """Return pgvector's type, for vectors of any size."""
        try:
            found: TypeEngine[Any] = _vector_of(None)
        except MissingExtraError as error:
            self._missing = error
            return None
        return found

    def install(self, connection: Connection) -> None:
        """Bring the extension into the database."""
        if self.name != self.wanted_name:
            return
        try:
            with connection.begin_nested():
                connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        except DBAPIError as error:
            self.give_up(error.orig)

    def prepared(self, connection: Connection) -> Tables:
        """Return the tables. Where the server has no pgvector, they keep bytes."""
        try:
            return super().prepared(connection)
        except ConfigError:
            if self.name != self.wanted_name or _offered(connection):
                raise
            self.give_up("this server has no pgvector")
            return super().prepared(connection)

    def apart(self, connection: Connection) -> AbstractContextManager[Any]:
        """Return a savepoint: a statement that fails would else end the caller's transaction."""
        return connection.begin_nested()

    def rank_there(self, run: Run, wanted: Wanted) -> Ranked:
        """Rank in Postgres."""
        if self._has_index(run, wanted) and self._many(run, wanted):
            found = self._rank_by_index(run, wanted)
            if len(found.best) == wanted.limit:
                return found
        return in_database(run, wanted, self._asking(wanted))

    def create_index(self, connection: Connection, kind: type[Any], field: str, space: Space) -> None:
        """Make the index of one field's vectors, approximate: for hundreds of thousands of records.

        Args:
            connection: to the database.
            kind: the class.
            field: what is searched by.
            space: whose vectors; its dimensions are known.

        Raises:
            ConfigError: pgvector is not what compares vectors here.
            InvalidArgumentError: the field is not embedded, or the dimensions are not known.
        """
        self.prepared(connection)
        if self.name != self.wanted_name:
            raise ConfigError("objects", "storage", f"an index needs pgvector; {self.name!r} compares vectors here.")
        if space.dimensions is None:
            raise InvalidArgumentError(f"An index is of one size; the dimensions of {space.model!r} are not known.")
        field = declared_of(kind).check_field(field)
        vectors = Tables(_vector_of(None)).vectors  # not the ones in use: they would have the index from then on
        Index(
            _index_name(kind, field, space),
            cast(vectors.c.vector, _vector_of(space.dimensions)).label("cut"),
            postgresql_using="hnsw",
            postgresql_ops={"cut": "vector_cosine_ops"},
            postgresql_where=and_(*_of(vectors, kind, field, space)),
        ).create(connection, checkfirst=True)

    def _asking(self, wanted: Wanted) -> Any:
        vectors = self.tables.vectors
        right_size = func.vector_dims(vectors.c.vector) == wanted.query.size  # of another size the cast would raise
        no_number = cast(literal("NaN"), Double)  # the distance of a zero vector
        distance = case((right_size, func.nullif(_distance(vectors.c.vector, wanted), no_number)))
        keys = [vectors.c.owner_type, vectors.c.owner_id, vectors.c.field, vectors.c.model, vectors.c.dimensions]
        scoped = wanted.rows(vectors, *keys, distance.label("distance")).cte("scoped").prefix_with("MATERIALIZED")

        def ask(condition: Condition | None, limit: int | None) -> Select[Any]:
            nearest = select(scoped)
            if condition is not None:
                nearest = nearest.where(condition(scoped.c.distance))
            if limit is not None:
                nearest = nearest.order_by(scoped.c.distance.nulls_first()).limit(limit)
            best = nearest.subquery("best")
            identity = [best.c[f"key_{at}"] for at in range(wanted.width)]
            found = select(*identity, vectors.c.vector, best.c.distance)
            joined = [best.c[key.name] == key for key in keys]
            return found.join(vectors, and_(*joined)).order_by(best.c.distance.nulls_first())

        return ask

    def _has_index(self, run: Run, wanted: Wanted) -> bool:
        name = _index_name(wanted.kind, wanted.field, wanted.space)
        return run(select(func.to_regclass(name).is_not(None))).scalar() is True

    def _many(self, run: Run, wanted: Wanted) -> bool:
        some = wanted.rows(self.tables.vectors).limit(self._exact_up_to + 1).subquery()
        counted: int = run(select(func.count()).select_from(some)).scalar_one()
        return counted > self._exact_up_to

    def _rank_by_index(self, run: Run, wanted: Wanted) -> Ranked:
        """Rank roughly: the index goes on until enough rows pass the conditions, or it is at its end."""
        vectors = self.tables.vectors
        distance = _distance(vectors.c.vector, wanted)
        as_indexed = _of(vectors, wanted.kind, wanted.field, wanted.space, literal_execute=True)
        nearest = wanted.rows(vectors, vectors.c.vector).where(*as_indexed).order_by(distance)
        asked = wanted.limit + SPARE
        wide = str(min(max(_WIDE, 4 * asked), _WIDEST))
        before = _set(run, {"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": wide})
        best = Best(wanted.query, wanted.limit, wanted.width)
        best.add_rows(run(nearest.limit(asked)).all())
        _set(run, before)
        return best.ranked()


def _set(run: Run, values: Mapping[str, str]) -> dict[str, str]:
    """Set what holds for the transaction; return what was set before."""
    before = {name: run(select(func.current_setting(name, True))).scalar() or _USUAL[name] for name in values}
    for name, value in values.items():
        run(select(func.set_config(name, value, True)))
    return before


def _vector_of(dimensions: int | None) -> Any:
    require("pgvector", extra="postgres")
    return require("pgvector.sqlalchemy", extra="postgres").VECTOR(dimensions)


def _distance(vector: ColumnElement[Any], wanted: Wanted) -> ColumnElement[float]:
    cut = _vector_of(wanted.query.size)
    query = bindparam("ffai_query", wanted.query.tolist(), type_=cut)
    return cast(vector, cut).op("<=>", return_type=Double())(cast(query, cut))


def _of(
    vectors: Table, kind: type[Any], field: str, space: Space, *, literal_execute: bool = False
) -> list[ColumnElement[bool]]:
    """Return the conditions of an index; a query has to have the same, with the values written out."""
    values = {
        "owner_type": declared_of(kind).owner_type,
        "field": field,
        "model": space.model,
        "dimensions": space.dimensions,
    }
    return [
        vectors.c[name] == bindparam(None, value, literal_execute=literal_execute) for name, value in values.items()
    ]


def _index_name(kind: type[Any], field: str, space: Space) -> str:
    told = "\n".join((declared_of(kind).owner_type, field, space.model, str(space.dimensions)))
    return f"ix_ai_vectors_hnsw_{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _offered(connection: Connection) -> bool:
    found = connection.execute(text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")).scalar()
    return bool(found)
