"""The async twin of a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_object_session, async_sessionmaker
from sqlalchemy.orm import Session

from ffai.chat.flow import Flow
from ffai.core.arguments import check_timeout
from ffai.errors import ArgumentTypeError
from ffai.objects.async_collection import AsyncCollection
from ffai.objects.binding import bind, came_from, check_unbound, remember_stores, store_of_session
from ffai.objects.creating import create_all, metadata_of
from ffai.objects.declaration import declared_of
from ffai.objects.has_memory import Owned
from ffai.objects.memory.record_memory import RecordMemory
from ffai.objects.steps import AsyncPlace, Step
from ffai.objects.vectors.async_worker import AsyncWorker
from ffai.objects.vectors.generation import Generation
from ffai.objects.vectors.worker import Drained, runs_beside
from ffai.objects.wiring import Wiring

if TYPE_CHECKING:
    from ffai.core.embeddings.protocol import Embedder
    from ffai.objects.settings import StoreSettings
    from ffai.objects.vectors.backfill import Backfill
    from ffai.objects.vectors.progress import OnProgress
    from ffai.objects.vectors.status import Status

T = TypeVar("T")
R = TypeVar("R")


class AsyncStore:
    """A `Store` whose engine is awaited: its methods and those of its collections are coroutines of the same names.

    The arguments are those of `Store`; ``engine`` is SQLAlchemy's ``create_async_engine(...)``. Connections belong to a
    loop, so texts are embedded by a task of the loop that commits; the model works beside it. Jobs that are left when
    the loop ends are done by the next one.

    Examples:
        >>> import asyncio
        >>> from sqlalchemy.ext.asyncio import create_async_engine
        >>> from ffai.testing import FakeEmbedder
        >>> async def main():
        ...     async with AsyncStore(create_async_engine("sqlite+aiosqlite://"), embedder=FakeEmbedder()) as store:
        ...         await store.create_all()
        ...         return store.backend
        >>> asyncio.run(main())
        'process'
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        llm: Any = None,
        embedder: Embedder | None = None,
        scope: Mapping[type[Any], Callable[[], Any]] | None = None,
        settings: StoreSettings | Mapping[str, Any] | None = None,
        cache: MutableMapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(engine, AsyncEngine):
            raise ArgumentTypeError(
                f"engine must be SQLAlchemy's create_async_engine(...), not {type(engine).__name__} {engine!r:.80}. "
                "An engine that waits needs a Store."
            )
        self.engine = engine
        self.wiring = Wiring(
            engine.sync_engine, llm=llm, embedder=embedder, scope=scope, settings=settings, cache=cache
        )
        self._work = self.wiring.work()
        beside = self.wiring.settings.generate == "background" and runs_beside(engine)
        self._worker = AsyncWorker(engine, self._work, in_call=not beside)
        self._changes = self.wiring.changes(self._worker.wake)
        self._sessions = async_sessionmaker(engine, expire_on_commit=False)
        self.attach(self._sessions)

    @property
    def backend(self) -> str:
        """What compares vectors: ``"process"``, ``"sqlite-vec"`` or ``"pgvector"``."""
        return self.wiring.backend.name

    async def create_all(self, *bases: Any) -> None:
        """Await :meth:`Store.create_all`."""
        tables = [metadata_of(base) for base in bases]
        async with self.engine.begin() as connection:
            await connection.run_sync(create_all, self.wiring.backend, tables)

    def __getitem__(self, kind: type[T]) -> AsyncCollection[T]:
        """Return the records of a class.

        Raises:
            ArgumentTypeError: the class is not mapped.
        """
        self._meet(kind)
        return AsyncCollection(self, kind)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Open a session whose records belong to the store; it commits at the end, or is rolled back on an error."""
        async with self._sessions() as session:
            yield session
            await session.commit()

    def attach(self, sessions: async_sessionmaker[Any] | AsyncSession) -> None:
        """Let the records of your own sessions belong to the store.

        Args:
            sessions: an ``async_sessionmaker``, or one session.

        Raises:
            ArgumentTypeError: it is neither; or the session belongs to another store.
        """
        if isinstance(sessions, AsyncSession):
            if store_of_session(sessions.sync_session) is self:
                return
            check_unbound(sessions.sync_session)
            sessions.info.update(bind(self))
            self._listen(sessions.sync_session)
        elif isinstance(sessions, async_sessionmaker):
            info = {**sessions.kw.get("info", {}), **bind(self)}
            own: type[Session] = sessions.kw.get("sync_session_class") or Session
            listened = type("StoreSession", (own,), {})
            sessions.configure(info=info, sync_session_class=listened)
            self._listen(listened)
        else:
            raise ArgumentTypeError(
                f"attach() takes an async_sessionmaker or an AsyncSession, not {type(sessions).__name__}."
            )

    def _listen(self, target: Any) -> None:
        remember_stores(target)
        self._changes.watch(target)

    # Vectors

    async def drain(self, timeout: float | None = None) -> Drained:
        """Await :meth:`Store.drain`."""
        return await self._worker.drain(check_timeout(timeout))

    async def status(self, kind: type[Any]) -> Status:
        """Await :meth:`Store.status`."""
        self._meet(kind)
        return await AsyncPlace(self.engine).run(self.wiring.status_flow(kind))

    async def retry_failed(self) -> int:
        """Await :meth:`Store.retry_failed`."""
        count = await AsyncPlace(self.engine).run(self._work.retry_flow())
        self._worker.wake()
        return count

    async def reindex(
        self, kind: type[Any], *, batch_size: int = 50, on_progress: OnProgress | None = None
    ) -> Backfill:
        """Await :meth:`Store.reindex`."""
        self._meet(kind)
        return await AsyncPlace(self.engine).run(self.wiring.reindex_flow(kind, batch_size, on_progress))

    async def build_index(self, kind: type[Any], field: str | None = None) -> None:
        """Await :meth:`Store.build_index`."""
        await AsyncPlace(self.engine).run(self.wiring.index_flow(kind, field))

    async def purge_expired(self) -> int:
        """Await :meth:`Store.purge_expired`."""
        return await self.memory_in().apurge_expired()

    async def close(self, timeout: float | None = 5.0) -> None:
        """Await :meth:`Store.close`."""
        await self._worker.close(check_timeout(timeout))

    # Whose flows are run where

    def memory_in(self, session: AsyncSession | None = None) -> RecordMemory:
        """Return what records and classes remember, within a session's transaction where one is given."""
        return RecordMemory(
            self.engine, tables=self.wiring.backend.tables, tenancy=self.wiring.tenancy, session=session
        )

    def owned(self, record: object) -> Owned:
        """Return the memories of a record."""
        return Owned(self.memory_in(self._session_of(record)), record)

    async def run(self, record: object, flow: Flow[Step, R]) -> R:
        """Run a flow about a record: within its session's transaction, where that is one of the store."""
        return await AsyncPlace(self.engine, self._session_of(record)).run(flow)

    async def with_vectors(self, record: object, make: Callable[[Generation], Flow[Step, R]]) -> R:
        """Run a flow about the vectors of a record."""
        return await self.run(record, self.wiring.generation_flow(type(record), make))

    def _session_of(self, record: object) -> AsyncSession | None:
        session = async_object_session(record)
        return session if session is not None and store_of_session(session.sync_session) is self else None

    def noted(self, records: list[T]) -> list[T]:
        """Note that records which are in no session come from the store, and return them."""
        for record in records:
            if async_object_session(record) is None:
                came_from(record, self)
        return records

    def _meet(self, kind: type[Any]) -> None:
        declared_of(kind)
        self.wiring.kinds.meet(kind)

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
