"""Memory: turns embedded, kept and recalled by meaning."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from ffai._fork import held_over_forks
from ffai._text import clean_text
from ffai.core.arguments import check_number, check_search, check_whole
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import sharing
from ffai.core.memory.collection import Collection
from ffai.core.memory.distinct import search_distinct
from ffai.core.memory.filters import Scope, TurnFilter, Where
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.identity import NewTurn, new_turn, turn_from_elsewhere
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.listing import Unembedded, page_of, place_at
from ffai.core.memory.opening import open_collection
from ffai.core.memory.place import Place
from ffai.core.memory.status import FlushResult, MemoryStatus
from ffai.core.memory.turn_page import TurnPage
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.vectorise import calls_for, check_vectors, embed_texts, embed_turns, texts_and_parts
from ffai.core.scope import MemoryScope
from ffai.core.similarity import Vector
from ffai.core.turn import turn_text
from ffai.errors import ArgumentTypeError, ClosedError, DimensionError, InvalidArgumentError
from ffai.typing import Metadata

BARRIER = 2.0
"""Seconds a search waits, at the most, for turns that were accepted before it."""

_UNEMBEDDED = "SELECT turn_id, text, turn, metadata, failed FROM arrivals"


class Memory:
    r"""Turns and an embedder.

    On its own it keeps turns in memory. :meth:`persist_to` ties it to files; :class:`~ffai.FFAI.FFAI` does that.

    Args:
        embeddings: any object with ``embed(list[str])``.
        store: turns to begin with; a new store if left out.

    Examples:
        >>> from ffai.testing import FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> _ = memory.remember("Where is the key?", "Under the mat.")
        >>> memory.search("the key", top_k=1)[0].response
        'Under the mat.'
    """

    def __init__(self, embeddings: Embedder, store: TurnVectorStore | None = None) -> None:
        _check_embedder(embeddings)
        self._collection = Collection(embeddings, store if store is not None else TurnVectorStore())
        # between a turn that comes in and the end, or the move to files
        self._entering = held_over_forks(threading.Lock())
        self._closed = self._is_last = False

    @property
    def embeddings(self) -> Embedder:
        """What makes the vectors."""
        return self._collection.embedder

    @property
    def store(self) -> TurnVectorStore:
        """The turns. A store that is assigned takes the place of this one; where turns are persisted, it is merged."""
        return self._collection.store

    @store.setter
    def store(self, store: TurnVectorStore) -> None:
        with self._entering:
            self._collection.adopt(store)

    # Adding

    def index_turn(self, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Embed a turn's text now and store it.

        Args:
            turn: ``{"role", "content", "timestamp", "metadata"}``; all text parts of its content are embedded.
            metadata: what is given back with it.

        Returns:
            Its position in the store.

        Raises:
            EmbeddingError: the embedder gave vectors that can't be used.
            Exception: whatever the embedder raises. Nothing is stored.
        """
        return self.index_turn_text(turn_text(turn), turn, metadata)

    def index_turn_text(self, text: str, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Embed a text now and store a turn beside it; see :meth:`index_turn`."""
        new = turn_from_elsewhere(text, turn, metadata)
        embedder = self.embeddings
        position = self._add(new, embed_turns(embedder, [new.text])[0], embedder)
        return self.index_turn_text(text, turn, metadata) if position is None else position

    async def aindex_turn(self, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Await :meth:`index_turn`."""
        return await self.aindex_turn_text(turn_text(turn), turn, metadata)

    async def aindex_turn_text(self, text: str, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Await :meth:`index_turn_text`."""
        new = turn_from_elsewhere(text, turn, metadata)
        embedder = self.embeddings
        vectors = await self._aembed(embedder, texts_and_parts(new.text))
        position = await asyncio.to_thread(self._add, new, vectors, embedder)
        return await self.aindex_turn_text(text, turn, metadata) if position is None else position

    def _add(self, turn: NewTurn, vectors: Sequence[Vector], embedder: Embedder) -> int | None:
        with self._entering:
            return self._open.add(turn, vectors, embedder)

    def remember(
        self,
        prompt: str,
        response: str,
        *,
        scope: MemoryScope | None = None,
        timestamp: float | None = None,
        metadata: Metadata | None = None,
    ) -> str:
        """Accept a question and its answer. They are durable when this returns, and embedded in the background.

        Args:
            prompt: what was asked.
            response: what was answered.
            scope: whose turn it is.
            timestamp: when it was, in seconds since the epoch; now if left out.
            metadata: what is given back with it; dates, paths, sets and bytes become text.

        Returns:
            The turn's id.

        Raises:
            ArgumentTypeError: an argument has a wrong type, or the metadata a value that can't be stored.
            ClosedError: the memory was closed.
        """
        turn = new_turn(prompt, response, scope=scope, timestamp=timestamp, metadata=metadata)
        with self._entering:
            self._open.accept(turn)
        return turn.turn_id

    # Recalling

    def search(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        wait: float | None = BARRIER,
        distinct: bool = False,
    ) -> list[TurnHit]:
        """Find the turns closest in meaning.

        Args:
            query: what to look for, in words.
            top_k: how many at the most; none for 0 or less.
            threshold: keeps cosines of at least this; ``None`` keeps all.
            where: only turns whose metadata has these values under these keys, compared as JSON; see
                :meth:`~ffai.core.memory.filters.TurnFilter.of`.
            scope: only turns of this scope: each field that is given must be the same.
            wait: seconds to wait, at the most, until turns accepted before this call can be found; ``None`` waits as
                long as it takes.
            distinct: whether turns with the same text in the same scope count once; ``hit.repeats`` and
                ``hit.last_timestamp`` then tell how many they are, and when the last was said.

        Returns:
            Best first; equal scores in the order they were added.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            EmbeddingError: the embedder gave a vector that can't be used.
            Exception: whatever the embedder raises.
        """
        check_search(query, top_k, threshold, wait)
        TurnFilter.of(where, scope)
        self._collection.wait_for_accepted(_seconds(wait))
        if top_k <= 0 or not self.count():
            return []
        find = partial(_search, distinct, top_k=top_k, threshold=threshold, where=where, scope=scope)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                vector = embed_texts(embedder, [clean_text(query)])[0]
            if (hits := self._find(embedder, vector, find)) is not None:
                return hits

    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        wait: float | None = BARRIER,
        distinct: bool = False,
    ) -> list[TurnHit]:
        """Await :meth:`search`."""
        check_search(query, top_k, threshold, wait)
        TurnFilter.of(where, scope)
        await asyncio.to_thread(self._collection.wait_for_accepted, _seconds(wait))
        if top_k <= 0 or not self.count():
            return []
        find = partial(_search, distinct, top_k=top_k, threshold=threshold, where=where, scope=scope)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                vector = (await self._aembed(embedder, [clean_text(query)]))[0]
            if (hits := await asyncio.to_thread(self._find, embedder, vector, find)) is not None:
                return hits

    def _find(self, embedder: Embedder, vector: Vector, find: Callable[..., list[TurnHit]]) -> list[TurnHit] | None:
        """Search with a query's vector; ``None`` where its embedder is no longer the one in use."""
        if self._collection.is_current(embedder):
            self._collection.compare_size(vector.size)
        try:
            hits = find(self.store, vector)
        except DimensionError:
            if self._collection.is_current(embedder):
                raise
            return None
        return hits if self._collection.is_current(embedder) else None

    async def _aembed(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for some in calls_for(texts):
            vectors += await self._aembed_some(embedder, list(some))
        return vectors

    async def _aembed_some(self, embedder: Embedder, texts: list[str]) -> list[Vector]:
        if callable(aembed := getattr(embedder, "aembed", None)):
            return check_vectors(embedder, await aembed(texts), len(texts))
        return await asyncio.to_thread(embed_texts, embedder, texts)

    # Looking after it

    def reindex(self, new_embeddings: Embedder) -> None:
        """Embed all stored texts again with another embedder, and use that one from now on.

        All or nothing: where it fails, the store is as it was. Turns that come meanwhile are embedded again too.

        Raises:
            EmbeddingError: the new embedder gave vectors that can't be used.
            Exception: whatever the new embedder raises.
        """
        _check_embedder(new_embeddings)
        self._open.reindex(new_embeddings)

    async def areindex(self, new_embeddings: Embedder) -> None:
        """Await :meth:`reindex`."""
        _check_embedder(new_embeddings)
        await asyncio.to_thread(self.reindex, new_embeddings)

    def count(self) -> int:
        """Return how many turns a search can find."""
        return self.store.count()

    def clear(self) -> None:
        """Forget all turns, those that wait to be embedded too; where they are persisted, the files as well.

        Raises:
            StoreError: the files can't be written just now; forget them later.
        """
        self._open.clear()

    def status(self) -> MemoryStatus:
        """Tell what is stored, what waits, what failed and why, and where the files are."""
        return self._collection.status()

    def retry_failed(self) -> int:
        """Try again to embed the turns that failed.

        Returns:
            How many are tried; :meth:`flush` waits for them.
        """
        return self._open.retry_failed()

    def flush(self, timeout: float | None = None) -> FlushResult:
        """Wait until every turn accepted so far is indexed or failed, and the file, if there is one, holds it.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            What became of the turns. A turn that waits for another try counts as failed.
        """
        return self._collection.flush(_seconds(timeout))

    async def aflush(self, timeout: float | None = None) -> FlushResult:
        """Await :meth:`flush`."""
        return await asyncio.to_thread(self.flush, _seconds(timeout))

    def close(self, timeout: float | None = 5.0) -> FlushResult:
        """Flush within the time and end the worker. Turns that were not embedded by then wait for the next start.

        A closed memory can still be searched. Closing it again does nothing.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            What became of the turns.
        """
        seconds = _seconds(timeout)
        with self._entering:
            if not self._closed:
                self._closed, self._is_last = True, sharing.release(self._collection)
        return self._collection.close(seconds) if self._is_last else self._collection.flush(seconds)

    async def aclose(self, timeout: float | None = 5.0) -> FlushResult:
        """Await :meth:`close`."""
        return await asyncio.to_thread(self.close, _seconds(timeout))

    def persist_to(self, folder: str | Path, name: str = "ffai_turns", *, durability: Durability = "process") -> None:
        """Keep the turns in ``<folder>/<name>.parquet``, and those on their way there in ``<name>.sqlite3``.

        Turns that the files hold already and turns of this memory are joined, each once. Where another memory of
        this process has the same files open, both share one store.

        Args:
            folder: made if it is missing.
            name: what the files are called.
            durability: ``"process"`` keeps accepted turns however the process ends; ``"power"`` also in a power cut.

        Raises:
            InvalidArgumentError: an argument can't be used, or the turns are kept in another place already.
            ClosedError: the memory was closed.
        """
        place = Place.at(folder, name)
        if durability not in get_args(Durability):
            raise InvalidArgumentError(f"durability must be one of {get_args(Durability)!r}, not {durability!r}.")
        with self._entering:
            own = self._open
            if own.place is None:
                self._collection = own.move_to(lambda: self._share(place, durability))
            elif own.place != place:
                raise InvalidArgumentError(f"The memory is kept in {str(own.place.file)!r} already.")

    def _share(self, place: Place, durability: Durability) -> Collection:
        own = self._collection
        shared = sharing.acquire(place, lambda: open_collection(own.embedder, place, own.store, durability=durability))
        try:
            if shared.store is not own.store:
                shared.take_in(own.store, own.embedder)
        except BaseException:
            if sharing.release(shared):
                shared.close(0.0)
            raise
        return shared

    @property
    def _open(self) -> Collection:
        if self._closed or self._collection.closed:
            raise ClosedError("The memory is closed; turns can't be added to it any more.")
        return self._collection

    # Listing: last, because from here on the class has a list of its own

    async def alist(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Await :meth:`list`."""
        return await asyncio.to_thread(self.list, where=where, scope=scope, limit=limit, cursor=cursor)

    def list(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Return the next turns, oldest first, also those that wait to be embedded or were given up.

        Each turn keeps its place, by its time and its id: whatever is added or forgotten between two pages, every
        turn that stays is given once.

        Args:
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope.
            limit: how many at the most.
            cursor: where the last page ended, ``page.cursor``; ``None`` for the first page.

        Returns:
            The turns, and the cursor for the next page. No embedder is needed.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.

        Examples:
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> for number in range(3):
            ...     _ = memory.remember(f"Question {number}", "Answer", timestamp=number)
            >>> page = memory.list(limit=2)
            >>> [turn.prompt for turn in page.turns], [turn.prompt for turn in memory.list(cursor=page.cursor).turns]
            (['Question 0', 'Question 1'], ['Question 2'])
        """
        wanted, after = TurnFilter.of(where, scope), place_at(cursor)
        check_whole("limit", limit, least=1)
        with self._collection._changing:  # a turn leaves the waiting ones a moment before it is in the store
            unembedded, selection = _unembedded(self._collection), self.store._select(wanted)
        return page_of(selection, unembedded, wanted, limit=limit, after=after, now=time.time())


def _search(distinct: bool, store: TurnVectorStore, query: Vector, **asked: Any) -> list[TurnHit]:
    return search_distinct(store, query, **asked) if distinct else store.search(query, **asked)


def _unembedded(collection: Collection) -> list[Unembedded]:
    """Return the turns of a collection that have no vector."""
    rows = collection.journal.read(lambda journal: journal._read(_UNEMBEDDED))
    return [Unembedded(NewTurn(*turn), "failed" if failed else "waiting") for *turn, failed in rows]


def _check_embedder(embeddings: object) -> None:
    if not callable(getattr(embeddings, "embed", None)):
        raise ArgumentTypeError(f"embeddings must have a method embed(texts), {embeddings!r} has none.")


def _seconds(timeout: float | None) -> float | None:
    """Check a time to wait; one that is longer than a lock can wait is for ever."""
    if timeout is None or check_number("timeout", timeout, least=0.0) > threading.TIMEOUT_MAX:
        return None
    return timeout
