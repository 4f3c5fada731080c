"""Taking turns out of a memory and bringing them in, forgetting them, and keeping the memory in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection as Ids
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from ffai.core.arguments import check_ids, check_timeout
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import forgetting, reembedding, verifying
from ffai.core.memory.chat_logs import LogFormat, LogOwner, check_format
from ffai.core.memory.collection import Collection
from ffai.core.memory.exporting import check_target, checked_path, export_turns, select
from ffai.core.memory.filters import TurnFilter, Where
from ffai.core.memory.importing import ImportResult, import_turns
from ffai.core.memory.listeners import Forgotten
from ffai.core.memory.recall import check_embedder
from ffai.core.memory.reembedding import Progress
from ffai.core.memory.retrieval import Retrieval
from ffai.core.memory.status import FlushResult, ForgetResult, MemoryStatus
from ffai.core.memory.verifying import VerifyReport
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope, scope_taken_now
from ffai.errors import InvalidArgumentError


class Upkeep(Retrieval):
    """The side of a :class:`~ffai.core.memory.memory.Memory` that looks after its turns."""

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
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory, other = Memory(FakeEmbedder()), Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     memory.export_jsonl(f"{folder}/turns.jsonl")
            ...     other.import_jsonl(f"{folder}/turns.jsonl").added
            1
            1
        """
        target, wanted = checked_path(path), self._wanted(where, scope)
        with self._shared.entering:
            check_target(target, self._collection)
            selection = select(self._collection, wanted)
        return export_turns(selection, target, vectors=vectors)

    @scope_taken_now
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

    def import_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        format: LogFormat | None = None,  # noqa: A002 - the word for it
        scope: Scope | None = None,
    ) -> ImportResult:
        """Take in the turns of a file, each once; they are durable when this returns.

        Turns that have vectors of this memory's model are found at once; the others are embedded in the background.
        A chat log is cut into exchanges, which have the same ids every time: one that has grown adds what is new.

        Args:
            path: the file, in UTF-8.
            format: ``"ffai"``, a turn a line as :meth:`export_jsonl` writes it, or an object with ``prompt`` and
                ``response`` and, where wanted, ``timestamp``, ``metadata`` and ``scope``; ``"openai"``, conversations
                as ``{"messages": [...]}``; ``"chatgpt"``, the ``conversations.json`` that ChatGPT exports. ``None``
                looks which.
            scope: whose chat log it is, with ``actor_id`` and ``actor_type``; each turn gets its conversation besides.
                A scoped memory's own scope lies under it, and under that of each ``prompt`` and ``response``. Without
                either the turns belong to nobody, and name their conversation in their metadata alone.

        Returns:
            How many turns were added, were known, or had expired.

        Raises:
            InvalidArgumentError: a line or a conversation can't be used; names it and what is wrong. Nothing is taken
                in.
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
            ClosedError: the memory was closed.
            StoreError: the files can't be written just now.
            OSError: the file can't be read.
        """
        check_format(format)
        return import_turns(checked_path(path), self._receiving, self.redact, format=format, whose=self._log(scope))

    def _log(self, scope: Scope | None) -> LogOwner:
        """Say whose a chat log is, as far as this memory lets it be."""
        given = MemoryScope.of(scope)
        allowed = partial(self._policy.adding, given)
        if scope is not None:
            allowed()  # a wrong one is refused before the file is opened
        is_given = scope is not None and not given.is_all
        source = self._policy.default.merged(given).source_type
        of_line = None if self._policy.is_open else self._policy.adding
        return LogOwner(allowed, is_given=is_given, source=source, of_line=of_line)

    @scope_taken_now
    async def aimport_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        format: LogFormat | None = None,  # noqa: A002
        scope: Scope | None = None,
    ) -> ImportResult:
        """Await :meth:`import_jsonl`."""
        return await asyncio.to_thread(self.import_jsonl, path, format=format, scope=scope)

    @contextmanager
    def _receiving(self) -> Iterator[Collection]:
        with self._shared.entering:
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
        check_embedder(new_embeddings)
        reembedding.reindex(self._open, new_embeddings, progress)

    async def areindex(self, new_embeddings: Embedder, *, progress: Progress | None = None) -> None:
        """Await :meth:`reindex`."""
        check_embedder(new_embeddings)
        await asyncio.to_thread(self.reindex, new_embeddings, progress=progress)

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
        ids, wanted = None if turn_ids is None else check_ids("turn_ids", turn_ids), self._wanted(where, scope)
        if ids is None and (wanted.allows_all or (where is None and scope is None)):
            raise InvalidArgumentError("forget needs turn_ids, where or scope; clear() forgets everything.")
        collection = self._open
        self._shared.recalled.clear()
        return forgetting.forget(collection, ids, wanted)

    @scope_taken_now
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

        A scoped memory forgets all turns of its scope.

        Raises:
            StoreError: the files can't be written just now; forget them later.
        """
        wanted, collection = self._wanted(None, None), self._open
        self._shared.recalled.clear()
        if wanted.allows_all:
            forgetting.clear(collection)
        else:
            forgetting.forget(collection, None, wanted)

    def when_forgotten(self, call: Forgotten) -> None:
        """Call something whenever turns are forgotten, so that it drops what it keeps of them.

        Args:
            call: takes the ids of the turns, and returns how much it dropped, by place; ``forget`` adds that to its
                counts. It may be called again with the same ids. A method is held weakly. All memories that this
                process keeps in the same files share their calls.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> Memory(FakeEmbedder()).when_forgotten(lambda turn_ids: {"notes": 0})
        """
        with self._shared.entering:
            self._collection.listeners.add(call)

    def status(self) -> MemoryStatus:
        """Tell what is stored, what waits, what failed and why, and where the files are.

        Numbers are those of all turns; a scoped memory names only failed turns of its scope.
        """
        status = self._collection.status()
        if not status.failed or self._policy.is_open or self._policy.default.is_all:
            return status
        shown = self._failed_ids(TurnFilter.of(None, self._policy.default))
        return replace(status, failed=tuple(turn for turn in status.failed if turn.turn_id in shown))

    def _failed_ids(self, wanted: TurnFilter) -> set[str]:
        if wanted.allows_all:  # a scope is required, and none was given
            return set()
        unembedded = self._collection.journal.read(lambda journal: journal.unembedded())
        wanted = self.settled(wanted)
        return {turn.turn_id for turn in unembedded if wanted.allows(turn)}

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
        limit = check_timeout(timeout)
        verifying.repair(self._open)
        self.flush(limit)
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

    # Waiting

    def flush(self, timeout: float | None = None) -> FlushResult:
        """Wait until every turn accepted so far is indexed or failed, and the file, if there is one, holds it.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            What became of the turns. A turn that waits for another try counts as failed.
        """
        return self._collection.flush(check_timeout(timeout))

    async def aflush(self, timeout: float | None = None) -> FlushResult:
        """Await :meth:`flush`."""
        return await asyncio.to_thread(self.flush, check_timeout(timeout))
