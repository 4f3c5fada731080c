"""The async twin of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from ffai.chat.flow import Flow
from ffai.core.arguments import known_keywords
from ffai.objects.has_memory import AwaitedHasMemory, Owned
from ffai.objects.reading import Reading
from ffai.objects.searching.options import Near, Similar
from ffai.objects.steps import AsyncPlace, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy.ext.asyncio import AsyncSession

    from ffai.objects.async_store import AsyncStore
    from ffai.objects.filtering.filters import Where
    from ffai.objects.filtering.ordering import OrderBy
    from ffai.objects.searching.hit import Hit
    from ffai.objects.vectors.backfill import Backfill
    from ffai.objects.vectors.progress import OnProgress

T = TypeVar("T")
R = TypeVar("R")


class AsyncCollection(AwaitedHasMemory, Generic[T]):
    """A `Collection` whose database and model are awaited: what a class of an `AsyncStore` gives."""

    def __init__(self, store: AsyncStore, kind: type[T], session: AsyncSession | None = None) -> None:
        self._store, self._kind = store, kind
        self._place = AsyncPlace(store.engine, session)
        self._reading: Reading[T] = Reading(kind, store.wiring.tenancy, is_apart=session is None)

    def bind(self, session: AsyncSession) -> AsyncCollection[T]:
        """Return the same collection within a session's transaction."""
        self._store.attach(session)
        return AsyncCollection(self._store, self._kind, session)

    # Reading

    async def get(self, identity: Any) -> T | None:
        """Await :meth:`Collection.get`."""
        found = await self._run(self._reading.get_flow(identity))
        return None if found is None else self._noted([found])[0]

    async def values(
        self,
        columns: Sequence[str],
        *,
        where: Where = None,
        order_by: OrderBy = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Await :meth:`Collection.values`."""
        return await self._run(self._reading.values_flow(columns, where, order_by, limit, offset))

    # Searching

    async def semantic_search(self, query: str, **options: Unpack[Near]) -> list[Hit[T]]:
        """Await :meth:`Collection.semantic_search`."""
        known = known_keywords("semantic_search", options, Near)
        return await self._hits(self._store.wiring.search(self._kind).semantic_flow(query, **known))

    search = semantic_search

    async def find_similar(self, record: T | Any, **options: Unpack[Similar]) -> list[Hit[T]]:
        """Await :meth:`Collection.find_similar`."""
        known = known_keywords("find_similar", options, Similar)
        return await self._hits(self._store.wiring.search(self._kind).similar_flow(record, **known))

    async def find_similar_to_vector(
        self, vector: Sequence[float] | NDArray[Any], **options: Unpack[Near]
    ) -> list[Hit[T]]:
        """Await :meth:`Collection.find_similar_to_vector`."""
        known = known_keywords("find_similar_to_vector", options, Near)
        return await self._hits(self._store.wiring.search(self._kind).to_vector_flow(vector, **known))

    # Asking

    async def is_many(
        self,
        records: Iterable[T],
        criteria: str,
        *,
        concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Await :meth:`Collection.is_many`."""
        return await self._store.wiring.asker.ais_many(
            records, criteria, concurrency=concurrency, return_exceptions=return_exceptions, **options
        )

    # Vectors

    async def generate_missing_embeddings(
        self, *, batch_size: int = 50, on_progress: OnProgress | None = None
    ) -> Backfill:
        """Await :meth:`Collection.generate_missing_embeddings`."""
        flow = self._store.wiring.backfill_flow(self._kind, batch_size=batch_size, on_progress=on_progress)
        return await self._run(flow)

    backfill = generate_missing_embeddings

    def _owned(self) -> Owned:
        return Owned(self._store.memory_in(self._place.session), self._kind)

    async def _run(self, flow: Flow[Step, R]) -> R:
        return await self._place.run(flow)

    async def _hits(self, flow: Flow[Step, list[Hit[T]]]) -> list[Hit[T]]:
        hits = await self._run(flow)
        self._noted([hit.record for hit in hits])
        return hits

    def _noted(self, records: list[T]) -> list[T]:
        return self._store.noted(records)

    async def list(
        self, *, where: Where = None, order_by: OrderBy = None, limit: int | None = None, offset: int = 0
    ) -> list[T]:
        """Await :meth:`Collection._remembers`."""
        return self._noted(await self._run(self._reading.list_flow(where, order_by, limit, offset)))
