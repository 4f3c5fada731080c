"""Memory: turns embedded, kept and recalled by meaning."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from ffai.core.arguments import check_number, check_timeout, check_timestamp
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import joining, sharing
from ffai.core.memory.collection import Collection
from ffai.core.memory.identity import NewTurn, new_turn, turn_from_elsewhere, with_scope
from ffai.core.memory.journal_file import Durability
from ffai.core.memory.mounts import check_local
from ffai.core.memory.opening import OnModelChange, open_collection
from ffai.core.memory.place import Place
from ffai.core.memory.status import FlushResult
from ffai.core.memory.turn_json import scope_of
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.upkeep import Upkeep
from ffai.core.memory.vectorise import embed_turns, texts_and_parts
from ffai.core.redact import Redactor
from ffai.core.scope_policy import Scope, scope_taken_now
from ffai.core.similarity import Vector
from ffai.core.turn import turn_text
from ffai.errors import InvalidArgumentError
from ffai.typing import Metadata


class Memory(Upkeep):
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
        super().__init__(embeddings, store, redact)
        self.ttl = None if ttl is None else check_number("ttl", ttl, least=0.0)
        """Seconds that a remembered turn is kept; ``None`` for ever."""

    # Adding

    def index_turn(self, turn: dict[str, Any], metadata: Metadata | None = None, *, scope: Scope | None = None) -> int:
        """Embed a turn's text now and store it.

        Args:
            turn: ``{"role", "content", "timestamp", "metadata"}``; all text parts of its content are embedded.
            metadata: what is given back with it.
            scope: whose turn it is; what the turn notes itself, if left out.

        Returns:
            Its position in the store.

        Raises:
            EmbeddingError: the embedder gave vectors that can't be used.
            Exception: whatever the embedder raises. Nothing is stored.
        """
        return self.index_turn_text(turn_text(turn), turn, metadata, scope=scope)

    def index_turn_text(
        self, text: str, turn: dict[str, Any], metadata: Metadata | None = None, *, scope: Scope | None = None
    ) -> int:
        """Embed a text now and store a turn beside it; see :meth:`index_turn`."""
        new = turn_from_elsewhere(text, self._of_scope(turn, scope), metadata, redact=self.redact)
        embedder = self.embeddings
        position = self._add(new, embed_turns(embedder, [new.text])[0], embedder)
        return self.index_turn_text(text, turn, metadata, scope=scope) if position is None else position

    @scope_taken_now
    async def aindex_turn(
        self, turn: dict[str, Any], metadata: Metadata | None = None, *, scope: Scope | None = None
    ) -> int:
        """Await :meth:`index_turn`."""
        return await self.aindex_turn_text(turn_text(turn), turn, metadata, scope=scope)

    @scope_taken_now
    async def aindex_turn_text(
        self, text: str, turn: dict[str, Any], metadata: Metadata | None = None, *, scope: Scope | None = None
    ) -> int:
        """Await :meth:`index_turn_text`."""
        new = turn_from_elsewhere(text, self._of_scope(turn, scope), metadata, redact=self.redact)
        embedder = self.embeddings
        vectors = await self._aembed(embedder, texts_and_parts(new.text))
        position = await asyncio.to_thread(self._add, new, vectors, embedder)
        return await self.aindex_turn_text(text, turn, metadata, scope=scope) if position is None else position

    def _of_scope(self, turn: dict[str, Any], scope: Scope | None) -> dict[str, Any]:
        """Return a turn with its scope noted; as it is, where nothing says whose it is."""
        if scope is None and self._policy.is_open:
            return turn
        given = scope_of(turn) if scope is None and isinstance(turn, dict) else scope
        return with_scope(turn, self.accepted_scope(given))

    def _add(self, turn: NewTurn, vectors: Sequence[Vector], embedder: Embedder) -> int | None:
        with self._shared.entering:
            return self._open.add(turn, vectors, embedder)

    def remember(
        self,
        prompt: str,
        response: str,
        *,
        scope: Scope | None = None,
        agent_actor_id: str | None = None,
        timestamp: float | None = None,
        expires_at: float | None = None,
        metadata: Metadata | None = None,
    ) -> str:
        """Accept a question and its answer. They are durable when this returns, and embedded in the background.

        Args:
            prompt: what was asked.
            response: what was answered.
            scope: whose turn it is.
            agent_actor_id: who answered, up to 64 characters: takes part in the turn's conversation from then on.
            timestamp: when it was, in seconds since the epoch; now if left out.
            expires_at: when it is forgotten, in seconds since the epoch; as the memory's ``ttl`` says if left out.
            metadata: what is given back with it; dates, paths, sets and bytes become text.

        Returns:
            The turn's id.

        Raises:
            ArgumentTypeError: an argument has a wrong type, or the metadata a value that can't be stored.
            ScopeValidationError: the turn can't be stored with that scope.
            ClosedError: the memory was closed.
        """
        if expires_at is None and self.ttl is not None:
            expires_at = (time.time() if timestamp is None else check_timestamp("timestamp", timestamp)) + self.ttl
        turn = new_turn(
            prompt,
            response,
            scope=self.accepted_scope(scope),
            agent_actor_id=agent_actor_id,
            timestamp=timestamp,
            expires_at=expires_at,
            metadata=metadata,
            redact=self.redact,
        )
        with self._shared.entering:
            self._open.accept(turn)
        return turn.turn_id

    # Files and the end

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
        with self._shared.keeping, self._shared.entering:
            own = self._open
            if own.place is None:
                self._shared.collection = joining.move_to(own, lambda: self._share(place, durability, on_model_change))
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
        with contextlib.ExitStack() as sharing_it:
            sharing_it.callback(_give_back, shared)
            if shared.store is not own.store:
                joining.take_in(shared, own.store, own.embedder)
            shared.listeners.join(own.listeners)
            sharing_it.pop_all()
        return shared

    def close(self, timeout: float | None = 5.0) -> FlushResult:
        """Flush within the time and end the worker. Turns that were not embedded by then wait for the next start.

        A closed memory can still be searched. Closing it again does nothing.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            What became of the turns.
        """
        limit = check_timeout(timeout)
        with self._shared.entering:
            if not self._shared.closed:
                self._shared.closed, self._shared.is_last = True, sharing.release(self._collection)
        return self._collection.close(limit) if self._shared.is_last else self._collection.flush(limit)

    async def aclose(self, timeout: float | None = 5.0) -> FlushResult:
        """Await :meth:`close`."""
        return await asyncio.to_thread(self.close, check_timeout(timeout))


def _give_back(shared: Collection) -> None:
    if sharing.release(shared):
        shared.close(0.0)


def _check_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        raise InvalidArgumentError(f"{name} must be one of {get_args(choices)!r}, not {value!r}.")
