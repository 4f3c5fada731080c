"""Memory: turns embedded, kept and recalled by meaning."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as Ids
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

from ffai._fork import held_over_forks
from ffai._text import clean_text
from ffai.core.arguments import check_ids, check_number, check_search, check_timestamp, check_whole
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import forgetting, joining, reembedding, sharing, verifying
from ffai.core.memory.collection import Collection
from ffai.core.memory.distinct import search_distinct
from ffai.core.memory.exporting import check_target, checked_path, export_turns, select
from ffai.core.memory.filters import Scope, TurnFilter, Where
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.identity import NewTurn, new_turn, turn_from_elsewhere
from ffai.core.memory.importing import ImportResult, import_turns
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.listeners import Forgotten
from ffai.core.memory.listing import Unembedded, page_of, place_at
from ffai.core.memory.mounts import check_local
from ffai.core.memory.opening import OnModelChange, open_collection
from ffai.core.memory.place import Place
from ffai.core.memory.reembedding import Progress
from ffai.core.memory.status import FlushResult, ForgetResult, MemoryStatus
from ffai.core.memory.turn_page import TurnPage
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.vectorise import calls_for, check_vectors, embed_texts, embed_turns, texts_and_parts
from ffai.core.memory.verifying import VerifyReport
from ffai.core.redact import Redactor, redactor_of
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
        store: turns to begin with; a new store if left out. They stay as they are.
        redact: whether secrets are replaced in what comes in, before it is kept or embedded, and in queries: ``True``
            for :func:`~ffai.core.redact.redact`, or a callable that takes a text and returns it without its secrets.
        ttl: seconds that a remembered turn is kept, from its timestamp on; ``None`` keeps it for ever.

    Examples:
        >>> from ffai.testing import FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> _ = memory.remember("Where is the key?", "Under the mat.")
        >>> memory.search("the key", top_k=1)[0].response
        'Under the mat.'
    """

    def __init__(
        self,
        embeddings: Embedder,
        store: TurnVectorStore | None = None,
        *,
        redact: bool | Redactor = False,
        ttl: float | None = None,
    ) -> None:
        _check_embedder(embeddings)
        self.redact = redactor_of(redact)
        """What replaces secrets in texts that come in; ``None`` where nothing does."""
        self.ttl = None if ttl is None else check_number("ttl", ttl, least=0.0)
        """Seconds that a remembered turn is kept; ``None`` for ever."""
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
            joining.adopt(self._collection, store)

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
        new = turn_from_elsewhere(text, turn, metadata, redact=self.redact)
        embedder = self.embeddings
        position = self._add(new, embed_turns(embedder, [new.text])[0], embedder)
        return self.index_turn_text(text, turn, metadata) if position is None else position

    async def aindex_turn(self, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Await :meth:`index_turn`."""
        return await self.aindex_turn_text(turn_text(turn), turn, metadata)

    async def aindex_turn_text(self, text: str, turn: dict[str, Any], metadata: Metadata | None = None) -> int:
        """Await :meth:`index_turn_text`."""
        new = turn_from_elsewhere(text, turn, metadata, redact=self.redact)
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
        expires_at: float | None = None,
        metadata: Metadata | None = None,
    ) -> str:
        """Accept a question and its answer. They are durable when this returns, and embedded in the background.

        Args:
            prompt: what was asked.
            response: what was answered.
            scope: whose turn it is.
            timestamp: when it was, in seconds since the epoch; now if left out.
            expires_at: when it is forgotten, in seconds since the epoch; as the memory's ``ttl`` says if left out.
            metadata: what is given back with it; dates, paths, sets and bytes become text.

        Returns:
            The turn's id.

        Raises:
            ArgumentTypeError: an argument has a wrong type, or the metadata a value that can't be stored.
            ClosedError: the memory was closed.
        """
        if expires_at is None and self.ttl is not None:
            expires_at = (time.time() if timestamp is None else check_timestamp("timestamp", timestamp)) + self.ttl
        turn = new_turn(
            prompt,
            response,
            scope=scope,
            timestamp=timestamp,
            expires_at=expires_at,
            metadata=metadata,
            redact=self.redact,
        )
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
        self._collection.catch_up()
        if top_k <= 0 or not self.store.count():
            return []
        find = partial(_search, distinct, top_k=top_k, threshold=threshold, where=where, scope=scope)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                vector = embed_texts(embedder, [self._looked_for(query)])[0]
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
        await asyncio.to_thread(self._collection.catch_up)
        if top_k <= 0 or not self.store.count():
            return []
        find = partial(_search, distinct, top_k=top_k, threshold=threshold, where=where, scope=scope)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                vector = (await self._aembed(embedder, [self._looked_for(query)]))[0]
            if (hits := await asyncio.to_thread(self._find, embedder, vector, find)) is not None:
                return hits

    def _looked_for(self, query: str) -> str:
        """Return what is embedded of a query: a secret finds turns by its placeholder, as they have it."""
        return clean_text(query if self.redact is None else self.redact(clean_text(query)))

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

    # Taking out, bringing in

    def export_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        vectors: bool = False,
    ) -> int:
        """Write turns to a file, one JSON object a line, oldest first; those that wait or failed too.

        Args:
            path: the file; one that is there is replaced, whole and atomically.
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope.
            vectors: whether the vectors are written too, with the name of their model.

        Returns:
            How many turns the file has.

        Raises:
            InvalidArgumentError, ArgumentTypeError: the path can't be used.
            ClosedError: the memory was closed while turns waited.
            StoreError: turns wait in a journal that can't be read just now.
            OSError: the file can't be written; one that was there is as it was.

        Examples:
            >>> import tempfile
            >>> from ffai.testing import FakeEmbedder
            >>> memory, other = Memory(FakeEmbedder()), Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     memory.export_jsonl(f"{folder}/turns.jsonl")
            ...     other.import_jsonl(f"{folder}/turns.jsonl").added
            1
            1
        """
        target, wanted = checked_path(path), TurnFilter.of(where, scope)
        with self._entering:
            check_target(target, self._collection)
            selection = select(self._collection, wanted)
        return export_turns(selection, target, vectors=vectors)

    async def aexport_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        vectors: bool = False,
    ) -> int:
        """Await :meth:`export_jsonl`."""
        return await asyncio.to_thread(self.export_jsonl, path, where=where, scope=scope, vectors=vectors)

    def import_jsonl(self, path: str | os.PathLike[str]) -> ImportResult:
        """Take in the turns of a file, each once; they are durable when this returns.

        Each line is a turn as :meth:`export_jsonl` writes it, or an object with ``prompt`` and ``response`` and, where
        wanted, ``timestamp``, ``metadata`` and ``scope``. Turns that have vectors of this memory's model are found at
        once; the others are embedded in the background.

        Args:
            path: the file, in UTF-8.

        Returns:
            How many turns were added, were known, or had expired.

        Raises:
            InvalidArgumentError: a line can't be used; names it and what is wrong. Nothing is taken in.
            ClosedError: the memory was closed.
            StoreError: the files can't be written just now.
            OSError: the file can't be read.
        """
        return import_turns(checked_path(path), self._receiving, self.redact)

    async def aimport_jsonl(self, path: str | os.PathLike[str]) -> ImportResult:
        """Await :meth:`import_jsonl`."""
        return await asyncio.to_thread(self.import_jsonl, path)

    @contextmanager
    def _receiving(self) -> Iterator[Collection]:
        with self._entering:
            yield self._open

    # Looking after it

    def reindex(self, new_embeddings: Embedder, *, progress: Progress | None = None) -> None:
        """Embed all stored texts again with another embedder, and use that one from now on.

        All or nothing: where it fails, the store is as it was. Turns that come meanwhile are embedded again too.

        Args:
            new_embeddings: makes the vectors from now on.
            progress: is called with how many turns are done, and how many there are.

        Raises:
            EmbeddingError: the new embedder gave vectors that can't be used.
            Exception: whatever the new embedder raises.
        """
        _check_embedder(new_embeddings)
        reembedding.reindex(self._open, new_embeddings, progress)

    async def areindex(self, new_embeddings: Embedder, *, progress: Progress | None = None) -> None:
        """Await :meth:`reindex`."""
        _check_embedder(new_embeddings)
        await asyncio.to_thread(self.reindex, new_embeddings, progress=progress)

    def count(self) -> int:
        """Return how many turns a search can find, those of other processes too."""
        self._collection.catch_up()
        return self.store.count()

    def forget(
        self,
        turn_ids: str | Ids[str] | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
    ) -> ForgetResult:
        """Forget turns for good: in memory, in the files and what was moved aside of them, and in other processes.

        A turn that is just being embedded, here or in another process, does not come back. When this returns, the
        text is nowhere in the folder any more, unless the result says where it remains and why.

        Args:
            turn_ids: which turns, as ``TurnHit.turn_id`` gives them; unknown ones do no harm. Turns from elsewhere
                with the same text, turn dict and metadata have the same id, and are forgotten together.
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope. Where several of the three are given, a turn must fulfil all.

        Raises:
            ArgumentTypeError: an id is not text, or a filter can't be used.
            InvalidArgumentError: nothing says which turns; :meth:`clear` forgets all.
            StoreError: the files can't be written just now. What is not forgotten yet is said; it is forgotten as soon
                as that works.
        """
        ids, wanted = None if turn_ids is None else check_ids("turn_ids", turn_ids), TurnFilter.of(where, scope)
        if ids is None and not wanted.conditions:
            raise InvalidArgumentError("forget needs turn_ids, where or scope; clear() forgets everything.")
        return forgetting.forget(self._open, ids, wanted)

    async def aforget(
        self,
        turn_ids: str | Ids[str] | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
    ) -> ForgetResult:
        """Await :meth:`forget`."""
        return await asyncio.to_thread(self.forget, turn_ids, where=where, scope=scope)

    def clear(self) -> None:
        """Forget all turns, those that wait to be embedded too; where they are persisted, the files as well.

        Raises:
            StoreError: the files can't be written just now; forget them later.
        """
        forgetting.clear(self._open)

    def when_forgotten(self, call: Forgotten) -> None:
        """Call something whenever turns are forgotten, so that it drops what it keeps of them.

        Args:
            call: takes the ids of the turns, and returns how much it dropped, by place; ``forget`` adds that to its
                counts. It may be called again with the same ids. A method is held weakly. All memories that this
                process keeps in the same files share their calls.

        Examples:
            >>> from ffai.testing import FakeEmbedder
            >>> Memory(FakeEmbedder()).when_forgotten(lambda turn_ids: {"notes": 0})
        """
        with self._entering:
            self._collection.listeners.add(call)

    def status(self) -> MemoryStatus:
        """Tell what is stored, what waits, what failed and why, and where the files are."""
        return self._collection.status()

    def verify(self) -> VerifyReport:
        """Look over the files, the journal and the memory: are they whole, and do they agree?

        Takes as long as opening the memory; nothing is changed.
        """
        return verifying.verify(self._open)

    async def averify(self) -> VerifyReport:
        """Await :meth:`verify`."""
        return await asyncio.to_thread(self.verify)

    def repair(self, timeout: float | None = None) -> VerifyReport:
        """Put right what :meth:`verify` finds.

        A file that can't be read is moved aside and written anew from what the memory holds; what the files lack is
        added; turns whose vector can't be searched are embedded again.

        Args:
            timeout: seconds to wait at the most until that is written; ``None`` waits as long as it takes.

        Returns:
            What :meth:`verify` finds afterwards.

        Raises:
            StoreError: the files can't be written just now.
        """
        seconds = _seconds(timeout)
        verifying.repair(self._open)
        self.flush(seconds)
        return self.verify()

    async def arepair(self, timeout: float | None = None) -> VerifyReport:
        """Await :meth:`repair`."""
        return await asyncio.to_thread(self.repair, timeout)

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

    def persist_to(
        self,
        folder: str | Path,
        name: str = "ffai_turns",
        *,
        durability: Durability = "process",
        on_model_change: OnModelChange = "reindex",
    ) -> None:
        """Keep the turns in ``<folder>/<name>.parquet``, and those on their way there in ``<name>.sqlite3``.

        Turns that the files hold already and turns of this memory are joined, each once. Where another memory of
        this process has the same files open, both share one store.

        Args:
            folder: made if it is missing.
            name: what the files are called.
            durability: ``"process"`` keeps accepted turns however the process ends; ``"power"`` also in a power cut.
            on_model_change: what happens to stored turns that another model has embedded: ``"reindex"`` embeds them
                again in the background; ``"error"`` raises.

        Raises:
            InvalidArgumentError: an argument can't be used, or the turns are kept in another place already.
            ModelChangedError: the stored turns were embedded by another model, and that is to be an error.
            StoreError: the folder is on a network file system.
            ClosedError: the memory was closed.
        """
        place = Place.at(folder, name)
        _check_choice("durability", durability, Durability)
        _check_choice("on_model_change", on_model_change, OnModelChange)
        check_local(place.folder)
        with self._entering:
            own = self._open
            if own.place is None:
                self._collection = joining.move_to(own, lambda: self._share(place, durability, on_model_change))
            elif own.place != place:
                raise InvalidArgumentError(f"The memory is kept in {str(own.place.file)!r} already.")

    def _share(self, place: Place, durability: Durability, on_model_change: OnModelChange) -> Collection:
        own = self._collection
        shared = sharing.acquire(
            place,
            lambda: open_collection(
                own.embedder, place, own.store, durability=durability, on_model_change=on_model_change
            ),
        )
        try:
            if shared.store is not own.store:
                joining.take_in(shared, own.store, own.embedder)
            shared.listeners.join(own.listeners)
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
        self._collection.catch_up()
        with self._collection.changing:  # a turn leaves the waiting ones a moment before it is in the store
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


def _check_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        raise InvalidArgumentError(f"{name} must be one of {get_args(choices)!r}, not {value!r}.")


def _seconds(timeout: float | None) -> float | None:
    """Check a time to wait; one that is longer than a lock can wait is for ever."""
    if timeout is None or check_number("timeout", timeout, least=0.0) > threading.TIMEOUT_MAX:
        return None
    return timeout
