"""Semantic search that stands alone: one class, one database, one embedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from ffai.errors import ArgumentTypeError
from ffai.objects.declaration import declared_of
from ffai.objects.searching.backends import Storage, backend_of
from ffai.objects.searching.hit import Hit
from ffai.objects.searching.search import VectorSearch
from ffai.objects.steps import AsyncPlace, Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ffai.core.embeddings.protocol import Embedder

T = TypeVar("T")


class VectorIndex(Generic[T]):
    """Finds the records of one class by meaning.

    Methods that wait need an `Engine`; their twins, with ``a`` in front, an `AsyncEngine`. Options are those of
    `VectorSearch`.

    Args:
        engine: of the database of the records; the vectors lie beside them.
        kind: a mapped class with embedded fields.
        embedder: turns texts into vectors.
        scope: what of a class can be seen now: class to a function that returns a condition.
        storage: ``"process"``, or ``"native"`` for sqlite-vec and pgvector; see `backend_of`.

    Raises:
        ArgumentTypeError: the class is not mapped, or the engine is none.
        InvalidArgumentError: the class embeds nothing.

    Examples:
        >>> from sqlalchemy import String, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> from ffai.objects.declaration import AI, Embedded
        >>> from ffai.testing import FakeEmbedder
        >>> class Base(DeclarativeBase):
        ...     pass
        >>> class Note(Base):
        ...     __tablename__ = "notes"
        ...     __ai__ = AI(embedded=Embedded("text"))
        ...     id = mapped_column(String, primary_key=True)
        ...     text = mapped_column(String)
        >>> engine = create_engine("sqlite://")
        >>> Base.metadata.create_all(engine)
        >>> index = VectorIndex(engine, Note, FakeEmbedder(8))
        >>> index.create_all()
        >>> index.search("a red house")
        []
    """

    def __init__(
        self,
        engine: Engine | AsyncEngine,
        kind: type[T],
        embedder: Embedder,
        *,
        scope: Mapping[type, Callable[[], ColumnElement[bool]]] | None = None,
        storage: Storage = "process",
    ) -> None:
        from ffai.objects.filtering.tenancy import Tenancy

        if not isinstance(engine, (Engine, AsyncEngine)):
            raise ArgumentTypeError(f"engine must be an Engine or an AsyncEngine, not {type(engine).__name__}.")
        _ = declared_of(kind).embedded
        self.engine = engine
        self.backend = backend_of(engine, storage)
        self._search = VectorSearch(kind, embedder, self.backend, Tenancy(scope))

    def create_all(self) -> None:
        """Make the tables beside the records' own; vectors kept in another type of column are brought over."""
        with self._engine_that_waits().begin() as connection:
            self.backend.create_tables(connection)

    async def acreate_all(self) -> None:
        """Await `create_all`."""
        async with self._engine_that_is_awaited().begin() as connection:
            await connection.run_sync(self.backend.create_tables)

    def search(self, query: str, **options: Any) -> list[Hit[T]]:
        """Return the records whose text is closest to a query; see `VectorSearch.semantic_flow`."""
        return Place(self._engine_that_waits()).run(self._search.semantic_flow(query, **options))

    async def asearch(self, query: str, **options: Any) -> list[Hit[T]]:
        """Await `search`."""
        return await AsyncPlace(self._engine_that_is_awaited()).run(self._search.semantic_flow(query, **options))

    def similar(self, record_or_id: T | Any, **options: Any) -> list[Hit[T]]:
        """Return the records closest to one of them; see `VectorSearch.similar_flow`."""
        return Place(self._engine_that_waits()).run(self._search.similar_flow(record_or_id, **options))

    async def asimilar(self, record_or_id: T | Any, **options: Any) -> list[Hit[T]]:
        """Await `similar`."""
        return await AsyncPlace(self._engine_that_is_awaited()).run(self._search.similar_flow(record_or_id, **options))

    def to_vector(self, vector: Sequence[float] | NDArray[Any], **options: Any) -> list[Hit[T]]:
        """Return the records closest to a vector; see `VectorSearch.to_vector_flow`."""
        return Place(self._engine_that_waits()).run(self._search.to_vector_flow(vector, **options))

    async def ato_vector(self, vector: Sequence[float] | NDArray[Any], **options: Any) -> list[Hit[T]]:
        """Await `to_vector`."""
        return await AsyncPlace(self._engine_that_is_awaited()).run(self._search.to_vector_flow(vector, **options))

    def _engine_that_waits(self) -> Engine:
        if not isinstance(self.engine, Engine):
            raise ArgumentTypeError("This index has an AsyncEngine: call the method with `a` in front, and await it.")
        return self.engine

    def _engine_that_is_awaited(self) -> AsyncEngine:
        if not isinstance(self.engine, AsyncEngine):
            raise ArgumentTypeError("This index has an Engine that waits: call the method without `a` in front.")
        return self.engine
