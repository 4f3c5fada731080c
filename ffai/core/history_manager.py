"""The read side of the histories, and of the memory behind them: what ``ffai.history`` is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ffai.core.arguments import check_ids, check_search
from ffai.core.history.export import HistoryExporter
from ffai.core.history.queries import HistoryQueries, make_frame
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.memory.filters import TurnFilter, Where
from ffai.core.memory.question import Mode, Question
from ffai.core.redact import Redactor
from ffai.core.scope import check_actor_id
from ffai.core.scope_policy import Scope, ScopePolicy, scope_taken_now
from ffai.errors import ArgumentTypeError

if TYPE_CHECKING:
    from ffai.core.memory.hit import TurnHit
    from ffai.core.memory.memory import Memory
    from ffai.core.memory.status import FlushResult


_HISTORIES = ("history", "clean_history", "ordered")
"""The histories that have a frame and a file, as the files are named."""


class HistoryManager(HistoryQueries):
    """Reads the four histories, searches the memory, and makes frames and files.

    Whatever it returns is a copy. A call as a dict is ``Interaction.to_dict()``.

    Args:
        recorder: what writes the histories.
        persist_dir: the folder of the Parquet files; made when the first is written.
        persist_name: how the names of the Parquet files start.
        auto_persist: each ``..._to_dataframe()`` also writes its file. A failure to write is logged.
        redact: replaces secrets in the files. What is in memory, and what is returned, stays as it was said.

    Every query takes a ``scope``, which narrows it to the calls of a person, a conversation, or both.

    Examples:
        >>> recorder = HistoryRecorder()
        >>> history = HistoryManager(recorder)
        >>> _ = recorder.record("Capital of France?", "<think>easy</think>Paris", "some-model", prompt_name="capital")
        >>> history.raw[0]["response"], history.clean[0]["response"]
        ('<think>easy</think>Paris', 'Paris')
        >>> history.search("the capital")  # no memory: nothing to find
        []
    """

    def __init__(
        self,
        recorder: HistoryRecorder,
        *,
        persist_dir: str | Path | None = None,
        persist_name: str | None = None,
        auto_persist: bool = False,
        redact: Redactor | None = None,
    ) -> None:
        super().__init__(recorder, HistoryExporter(persist_dir, persist_name, redact), auto_persist=auto_persist)
        self._memory = cast("Memory | None", recorder.memory)

    def scoped(self, scope: Scope) -> HistoryManager:
        """Return the same histories as one person sees them, with a scope under that of each query.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.

        Examples:
            >>> from ffai import MemoryScope
            >>> recorder = HistoryRecorder()
            >>> _ = recorder.record("Hi", "Hello, Alice!", "some-model", scope=MemoryScope.user("alice"))
            >>> history = HistoryManager(recorder)
            >>> len(history.scoped(MemoryScope.user("alice")).raw), len(history.scoped(MemoryScope.user("bob")).raw)
            (1, 0)
        """
        return self.under(self._policy.narrowed(scope))

    def under(self, policy: ScopePolicy) -> HistoryManager:
        """Return the same histories with what applies to the scopes of their queries.

        Raises:
            ArgumentTypeError: the memory knows no scopes.
        """
        view = copy.copy(self)
        view._policy = policy
        if self._memory is not None:
            view._memory = scoped_memory(self._memory, policy)
        return view

    @property
    def memory(self) -> Memory | None:
        """What remembers the turns; ``None`` when memory is off."""
        return self._memory

    def search(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "vector",
        as_of: float | None = None,
        half_life: float | None = None,
        explain: bool = False,
        wait: float | None = 2.0,
    ) -> list[TurnHit]:
        """Find past turns, by meaning unless told otherwise.

        Args:
            query: what to look for.
            top_k: turns to return; none for 0 and less.
            threshold: the least score, a cosine in ``[-1, 1]``; ``None`` sets none.
            where: only turns whose metadata has these values under these keys, as ``{"prompt_name": "travel"}``;
                compared as JSON, so that ``1`` is neither ``"1"`` nor ``True``.
            scope: only turns of this scope: each field that is given must be the same, as a whole value, and all
                participants must have taken part in the turn's conversation.
            speaker_actor_id: who asks, up to 64 characters. It never changes which turns may be found.
            speaker_rewrite: whether English words of the first person stand for who asks, by the name that the last
                turn with one gives, else by the id: other turns may then come first.
            mode: ``"vector"``, by meaning; ``"keyword"``, by words, where some are the same; ``"hybrid"``, by both,
                and by speakers and times that the question names. ``hit.score`` is the cosine in each.
            as_of: when it is asked, for words such as "yesterday": seconds since the epoch; now if left out.
            half_life: for ``"hybrid"``: seconds after which being recent counts half; ``None`` lets it not count.
            explain: whether ``hit.explained`` tells what its place is made of.
            wait: seconds to wait, at most, for turns that were accepted and are not indexed yet; ``None`` waits as long
                as it takes.

        Returns:
            Hits, best first; exact repeats (the same text in the same scope) count once, and ``hit.repeats`` and
            ``hit.last_timestamp`` tell how many they are and when the last was said. ``[]`` when memory is off.

        Raises:
            InvalidArgumentError: the query is blank; ``threshold`` is NaN; ``wait`` is negative or NaN;
                (:class:`ScopeValidationError`) the scope can't be used, also when memory is off.
            ArgumentTypeError: an argument has a wrong type; a scope has no such field.
        """
        check_search(query, top_k, threshold, wait)
        check_actor_id("speaker_actor_id", speaker_actor_id)
        if self.memory is None:
            wanted = TurnFilter.of(where, self._policy.searching(scope))
            Question.of(query, wanted=wanted, mode=mode, as_of=as_of, half_life=half_life)
            return []
        return self.memory.search(
            query,
            top_k,
            threshold,
            where=where,
            scope=scope,
            speaker_actor_id=speaker_actor_id,
            speaker_rewrite=speaker_rewrite,
            mode=mode,
            as_of=as_of,
            half_life=half_life,
            explain=explain,
            wait=wait,
            distinct=True,
        )

    @scope_taken_now
    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "vector",
        as_of: float | None = None,
        half_life: float | None = None,
        explain: bool = False,
        wait: float | None = 2.0,
    ) -> list[TurnHit]:
        """Find past turns by meaning, awaited; see ``search``."""
        check_search(query, top_k, threshold, wait)
        check_actor_id("speaker_actor_id", speaker_actor_id)
        if self.memory is None:
            wanted = TurnFilter.of(where, self._policy.searching(scope))
            Question.of(query, wanted=wanted, mode=mode, as_of=as_of, half_life=half_life)
            return []
        return await self.memory.asearch(
            query,
            top_k,
            threshold,
            where=where,
            scope=scope,
            speaker_actor_id=speaker_actor_id,
            speaker_rewrite=speaker_rewrite,
            mode=mode,
            as_of=as_of,
            half_life=half_life,
            explain=explain,
            wait=wait,
            distinct=True,
        )

    def flush(self, timeout: float | None = None) -> FlushResult | None:
        """Wait until every turn is indexed or failed, for ``timeout`` seconds at most; see ``Memory.flush``.

        Returns:
            The memory's counts; ``None`` when memory is off.
        """
        return None if self.memory is None else self.memory.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> FlushResult | None:
        """Flush, awaited."""
        return None if self.memory is None else await self.memory.aflush(timeout)

    def persist_all_histories(self) -> bool:
        """Write ``<persist_dir>/<persist_name>_{history,clean_history,ordered}.parquet``, each whole or not at all.

        The files are everybody's, also where these histories are scoped.

        Returns:
            Whether all are written; an empty history needs no file. A failure is logged.
        """
        return self._exporter.write({name: partial(make_frame, name, self._recorder) for name in _HISTORIES})

    def forget(self, turn_ids: Iterable[str]) -> dict[str, int]:
        """Drop turns from the histories, and from every exported history in ``persist_dir``; the others stay.

        Returns:
            ``history_calls``, ``permanent_turns``, ``exported_rows``, ``export_files_left`` (each of those is logged).
        """
        ids = check_ids("turn_ids", turn_ids)
        if (seen := self._seen()) is not self._recorder:
            ids &= {call.turn_id for call in seen.log.all() if call.turn_id is not None}
        return {**self._recorder.forget(ids), **self._exporter.forget(ids)}


def scoped_memory(memory: Memory, policy: ScopePolicy) -> Memory:
    """Return a memory with what applies to the scopes of its calls.

    Raises:
        ArgumentTypeError: it knows no scopes.
    """
    if callable(getattr(memory, "under", None)):
        return memory.under(policy)
    if policy.is_open:
        return memory
    raise ArgumentTypeError(f"memory must be a Memory where scopes are set for all calls; {memory!r} knows none.")
