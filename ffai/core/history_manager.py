"""The read side of the histories, and of the memory behind them: what ``ffai.history`` is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ffai.core.arguments import check_ids, check_search, check_whole
from ffai.core.history.clean import clean_text
from ffai.core.history.export import HistoryExporter
from ffai.core.history.frames import count_frame, counts_by_date, matching, response_lengths, to_frame
from ffai.core.history.interaction import Interaction
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.history.records import Record, Records, raw_record
from ffai.core.memory.filters import Scope, TurnFilter, Where
from ffai.core.redact import Redactor

if TYPE_CHECKING:
    import polars as pl

    from ffai.core.memory.hit import TurnHit
    from ffai.core.memory.memory import Memory
    from ffai.core.memory.status import FlushResult


_HISTORIES = ("history", "clean_history", "ordered")
"""The histories that have a frame and a file, as the files are named."""
_came_back, _cleaned = attrgetter("response"), attrgetter("clean_response")


class HistoryManager:
    """Reads the four histories, searches the memory, and makes frames and files.

    Whatever it returns is a copy. A call as a dict is ``Interaction.to_dict()``.

    Args:
        recorder: what writes the histories.
        persist_dir: the folder of the Parquet files; made when the first is written.
        persist_name: how the names of the Parquet files start.
        auto_persist: each ``..._to_dataframe()`` also writes its file. A failure to write is logged.
        redact: replaces secrets in the files. What is in memory, and what is returned, stays as it was said.

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
        self._recorder, self._auto_persist = recorder, auto_persist
        self._exporter = HistoryExporter(persist_dir, persist_name, redact)

    @property
    def raw(self) -> Records:
        """The calls as dicts, with what came back."""
        return self._recorder.raw

    @property
    def clean(self) -> Records:
        """The calls as dicts, with cleaned responses."""
        return self._recorder.clean

    @property
    def permanent(self) -> PermanentHistory:
        """Everything that was said, turn by turn."""
        return self._recorder.permanent

    @property
    def ordered(self) -> OrderedPromptHistory:
        """The calls by number and by name, with cleaned responses."""
        return self._recorder.ordered

    @property
    def memory(self) -> Memory | None:
        """What remembers the turns; ``None`` when memory is off."""
        return cast("Memory | None", self._recorder.memory)

    def search(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        wait: float | None = 2.0,
    ) -> list[TurnHit]:
        """Find past turns by meaning.

        Args:
            query: what to look for.
            top_k: turns to return; none for 0 and less.
            threshold: the least score, a cosine in ``[-1, 1]``; ``None`` sets none.
            where: only turns whose metadata has these values under these keys, as ``{"prompt_name": "travel"}``;
                compared as JSON, so that ``1`` is neither ``"1"`` nor ``True``.
            scope: only turns of this scope: each field that is given must be the same, as a whole value.
            wait: seconds to wait, at most, for turns that were accepted and are not indexed yet; ``None`` waits as long
                as it takes.

        Returns:
            Hits, best first; exact repeats (the same text in the same scope) count once, and ``hit.repeats`` and
            ``hit.last_timestamp`` tell how many they are and when the last was said. ``[]`` when memory is off.

        Raises:
            InvalidArgumentError: the query is blank; ``threshold`` is NaN; ``wait`` is negative or NaN;
                a scope has no such field.
            ArgumentTypeError: an argument has a wrong type.
        """
        check_search(query, top_k, threshold, wait)
        TurnFilter.of(where, scope)
        if self.memory is None:
            return []
        return self.memory.search(query, top_k, threshold, where=where, scope=scope, wait=wait, distinct=True)

    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        wait: float | None = 2.0,
    ) -> list[TurnHit]:
        """Find past turns by meaning, awaited; see ``search``."""
        check_search(query, top_k, threshold, wait)
        TurnFilter.of(where, scope)
        if self.memory is None:
            return []
        return await self.memory.asearch(query, top_k, threshold, where=where, scope=scope, wait=wait, distinct=True)

    def flush(self, timeout: float | None = None) -> FlushResult | None:
        """Wait until every turn is indexed or failed, for ``timeout`` seconds at most; see ``Memory.flush``.

        Returns:
            The memory's counts; ``None`` when memory is off.
        """
        return None if self.memory is None else self.memory.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> FlushResult | None:
        """Flush, awaited."""
        return None if self.memory is None else await self.memory.aflush(timeout)

    def get_interaction_history(self) -> list[Record]:
        """Return every call, with what came back, oldest first."""
        return list(self.raw)

    def get_clean_interaction_history(self) -> list[Record]:
        """Return every call, with cleaned responses, oldest first."""
        return list(self.clean)

    def get_all_interactions(self) -> list[Interaction]:
        """Return every call of the ordered history, oldest first."""
        return self.ordered.get_all_interactions()

    def get_latest_interaction(self) -> Record | None:
        """Return the newest call of the ordered history."""
        return next(iter(self.get_last_n_interactions(1)), None)

    def get_latest_interaction_by_prompt_name(self, prompt_name: str) -> Record | None:
        """Return the newest call with a name, with what came back."""
        call = self._recorder.log.newest(prompt_name, lambda call: call.prompt_name == prompt_name)
        return None if call is None else raw_record(call)

    def get_last_n_interactions(self, n: int) -> list[Record]:
        """Return the last ``n`` calls of the ordered history, oldest first; none for 0.

        Raises:
            InvalidArgumentError: ``n`` is negative.
            ArgumentTypeError: ``n`` is not a whole number.
        """
        return _dicts(self.ordered.get_last_n_interactions(check_whole("n", n, least=0)))

    def get_interaction(self, sequence_number: int) -> Record | None:
        """Return the call of the ordered history with a number."""
        call = self.ordered.get_interaction(check_whole("sequence_number", sequence_number))
        return None if call is None else call.to_dict()

    def get_model_interactions(self, model: str) -> list[Record]:
        """Return the calls of a model, oldest first."""
        return _dicts(self.ordered.get_interactions_by_model(model))

    def get_interactions_by_prompt_name(self, prompt_name: str) -> list[Record]:
        """Return the calls with a name, oldest first."""
        return _dicts(self.ordered.get_interactions_by_prompt_name(prompt_name))

    def get_prompt_history(self) -> list[str]:
        """Return every prompt, as it was given, oldest first."""
        return [call.prompt for call in self._recorder.log.all()]

    def get_response_history(self) -> list[str]:
        """Return every cleaned response as text, oldest first; ``""`` where nothing came back."""
        return [clean_text(call.clean_response) for call in self._recorder.log.all()]

    def get_model_usage_stats(self) -> dict[str, int]:
        """Return how many calls each model has."""
        return dict(Counter(call.model for call in self._recorder.log.all()))

    def get_prompt_name_usage_stats(self) -> dict[str, int]:
        """Return how many calls each prompt name has; a call without one counts under its prompt."""
        return self.ordered.get_prompt_name_usage_stats()

    def get_prompt_dict(self) -> dict[str, list[Record]]:
        """Return every call, by prompt name."""
        return self.ordered.to_dict()

    def get_latest_responses_by_prompt_names(self, prompt_names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return ``{"prompt", "response"}`` of the newest answer to each name that was answered."""
        return self.ordered.get_latest_responses_by_prompt_names(prompt_names)

    def get_formatted_responses(self, prompt_names: Iterable[str]) -> str:
        """Return the newest answers, and those that they build on, as ``<prompt:PROMPT>RESPONSE</prompt:PROMPT>``."""
        return self.ordered.get_formatted_responses(prompt_names)

    def history_to_dataframe(self) -> pl.DataFrame:
        """Return the raw history as a polars frame: one row a call, with its time in UTC.

        Raises:
            StoreError: this process was forked from one that had loaded polars; so for every frame.
        """
        return self._frame("history")

    def clean_history_to_dataframe(self) -> pl.DataFrame:
        """Return the clean history as a polars frame."""
        return self._frame("clean_history")

    def ordered_history_to_dataframe(self) -> pl.DataFrame:
        """Return the ordered history as a polars frame."""
        return self._frame("ordered")

    def search_history(
        self,
        text: str | None = None,
        prompt_name: str | None = None,
        model: str | None = None,
        start_time: float | None = None,
        end_time: float | None = None,
    ) -> pl.DataFrame:
        """Return the calls of the raw history that all given filters accept, as a polars frame.

        Args:
            text: looked for as it is, in either case, in the prompt and in the response.
            prompt_name: the whole name.
            model: the whole name.
            start_time: seconds since the epoch, inclusive.
            end_time: seconds since the epoch, inclusive.
        """
        found = matching(
            self._recorder.log.all(),
            text=text,
            prompt_name=prompt_name,
            model=model,
            start_time=start_time,
            end_time=end_time,
        )
        return to_frame(found, _came_back)

    def get_model_stats_df(self) -> pl.DataFrame:
        """Return ``model`` and ``count``."""
        return count_frame("model", self.get_model_usage_stats())

    def get_prompt_name_stats_df(self) -> pl.DataFrame:
        """Return ``prompt_name`` and ``count``."""
        return count_frame("prompt_name", self.get_prompt_name_usage_stats())

    def get_response_length_stats(self) -> pl.DataFrame:
        """Return ``prompt_name``, ``mean_length``, ``min_length``, ``max_length`` (characters) and ``count``."""
        return response_lengths(self._make_frame("history"))

    def interaction_counts_by_date(self) -> pl.DataFrame:
        """Return ``date`` (UTC) and ``len``, the oldest day first."""
        return counts_by_date(self._make_frame("history"))

    def persist_all_histories(self) -> bool:
        """Write ``<persist_dir>/<persist_name>_{history,clean_history,ordered}.parquet``, each whole or not at all.

        Returns:
            Whether all are written; an empty history needs no file. A failure is logged.
        """
        return self._exporter.write({name: partial(self._make_frame, name) for name in _HISTORIES})

    def forget(self, turn_ids: Iterable[str]) -> dict[str, int]:
        """Drop turns from the histories, and from every exported history in ``persist_dir``; the others stay.

        Returns:
            ``history_calls``, ``permanent_turns``, ``exported_rows``, ``export_files_left`` (each of those is logged).
        """
        ids = check_ids("turn_ids", turn_ids)
        return {**self._recorder.forget(ids), **self._exporter.forget(ids)}

    def _frame(self, name: str) -> pl.DataFrame:
        if not self._auto_persist:
            return self._make_frame(name)
        with self._exporter.kept_still():
            frame = self._make_frame(name)
            self._exporter.write({name: lambda: frame})
        return frame

    def _make_frame(self, name: str) -> pl.DataFrame:
        calls = self.get_all_interactions() if name == "ordered" else self._recorder.log.all()
        return to_frame(calls, _cleaned if name == "clean_history" else _came_back)


def _dicts(calls: Iterable[Interaction]) -> list[Record]:
    return [call.to_dict() for call in calls]
