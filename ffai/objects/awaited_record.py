"""The methods of a record, awaited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ffai.objects.binding import awaited_store_of
from ffai.objects.has_memory import AwaitedHasMemory, Owned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ffai.objects.asking.reply_text import ReplyText
    from ffai.objects.record import AIRecord


class AwaitedRecord(AwaitedHasMemory):
    """The methods of an `AIRecord` of an `AsyncStore`: ``await article.aio.is_("about money")``."""

    def __init__(self, record: AIRecord) -> None:
        self._record = record

    async def is_(self, criteria: str, **options: Any) -> bool:
        """Await :meth:`AIRecord.is_`."""
        store = awaited_store_of(self._record)
        return await store.run(self._record, store.wiring.asker.is_flow(self._record, criteria, **options))

    satisfies = is_

    async def do(self, instructions: str, **options: Any) -> ReplyText:
        """Await :meth:`AIRecord.do`."""
        store = awaited_store_of(self._record)
        return await store.run(self._record, store.wiring.asker.do_flow(self._record, instructions, **options))

    async def describe(self, **options: Any) -> ReplyText:
        """Await :meth:`AIRecord.describe`."""
        store = awaited_store_of(self._record)
        return await store.run(self._record, store.wiring.asker.describe_flow(self._record, **options))

    async def generate_embeddings(self, *, fields: Sequence[str] | None = None, force: bool = False) -> int:
        """Await :meth:`AIRecord.generate_embeddings`."""
        store = awaited_store_of(self._record)
        return await store.with_vectors(
            self._record, lambda vectors: vectors.generate_flow(self._record, fields=fields, force=force)
        )

    async def has_stale_embeddings(self) -> bool:
        """Await :meth:`AIRecord.has_stale_embeddings`."""
        store = awaited_store_of(self._record)
        return await store.with_vectors(self._record, lambda vectors: vectors.stale_flow(self._record))

    async def get_embedding(self, field: str | None = None, *, model: str | None = None) -> NDArray[np.float32] | None:
        """Await :meth:`AIRecord.get_embedding`."""
        store = awaited_store_of(self._record)
        return await store.with_vectors(
            self._record, lambda vectors: vectors.vector_flow(self._record, field, model=model)
        )

    async def clear_embeddings(self) -> int:
        """Await :meth:`AIRecord.clear_embeddings`."""
        store = awaited_store_of(self._record)
        return await store.with_vectors(self._record, lambda vectors: vectors.clear_flow(self._record))

    def _owned(self) -> Owned:
        return awaited_store_of(self._record).owned(self._record)
