"""The records of one class, to be searched, asked about and remembered for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from ffai.chat.flow import Flow
from ffai.core.arguments import known_keywords
from ffai.objects.has_memory import HasMemory, Owned
from ffai.objects.reading import Reading
from ffai.objects.searching.options import Near, Similar
from ffai.objects.steps import Place, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy.orm import Session

    from ffai.objects.filtering.filters import Where
    from ffai.objects.filtering.ordering import OrderBy
    from ffai.objects.searching.hit import Hit
    from ffai.objects.store import Store
    from ffai.objects.vectors.backfill import Backfill
    from ffai.objects.vectors.progress import OnProgress

T = TypeVar("T")
R = TypeVar("R")


class Collection(HasMemory, Generic[T]):
    """The records of one class: ``store[Article]``.

    What is remembered here belongs to the class, and to the tenant where the store has a rule. Bound to a session, it
    works within its transaction and gives records of it; otherwise each call is a transaction, and the records it gives
    belong to no session.

    Examples:
        >>> from sqlalchemy import Integer, Text, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> from ffai.objects import AI, AIRecord, Embedded, Store
        >>> from ffai.testing import FakeEmbedder
        >>> class Base(DeclarativeBase): pass
        >>> class Note(AIRecord, Base):
        ...     __tablename__, __ai__ = "notes", AI(embedded=Embedded("text"))
        ...     id, text = mapped_column(Integer, primary_key=True), mapped_column(Text)
        >>> store = Store(create_engine("sqlite://"), embedder=FakeEmbedder())
        >>> store.create_all(Base)
        >>> with store.session() as session:
        ...     session.add_all([Note(text="Refunds take five days"), Note(text="We ship on Mondays")])
        >>> notes = store[Note]
        >>> [(hit.record.text, round(hit.similarity, 1)) for hit in notes.semantic_search("refunds", limit=1)]
        [('Refunds take five days', 0.4)]
        >>> [note.text for note in notes.list(where={"text__icontains": "ship"})]
        ['We ship on Mondays']
        >>> notes.remember("import", "cursor", 17)
        >>> notes.recall("import", "cursor")
        17
    """

    def __init__(self, store: Store, kind: type[T], session: Session | None = None) -> None:
        self._store, self._kind = store, kind
        self._place = Place(store.engine, session)
        self._reading: Reading[T] = Reading(kind, store.wiring.tenancy, is_apart=session is None)

    def bind(self, session: Session) -> Collection[T]:
        """Return the same collection within a session's transaction."""
        self._store.attach(session)
        return Collection(self._store, self._kind, session)

    # Reading

    def get(self, identity: Any) -> T | None:
        """Return the record with a primary key, a tuple where it has several columns; ``None`` where there is none."""
        found = self._run(self._reading.get_flow(identity))
        return None if found is None else self._noted([found])[0]

    def values(
        self,
        columns: Sequence[str],
        *,
        where: Where = None,
        order_by: OrderBy = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return some columns of records, each a dict; the options are those of `list`."""
        return self._run(self._reading.values_flow(columns, where, order_by, limit, offset))

    # Searching

    def semantic_search(self, query: str, **options: Unpack[Near]) -> list[Hit[T]]:
        """Find records whose text means what a query says.

        Every condition counts before the ranking: there are as many hits as ``limit`` says, 10 where it is not given,
        unless fewer records match.

        Args:
            query: a question or some words.
            **options: see `Near`.

        Returns:
            Hits, the closest first; those equally close by primary key.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used, or the class embeds no such field.
            SensitiveFieldError, UnsafeFilterError: the condition can't be used.
            EmbeddingError: the model failed.
        """
        known = known_keywords("semantic_search", options, Near)
        return self._hits(self._store.wiring.search(self._kind).semantic_flow(query, **known))

    search = semantic_search

    def find_similar(self, record: T | Any, **options: Unpack[Similar]) -> list[Hit[T]]:
        """Find records that are like one of them; 5 where ``limit`` is not given.

        Args:
            record: the record, or its primary key.
            **options: see `Similar`.

        Raises:
            InvalidArgumentError: there is no such record, or it has no vector of this field yet; and as for
                `semantic_search`.
        """
        known = known_keywords("find_similar", options, Similar)
        return self._hits(self._store.wiring.search(self._kind).similar_flow(record, **known))

    def find_similar_to_vector(self, vector: Sequence[float] | NDArray[Any], **options: Unpack[Near]) -> list[Hit[T]]:
        """Find records near a vector, shape ``(dim,)``; see `semantic_search`.

        Raises:
            BadVectorError: it has another size than the stored ones, is all zeros, or not finite.
        """
        known = known_keywords("find_similar_to_vector", options, Near)
        return self._hits(self._store.wiring.search(self._kind).to_vector_flow(vector, **known))

    # Asking

    def is_many(
        self,
        records: Iterable[T],
        criteria: str,
        *,
        concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Ask a model about each of several records; see `AIRecord.is_`. No methods are offered to it.

        Args:
            records: records of this class.
            criteria: what they have to be, in words.
            concurrency: how many are asked about at once.
            return_exceptions: give an error in the place of its record; else the first one is raised, after all ended.
            **options: as for `AIRecord.is_`.

        Returns:
            ``True`` or ``False`` for each, in order.
        """
        return self._store.wiring.asker.is_many(
            records, criteria, concurrency=concurrency, return_exceptions=return_exceptions, **options
        )

    # Vectors

    def generate_missing_embeddings(self, *, batch_size: int = 50, on_progress: OnProgress | None = None) -> Backfill:
        """Embed what is new or has changed, among all records, and delete vectors of records that are gone.

        Args:
            batch_size: records that are read, embedded and written at once.
            on_progress: called with ``completed`` and ``total``; on a terminal a bar is shown where it is not given.

        Returns:
            How many records were embedded, left as they are, and failed; with the first errors.
        """
        flow = self._store.wiring.backfill_flow(self._kind, batch_size=batch_size, on_progress=on_progress)
        return self._run(flow)

    backfill = generate_missing_embeddings

    def _owned(self) -> Owned:
        return Owned(self._store.memory_in(self._place.session), self._kind)

    def _run(self, flow: Flow[Step, R]) -> R:
        return self._place.run(flow)

    def _hits(self, flow: Flow[Step, list[Hit[T]]]) -> list[Hit[T]]:
        hits = self._run(flow)
        self._noted([hit.record for hit in hits])
        return hits

    def _noted(self, records: list[T]) -> list[T]:
        return self._store.noted(records)

    def list(
        self, *, where: Where = None, order_by: OrderBy = None, limit: int | None = None, offset: int = 0
    ) -> list[T]:
        """Return records.

        Args:
            where: which ones: a mapping such as ``{"status": "published", "views__gte": 10}``, or a condition of
                SQLAlchemy.
            order_by: ``"title"``, ``"-views"``, a column, or a sequence of these; then comes the primary key.
            limit: how many at the most.
            offset: how many are left out at the start.

        Raises:
            SensitiveFieldError: a secret field is named.
            UnsafeFilterError: a condition holds something other than columns and values.
            InvalidArgumentError, ArgumentTypeError: an argument can't be used.
        """
        return self._noted(self._run(self._reading.list_flow(where, order_by, limit, offset)))
