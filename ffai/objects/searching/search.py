"""Records by meaning: by a text, by another record, by a vector."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from ffai.chat.flow import Flow
from ffai.core.arguments import check_flag, check_number, check_text
from ffai.core.similarity import Vector, as_vector
from ffai.errors import BadVectorError, InvalidArgumentError
from ffai.objects.declaration import declared_of
from ffai.objects.searching.hit import Hit
from ffai.objects.searching.ranking import Wanted, connection_of
from ffai.objects.searching.source import check_size, identity_in, source_of, spaces_of
from ffai.objects.searching.winners import hits_of
from ffai.objects.steps import InDatabase, Step, given
from ffai.objects.vectors.embedding import Space, embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Table

    from ffai.core.embeddings.protocol import Embedder
    from ffai.objects.filtering.filters import Where
    from ffai.objects.filtering.tenancy import Tenancy
    from ffai.objects.searching.backends import Backend

logger = logging.getLogger(__name__)

T = TypeVar("T")

Stale = Literal["include", "exclude"]
"""Whether records are found whose text has changed since their vector was made."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a search was asked, checked."""

    field: str
    limit: int
    min_similarity: float
    may_see: Sequence[ColumnElement[bool]]
    where: Sequence[ColumnElement[bool]]
    stale: Stale


class VectorSearch(Generic[T]):
    """Finds the records of a class that are closest, among those that a tenant may see and a caller wants.

    Each method returns a flow, run by a `Place`. What is wrong with the arguments is raised at the call itself, before
    anything is embedded or read. All conditions hold before anything is ranked: there are as many hits as asked for,
    or as there are records.

    Args:
        kind: the class, with embedded fields.
        embedder: of the queries, and of the records' texts.
        backend: what compares vectors.
        tenancy: what of the class can be seen now.

    Examples:
        >>> from sqlalchemy import String, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> from ffai.objects.searching.backends import backend_of
        >>> from ffai.objects.declaration import AI, Embedded
        >>> from ffai.objects.steps import Place
        >>> from ffai.objects.filtering.tenancy import Tenancy
        >>> from ffai.testing import FakeEmbedder
        >>> class Base(DeclarativeBase): ...
        >>> class Letter(Base):
        ...     __tablename__ = "letters"
        ...     __ai__ = AI(embedded=Embedded("text"))
        ...     id = mapped_column(String, primary_key=True)
        ...     text = mapped_column(String)
        >>> engine = create_engine("sqlite://")
        >>> Base.metadata.create_all(engine)
        >>> backend = backend_of(engine)
        >>> with engine.begin() as connection:
        ...     backend.create_tables(connection)
        >>> search = VectorSearch(Letter, FakeEmbedder(8), backend, Tenancy())
        >>> Place(engine).run(search.semantic_flow("a red house", limit=3))
        []
        >>> search.semantic_flow(" ")
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: query is blank: ' '.
    """

    def __init__(self, kind: type[T], embedder: Embedder, backend: Backend, tenancy: Tenancy) -> None:
        self.kind, self.embedder, self.backend, self.tenancy = kind, embedder, backend, tenancy
        self._told: set[tuple[str, Space]] = set()

    def semantic_flow(
        self,
        query: str,
        *,
        field: str | None = None,
        limit: int = 10,
        min_similarity: float = 0.0,
        where: Where = None,
        stale: Stale = "include",
    ) -> Flow[Step, list[Hit[T]]]:
        """Make a flow that finds the records whose text is closest to a query.

        Args:
            query: what is looked for, in words.
            field: what is searched: an embedded field or a combined one; the first one where it is ``None``.
            limit: the most hits.
            min_similarity: the least similarity of a hit, in ``[-1, 1]``.
            where: which records; a mapping of columns to values, or a condition of SQLAlchemy.
            stale: ``"exclude"`` leaves out records whose text has changed since.

        Returns:
            A flow that gives the hits, closest first; equals by primary key.

        Raises:
            InvalidArgumentError: an argument has a value that can't be used.
            SensitiveFieldError, UnsafeFilterError: ``where`` is not to be used.
        """
        check_text("query", query)
        asked = self._asked(field, limit, min_similarity, where, stale)
        return self._semantic(query, asked)

    def similar_flow(
        self,
        record_or_id: T | Any,
        *,
        field: str | None = None,
        limit: int = 5,
        min_similarity: float = 0.0,
        where: Where = None,
        exclude_self: bool = True,
        stale: Stale = "include",
    ) -> Flow[Step, list[Hit[T]]]:
        """Make a flow that finds the records that are closest to a record, by its stored vector; see `semantic_flow`.

        Args:
            record_or_id: the record, or its primary key.
            field: as in `semantic_flow`.
            limit: as in `semantic_flow`.
            min_similarity: as in `semantic_flow`.
            where: which records are found; the one to start from need not be of them.
            exclude_self: whether the record itself is left out.
            stale: as in `semantic_flow`.

        Raises:
            InvalidArgumentError: an argument can't be used; when the flow runs, there is no such record for this
                tenant, or it has no vector.
        """
        asked = self._asked(field, limit, min_similarity, where, stale)
        check_flag("exclude_self", exclude_self)
        return self._similar(identity_in(self.kind, record_or_id), asked, exclude_self)

    def to_vector_flow(
        self,
        vector: Sequence[float] | NDArray[Any],
        *,
        field: str | None = None,
        limit: int = 10,
        min_similarity: float = 0.0,
        where: Where = None,
        stale: Stale = "include",
    ) -> Flow[Step, list[Hit[T]]]:
        """Make a flow that finds the records that are closest to a vector, of any length but zero.

        The options are those of `semantic_flow`.

        Raises:
            BadVectorError: the vector is zero, not finite, or not of the size that the embedder makes; where that size
                is not known, of none that is stored, when the flow runs.
        """
        asked = self._asked(field, limit, min_similarity, where, stale)
        query = as_vector(vector, Space.of(self.embedder).dimensions)
        if not query.any():
            raise BadVectorError("A vector of zeros has no direction: nothing is close to it.")
        return self._to_vector(query, asked)

    def _asked(self, field: str | None, limit: Any, min_similarity: float, where: Where, stale: Any) -> _Asked:
        from ffai.objects.filtering.filters import condition_of

        field = declared_of(self.kind).check_field(field)
        if isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 0:
            raise InvalidArgumentError(f"limit must be a whole number of at least 0, not {limit!r:.80}.")
        if check_number("min_similarity", min_similarity, least=-1.0) > 1.0:
            raise InvalidArgumentError(f"min_similarity must be between -1 and 1, not {min_similarity!r}.")
        if stale not in ("include", "exclude"):
            raise InvalidArgumentError(f"stale must be 'include' or 'exclude', not {stale!r:.80}.")
        may_see = self.tenancy.condition(self.kind)
        return _Asked(field, int(limit), float(min_similarity), may_see, condition_of(self.kind, where), stale)

    def _semantic(self, query: str, asked: _Asked) -> Flow[Step, list[Hit[T]]]:
        if not asked.limit:
            return []
        (row,) = yield from embedded(self.embedder, [query])
        wanted = self._wanted(asked, as_vector(row))
        hits: list[Hit[T]] = yield from given(InDatabase(lambda session: self._found(session, wanted, asked)))
        return hits

    def _similar(self, identity: tuple[Any, ...], asked: _Asked, exclude_self: bool) -> Flow[Step, list[Hit[T]]]:
        if not asked.limit:
            return []
        space = Space.of(self.embedder)

        def work(session: Session) -> list[Hit[T]]:
            vectors = self._vectors(session)
            source = source_of(session, vectors, self.kind, identity, asked.field, space, asked.may_see)
            wanted = self._wanted(asked, source.vector, without=source.key if exclude_self else None)
            return self._found(session, wanted, asked)

        hits: list[Hit[T]] = yield from given(InDatabase(work))
        return hits

    def _to_vector(self, query: Vector, asked: _Asked) -> Flow[Step, list[Hit[T]]]:
        if not asked.limit:
            return []
        wanted = self._wanted(asked, query)

        def work(session: Session) -> list[Hit[T]]:
            if Space.of(self.embedder).dimensions is None:
                check_size(session, self._vectors(session), wanted)
            return self._found(session, wanted, asked)

        hits: list[Hit[T]] = yield from given(InDatabase(work))
        return hits

    def _found(self, session: Session, wanted: Wanted, asked: _Asked) -> list[Hit[T]]:
        """Rank, load, and draw more where what was loaded is not wanted after all."""
        vectors, connection = self._vectors(session), connection_of(session, self.kind)
        hits: list[Hit[T]] = []
        loaded: set[tuple[Any, ...]] = set()
        drawn = wanted.limit
        while True:
            ranked = self.backend.rank(session, replace(wanted, limit=drawn))
            close = [one for one in ranked.best if one.similarity >= asked.min_similarity]
            new = hits_of(connection, vectors, wanted, [one for one in close if one.identity not in loaded])
            hits += [hit for hit in new if not (hit.stale and asked.stale == "exclude")]
            if len(hits) >= wanted.limit or len(close) < drawn:
                break
            loaded.update(one.identity for one in close)
            drawn *= 4
        if ranked.damaged:
            logger.warning("Left out %d damaged vectors of %s", ranked.damaged, self._name(wanted))
        if not ranked.best:
            self._say_where_else(session, vectors, wanted)
        return hits[: wanted.limit]

    def _say_where_else(self, session: Session, vectors: Table, wanted: Wanted) -> None:
        """Warn, once, that nothing is found because the vectors are those of another model."""
        if (wanted.field, wanted.space) in self._told:
            return
        others = spaces_of(session, vectors, wanted)
        if others and wanted.space not in others:
            self._told.add((wanted.field, wanted.space))
            logger.warning(
                "%s has no vectors of %s; there are vectors of %s. Run generate_missing_embeddings()",
                self._name(wanted),
                _shown(wanted.space),
                ", ".join(map(_shown, others)),
            )

    def _name(self, wanted: Wanted) -> str:
        return f"{self.kind.__name__}.{wanted.field}"

    def _wanted(self, asked: _Asked, query: Vector, without: str | None = None) -> Wanted:
        return Wanted(
            dialect=self.backend.dialect,
            kind=self.kind,
            field=asked.field,
            space=Space(Space.of(self.embedder).model, query.size),
            query=query,
            limit=asked.limit,
            conditions=[*asked.may_see, *asked.where],
            without=without,
        )

    def _vectors(self, session: Session) -> Table:
        return self.backend.prepared(connection_of(session, self.kind)).vectors


def _shown(space: Space) -> str:
    return f"{space.model!r} ({space.dimensions} dimensions)"
