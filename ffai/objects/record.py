"""The mixin that gives AI methods, embeddings and memory to the classes of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ffai.objects.binding import waiting_store_of
from ffai.objects.declaration import AI, check_when_mapped
from ffai.objects.has_memory import HasMemory, Owned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ffai.objects.asking.reply_text import ReplyText
    from ffai.objects.awaited_record import AwaitedRecord


class AIRecord(HasMemory):
    """A record that a model can be asked about, that is found by meaning, and that remembers.

    A mixin for a class that SQLAlchemy maps, put before its base, or for a ``SQLModel`` with ``table=True``. What it
    may let out is declared in ``__ai__``. Its methods belong to a `Store`: that of its session, or the one it came
    from. Within a session they take part in its transaction; otherwise each one is a transaction.

    Examples:
        >>> from sqlalchemy import Integer, Text, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> from ffai.objects import AI, Embedded, Store
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> class Base(DeclarativeBase): pass
        >>> class Article(AIRecord, Base):
        ...     __tablename__ = "articles"
        ...     __ai__ = AI(embedded=Embedded("title"), sensitive=("source_token",))
        ...     id = mapped_column(Integer, primary_key=True)
        ...     title, source_token = mapped_column(Text), mapped_column(Text)
        >>> client = FakeClient(['{"result": true}'])
        >>> store = Store(create_engine("sqlite://"), llm=client, embedder=FakeEmbedder())
        >>> store.create_all(Base)
        >>> with store.session() as session:
        ...     article = Article(title="Refunds take five days", source_token="sk-live-123")
        ...     session.add(article)
        ...     session.flush()
        ...     article.is_("about money"), "sk-live-123" in str(client.calls)
        (True, False)
        >>> [hit.record.title for hit in store[Article].semantic_search("how long do refunds take", limit=1)]
        ['Refunds take five days']
    """

    __ai__: ClassVar[AI] = AI()
    """What this class lets a model know and do, and which texts are embedded."""

    @property
    def aio(self) -> AwaitedRecord:
        """The same methods, awaited: for records of an `AsyncStore`."""
        from ffai.objects.awaited_record import AwaitedRecord

        return AwaitedRecord(self)

    # A model is asked

    def is_(self, criteria: str, **options: Any) -> bool:
        """Ask a model whether this record meets criteria.

        Args:
            criteria: what it has to be, in words.
            **options: ``include_data=False`` leaves the record out, ``max_data_length`` bounds the characters that are
                shown, ``call_tools`` says which methods the model may call (``"none"``, ``"read_only"``, ``"all"``);
                every other one goes to the client (``model``, ``temperature``, ``max_tokens``).

        Raises:
            MalformedReply: the model answered twice, and neither yes nor no.
            ConfigError: the store has no chat client.
            ToolLoopLimit: the model called methods, and nothing else.
            InvalidArgumentError, ArgumentTypeError: an argument can't be used.
            Exception: whatever the client raises.
        """
        store = waiting_store_of(self)
        return store.run(self, store.wiring.asker.is_flow(self, criteria, **options))

    satisfies = is_

    def do(self, instructions: str, **options: Any) -> ReplyText:
        """Let a model follow instructions about this record; it may call the methods marked with `ai_tool`.

        Args:
            instructions: what to do, in words.
            **options: as for `is_`.

        Returns:
            The model's text, unaltered, with what it used (``usage``, ``cost_usd``) and called (``calls``).

        Raises: as for `is_`, except `MalformedReply`.
        """
        store = waiting_store_of(self)
        return store.run(self, store.wiring.asker.do_flow(self, instructions, **options))

    def describe(self, **options: Any) -> ReplyText:
        """Let a model describe this record in a few words; see `do`."""
        store = waiting_store_of(self)
        return store.run(self, store.wiring.asker.describe_flow(self, **options))

    # Its vectors

    def generate_embeddings(self, *, fields: Sequence[str] | None = None, force: bool = False) -> int:
        """Embed what has changed, now.

        Args:
            fields: the embedded fields and combined texts to look at; ``None`` for all.
            force: embed also what has not changed.

        Returns:
            How many vectors were written.

        Raises:
            InvalidArgumentError: a field is not embedded, or the record has no primary key.
            SensitiveFieldError: a field is secret.
            EmbeddingError: the model failed or gave vectors that can't be used; nothing is stored.
        """
        store = waiting_store_of(self)
        return store.with_vectors(self, lambda vectors: vectors.generate_flow(self, fields=fields, force=force))

    def has_stale_embeddings(self) -> bool:
        """Tell whether a text has no vector of the model in use, or has changed since."""
        store = waiting_store_of(self)
        return store.with_vectors(self, lambda vectors: vectors.stale_flow(self))

    def get_embedding(self, field: str | None = None, *, model: str | None = None) -> NDArray[np.float32] | None:
        """Return the stored vector of a field, shape ``(dim,)``; ``None`` where there is none.

        Args:
            field: an embedded field or a combined text; ``None`` for the first.
            model: the model that made it; ``None`` for the one in use.
        """
        store = waiting_store_of(self)
        return store.with_vectors(self, lambda vectors: vectors.vector_flow(self, field, model=model))

    def clear_embeddings(self) -> int:
        """Delete all vectors of this record, those of other models too; return how many there were."""
        store = waiting_store_of(self)
        return store.with_vectors(self, lambda vectors: vectors.clear_flow(self))

    def _owned(self) -> Owned:
        return waiting_store_of(self).owned(self)


check_when_mapped(AIRecord)
