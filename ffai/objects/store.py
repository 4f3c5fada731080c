"""A database whose records can be asked about, searched and remembered for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from sqlalchemy import Engine
from sqlalchemy.orm import Session, object_session, sessionmaker

from ffai.chat.flow import Flow
from ffai.core.arguments import check_timeout
from ffai.errors import ArgumentTypeError
from ffai.objects.binding import bind, came_from, check_unbound, remember_stores, store_of_session
from ffai.objects.collection import Collection
from ffai.objects.creating import create_all, metadata_of
from ffai.objects.declaration import declared_of
from ffai.objects.has_memory import Owned
from ffai.objects.memory.record_memory import RecordMemory
from ffai.objects.steps import Place, Step
from ffai.objects.vectors.generation import Generation
from ffai.objects.vectors.worker import Drained, InCall, Worker, runs_beside
from ffai.objects.wiring import Wiring

if TYPE_CHECKING:
    from ffai.core.embeddings.protocol import Embedder
    from ffai.objects.settings import StoreSettings
    from ffai.objects.vectors.backfill import Backfill
    from ffai.objects.vectors.progress import OnProgress
    from ffai.objects.vectors.status import Status

T = TypeVar("T")
R = TypeVar("R")


class Store:
    """A database whose records can be asked about, searched and remembered for. Its engine waits; see `AsyncStore`.

    The tables of the records stay as they are. Beside them are three others, made by `create_all`: vectors, the jobs
    to make them, and memories. A change of a record writes its job in the same transaction; one thread embeds beside
    the program, and the jobs that it leaves at the end are done by the next one.

    Args:
        engine: of the database.
        llm: any chat client; without one records can't be asked about.
        embedder: any object with ``embed(list[str])``; without one it is chosen by the settings, when it is needed.
        scope: what can be seen now, for a class: a function that returns a SQLAlchemy condition, such as
            ``{Article: lambda: Article.tenant_id == current_tenant()}``. It holds for whatever is read, searched or
            remembered.
        settings: a `StoreSettings`, or a mapping of some of them.
        cache: answers about records are kept in this mapping and given again where nothing has changed.

    Raises:
        ArgumentTypeError: an argument is something else.
        InvalidArgumentError: a setting can't be used.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> from ffai.testing import FakeEmbedder
        >>> with Store(create_engine("sqlite://"), embedder=FakeEmbedder()) as store:
        ...     store.create_all()
        ...     store.backend
        'process'
    """

    def __init__(
        self,
        engine: Engine,
        *,
        llm: Any = None,
        embedder: Embedder | None = None,
        scope: Mapping[type[Any], Callable[[], Any]] | None = None,
        settings: StoreSettings | Mapping[str, Any] | None = None,
        cache: MutableMapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(engine, Engine):
            raise ArgumentTypeError(
                f"engine must be SQLAlchemy's create_engine(...), not {type(engine).__name__} {engine!r:.80}. "
                "An async engine needs an AsyncStore."
            )
        self.engine = engine
        self.wiring = Wiring(engine, llm=llm, embedder=embedder, scope=scope, settings=settings, cache=cache)
        self._work = self.wiring.work()
        beside = self.wiring.settings.generate == "background" and runs_beside(engine)
        self._worker = (Worker if beside else InCall)(engine, self._work)
        self._changes = self.wiring.changes(self._worker.wake)
        self._attached: WeakSet[Any] = WeakSet()
        self._begun = not beside
        self._sessions = sessionmaker(engine, expire_on_commit=False)
        self.attach(self._sessions)

    @property
    def backend(self) -> str:
        """What compares vectors: ``"process"``, ``"sqlite-vec"`` or ``"pgvector"``."""
        return self.wiring.backend.name

    def create_all(self, *bases: Any) -> None:
        """Make the tables of the store where they are missing, and those of your own classes where you name them.

        Args:
            *bases: declarative bases, mapped classes or ``MetaData``; with Alembic none.
        """
        tables = [metadata_of(base) for base in bases]
        with self.engine.begin() as connection:
            create_all(connection, self.wiring.backend, tables)

    def __getitem__(self, kind: type[T]) -> Collection[T]:
        """Return the records of a class.

        Raises:
            ArgumentTypeError: the class is not mapped.
        """
        self._meet(kind)
        return Collection(self, kind)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session whose records belong to the store; it commits at the end, or is rolled back on an error."""
        with self._sessions() as session:
            yield session
            session.commit()

    def attach(self, sessions: sessionmaker[Any] | Session) -> None:
        """Let the records of your own sessions belong to the store.

        Args:
            sessions: a ``sessionmaker``, or one session.

        Raises:
            ArgumentTypeError: it is neither; or the session belongs to another store.
        """
        if isinstance(sessions, Session):
            if store_of_session(sessions) is self:
                return
            check_unbound(sessions)
            sessions.info.update(bind(self))
        elif isinstance(sessions, sessionmaker):
            sessions.configure(info={**sessions.kw.get("info", {}), **bind(self)})
        else:
            raise ArgumentTypeError(
                f"attach() takes a sessionmaker or a Session, not {type(sessions).__name__}. Of a scoped_session give "
                "its session_factory, before it has made sessions; or the session that it gives when it is called."
            )
        if sessions not in self._attached:
            self._attached.add(sessions)
            remember_stores(sessions)
            self._changes.watch(sessions)

    # Vectors

    def drain(self, timeout: float | None = None) -> Drained:
        """Wait until every text that can be embedded now is. Not within a transaction of yours that has written to
        SQLite: the vectors could not be written before its end.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            How many were done meanwhile, how many failed, and how many are left.

        Raises:
            ClosedError: the store is closed.
        """
        return self._worker.drain(check_timeout(timeout))

    def status(self, kind: type[Any]) -> Status:
        """Return what there is of a class's vectors, by model; what waits, and what failed and why."""
        self._meet(kind)
        return Place(self.engine).run(self.wiring.status_flow(kind))

    def retry_failed(self) -> int:
        """Let texts be tried again that failed or wait for their next try; return how many."""
        count = Place(self.engine).run(self._work.retry_flow())
        self._worker.wake()
        return count

    def reindex(self, kind: type[Any], *, batch_size: int = 50, on_progress: OnProgress | None = None) -> Backfill:
        """Embed all records of a class with the model in use, and then delete the vectors of every other one.

        Nothing is deleted where a text failed. The arguments are those of `Collection.generate_missing_embeddings`.
        """
        self._meet(kind)
        return Place(self.engine).run(self.wiring.reindex_flow(kind, batch_size, on_progress))

    def build_index(self, kind: type[Any], field: str | None = None) -> None:
        """Make an approximate index for large tables, where pgvector compares: searches may then miss a record.

        It serves searches that more than 50,000 records pass; below that all are compared, as without it.

        Raises:
            ConfigError: another storage compares vectors.
        """
        Place(self.engine).run(self.wiring.index_flow(kind, field))

    def purge_expired(self) -> int:
        """Delete the memories that have expired; return how many there were."""
        return self.memory_in().purge_expired()

    def close(self, timeout: float | None = 5.0) -> None:
        """End the work in the background. Texts that still wait are embedded by the next one who opens a store.

        Args:
            timeout: seconds to wait for the work in hand at the most.
        """
        self._worker.close(check_timeout(timeout))

    # Whose flows are run where

    def memory_in(self, session: Session | None = None) -> RecordMemory:
        """Return what records and classes remember, within a session's transaction where one is given."""
        return RecordMemory(
            self.engine, tables=self.wiring.backend.tables, tenancy=self.wiring.tenancy, session=session
        )

    def owned(self, record: object) -> Owned:
        """Return the memories of a record."""
        return Owned(self.memory_in(self._session_of(record)), record)

    def run(self, record: object, flow: Flow[Step, R]) -> R:
        """Run a flow about a record: within its session's transaction, where that is one of the store."""
        return Place(self.engine, self._session_of(record)).run(flow)

    def with_vectors(self, record: object, make: Callable[[Generation], Flow[Step, R]]) -> R:
        """Run a flow about the vectors of a record."""
        return self.run(record, self.wiring.generation_flow(type(record), make))

    def _session_of(self, record: object) -> Session | None:
        session = object_session(record)
        return session if session is not None and store_of_session(session) is self else None

    def noted(self, records: list[T]) -> list[T]:
        """Note that records which are in no session come from the store, and return them."""
        for record in records:
            if object_session(record) is None:
                came_from(record, self)
        return records

    def _meet(self, kind: type[Any]) -> None:
        declared_of(kind)
        self.wiring.kinds.meet(kind)
        if not self._begun:  # an earlier program may have left jobs
            self._begun = True
            self._worker.wake()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
