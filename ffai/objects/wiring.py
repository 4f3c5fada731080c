"""The parts of a store, whether its engine waits or is awaited: what is told to all, and what each class needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import inspect as inspected
from sqlalchemy.orm import Session

from ffai._fork import held_over_forks
from ffai.chat.flow import Flow
from ffai.errors import ArgumentTypeError, ConfigError
from ffai.objects.asking.asker import Asker
from ffai.objects.declaration import Provider, declared_of
from ffai.objects.filtering.tenancy import Tenancy
from ffai.objects.searching.backends import backend_of
from ffai.objects.searching.pgvector import Pgvector
from ffai.objects.searching.search import VectorSearch
from ffai.objects.settings import StoreSettings, settings_of
from ffai.objects.steps import InDatabase, Step, given
from ffai.objects.vectors.backfill import Backfill, backfill_flow
from ffai.objects.vectors.changes import Changes
from ffai.objects.vectors.embedding import Space
from ffai.objects.vectors.generation import Generation
from ffai.objects.vectors.kinds import StoreKinds
from ffai.objects.vectors.progress import OnProgress
from ffai.objects.vectors.providers import embedder_for
from ffai.objects.vectors.status import Status, drop_other_spaces, status
from ffai.objects.vectors.work import Round, Work

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ffai.core.embeddings.protocol import Embedder

R = TypeVar("R")


class Wiring:
    """What a `Store` and an `AsyncStore` are made of.

    Attributes:
        settings: see `StoreSettings`.
        tenancy: what can be seen now.
        asker: asks the model.
        backend: keeps and compares vectors.
        kinds: the classes whose records are in the store.
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
        if embedder is not None and not callable(getattr(embedder, "embed", None)):
            raise ArgumentTypeError(f"embedder must have a method embed(texts); {embedder!r:.100} has none.")
        self.settings = settings_of(settings)
        self.tenancy = Tenancy(scope)
        self.asker = Asker(
            llm, max_data_length=self.settings.max_data_length, tool_rounds=self.settings.tool_rounds, cache=cache
        )
        self.backend = backend_of(engine, self.settings.storage)
        self.kinds = StoreKinds(self.embedder, auto_generate=self.settings.auto_generate)
        self._llm, self._embedder = llm, embedder
        self._choosing = held_over_forks(threading.Lock())
        self._chosen: dict[Provider, Embedder] = {}
        self._searches: dict[type[Any], VectorSearch[Any]] = {}
        self._is_ready = False
        for kind in scope or ():
            self.kinds.meet(kind)

    def embedder(self, kind: type[Any]) -> Embedder:
        """Return what embeds the texts of a class; the same one for as long as the store is there."""
        if self._embedder is not None:
            return self._embedder
        embedded = declared_of(kind).ai.embedded
        provider = (embedded.provider if embedded is not None else None) or self.settings.provider
        with self._choosing:
            if provider not in self._chosen:
                self._chosen[provider] = embedder_for(provider, self.settings, self._llm)
            return self._chosen[provider]

    def search(self, kind: type[Any]) -> VectorSearch[Any]:
        """Return what searches among the records of a class."""
        if kind not in self._searches:
            self._searches[kind] = VectorSearch(kind, self.embedder(kind), self.backend, self.tenancy)
        return self._searches[kind]

    def generation_flow(self, kind: type[Any], make: Callable[[Generation], Flow[Step, R]]) -> Flow[Step, R]:
        """Make a flow of what embeds the records of a class."""
        yield from self.ready_flow()
        return (yield from make(Generation(kind, self.embedder(kind), self.backend.tables, self.tenancy)))

    def changes(self, on_commit: Callable[[], None]) -> Changes:
        """Return what keeps vectors and jobs in step with records."""
        return Changes(self.backend.tables, self.kinds, on_commit)

    def backfill_flow(
        self, kind: type[Any], *, batch_size: int, on_progress: OnProgress | None
    ) -> Flow[Step, Backfill]:
        """Make a flow that embeds what a class lacks."""
        return self.generation_flow(
            kind, lambda generation: backfill_flow(generation, batch_size=batch_size, on_progress=on_progress)
        )

    def reindex_flow(self, kind: type[Any], batch_size: int, on_progress: OnProgress | None) -> Flow[Step, Backfill]:
        """Make a flow that embeds what a class lacks, and deletes the vectors of other models."""
        done = yield from self.backfill_flow(kind, batch_size=batch_size, on_progress=on_progress)
        if not done.failed:
            tables, space = self.backend.tables, Space.of(self.embedder(kind))
            seen = self.tenancy.condition(kind)
            yield from given(InDatabase(lambda session: drop_other_spaces(session, tables, kind, space, seen)))
        return done

    def status_flow(self, kind: type[Any]) -> Flow[Step, Status]:
        """Make a flow that gives what there is of a class's vectors."""
        seen = self.tenancy.condition(kind)
        return given(InDatabase(lambda session: status(session, self.backend.tables, kind, seen)))

    def index_flow(self, kind: type[Any], field: str | None) -> Flow[Step, None]:
        """Make a flow that makes an approximate index.

        Raises:
            ConfigError: pgvector is not what compares vectors.
        """
        named, backend = declared_of(kind).check_field(field), self.backend
        if not isinstance(backend, Pgvector):
            raise ConfigError("objects", "storage", f"an index needs pgvector; {backend.name!r} compares vectors here.")

        def build(session: Session) -> None:
            space = Space.of(self.embedder(kind))
            if space.dimensions is None:
                of_model = [each for each in status(session, backend.tables, kind).spaces if each.model == space.model]
                space = of_model[0] if len(of_model) == 1 else space
            backend.create_index(session.connection(), kind, named, space)

        return given(InDatabase(build))

    def work(self) -> Work:
        """Return what there is to do for the jobs."""
        return _StoreWork(self)

    def ready_flow(self) -> Flow[Step, bool]:
        """Make a flow that tells whether the tables are there, and lets the backend see in which form."""
        if not self._is_ready:
            self._is_ready = yield from given(InDatabase(self._ready))
        return self._is_ready

    def _ready(self, session: Session) -> bool:
        connection = session.connection()
        self.backend.prepared(connection)
        return inspected(connection).has_table(self.backend.tables.jobs.name)


class _StoreWork(Work):
    """The work of a store, whose tables may be still to come: then there are no jobs either."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.kinds, wiring.backend.tables, batch_size=wiring.settings.batch_size)
        self._wiring = wiring

    def round_flow(self) -> Flow[Step, Round]:
        if not (yield from self._wiring.ready_flow()):
            return Round()
        self.tables = self._wiring.backend.tables
        return (yield from super().round_flow())
