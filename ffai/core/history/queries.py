"""What can be asked of the histories: calls, by number, name, model or time, and frames of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from ffai.core.arguments import check_whole
from ffai.core.history.clean import clean_text
from ffai.core.history.export import HistoryExporter
from ffai.core.history.frames import count_frame, counts_by_date, matching, response_lengths, to_frame
from ffai.core.history.histories import Histories
from ffai.core.history.interaction import Interaction
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.history.records import Record, Records, raw_record
from ffai.core.history.scoped import ScopedPermanent
from ffai.core.scope_policy import OPEN, Scope

if TYPE_CHECKING:
    import polars as pl

_came_back, _cleaned = attrgetter("response"), attrgetter("clean_response")


class HistoryQueries:
    """The queries of a :class:`~ffai.core.history_manager.HistoryManager`: each narrows to a scope where one is given.

    Args:
        recorder: what writes the histories.
        exporter: writes the files.
        auto_persist: whether a frame of a whole history is also written to its file.
    """

    def __init__(self, recorder: HistoryRecorder, exporter: HistoryExporter, *, auto_persist: bool) -> None:
        self._recorder, self._exporter, self._auto_persist = recorder, exporter, auto_persist
        self._policy = OPEN

    def _seen(self, scope: Scope | None = None) -> Histories:
        return self._recorder.seen_by(self._policy.searching(scope))

    @property
    def raw(self) -> Records:
        """The calls as dicts, with what came back."""
        return self._seen().raw

    @property
    def clean(self) -> Records:
        """The calls as dicts, with cleaned responses."""
        return self._seen().clean

    @property
    def permanent(self) -> PermanentHistory | ScopedPermanent:
        """Everything that was said, turn by turn."""
        return self._seen().permanent

    @property
    def ordered(self) -> OrderedPromptHistory:
        """The calls by number and by name, with cleaned responses."""
        return self._seen().ordered

    def get_interaction_history(self, *, scope: Scope | None = None) -> list[Record]:
        """Return every call, with what came back, oldest first."""
        return list(self._seen(scope).raw)

    def get_clean_interaction_history(self, *, scope: Scope | None = None) -> list[Record]:
        """Return every call, with cleaned responses, oldest first."""
        return list(self._seen(scope).clean)

    def get_all_interactions(self, *, scope: Scope | None = None) -> list[Interaction]:
        """Return every call of the ordered history, oldest first."""
        return self._seen(scope).ordered.get_all_interactions()

    def get_latest_interaction(self, *, scope: Scope | None = None) -> Record | None:
        """Return the newest call of the ordered history."""
        return next(iter(self.get_last_n_interactions(1, scope=scope)), None)

    def get_latest_interaction_by_prompt_name(self, prompt_name: str, *, scope: Scope | None = None) -> Record | None:
        """Return the newest call with a name, with what came back."""
        call = self._seen(scope).log.newest(prompt_name, lambda call: call.prompt_name == prompt_name)
        return None if call is None else raw_record(call)

    def get_last_n_interactions(self, n: int, *, scope: Scope | None = None) -> list[Record]:
        """Return the last ``n`` calls of the ordered history, oldest first; none for 0.

        Raises:
            InvalidArgumentError: ``n`` is negative.
            ArgumentTypeError: ``n`` is not a whole number.
        """
        return _dicts(self._seen(scope).ordered.get_last_n_interactions(check_whole("n", n, least=0)))

    def get_interaction(self, sequence_number: int, *, scope: Scope | None = None) -> Record | None:
        """Return the call of the ordered history with a number."""
        call = self._seen(scope).ordered.get_interaction(check_whole("sequence_number", sequence_number))
        return None if call is None else call.to_dict()

    def get_model_interactions(self, model: str, *, scope: Scope | None = None) -> list[Record]:
        """Return the calls of a model, oldest first."""
        return _dicts(self._seen(scope).ordered.get_interactions_by_model(model))

    def get_interactions_by_prompt_name(self, prompt_name: str, *, scope: Scope | None = None) -> list[Record]:
        """Return the calls with a name, oldest first."""
        return _dicts(self._seen(scope).ordered.get_interactions_by_prompt_name(prompt_name))

    def get_prompt_history(self, *, scope: Scope | None = None) -> list[str]:
        """Return every prompt, as it was given, oldest first."""
        return [call.prompt for call in self._seen(scope).log.all()]

    def get_response_history(self, *, scope: Scope | None = None) -> list[str]:
        """Return every cleaned response as text, oldest first; ``""`` where nothing came back."""
        return [clean_text(call.clean_response) for call in self._seen(scope).log.all()]

    def get_model_usage_stats(self, *, scope: Scope | None = None) -> dict[str, int]:
        """Return how many calls each model has."""
        return dict(Counter(call.model for call in self._seen(scope).log.all()))

    def get_prompt_name_usage_stats(self, *, scope: Scope | None = None) -> dict[str, int]:
        """Return how many calls each prompt name has; a call without one counts under its prompt."""
        return self._seen(scope).ordered.get_prompt_name_usage_stats()

    def get_prompt_dict(self, *, scope: Scope | None = None) -> dict[str, list[Record]]:
        """Return every call, by prompt name."""
        return self._seen(scope).ordered.to_dict()

    def get_latest_responses_by_prompt_names(
        self, prompt_names: Iterable[str], *, scope: Scope | None = None
    ) -> dict[str, dict[str, str]]:
        """Return ``{"prompt", "response"}`` of the newest answer to each name that was answered."""
        return self._seen(scope).ordered.get_latest_responses_by_prompt_names(prompt_names)

    def get_formatted_responses(self, prompt_names: Iterable[str], *, scope: Scope | None = None) -> str:
        """Return the newest answers, and those that they build on, as ``<prompt:PROMPT>RESPONSE</prompt:PROMPT>``."""
        return self._seen(scope).ordered.get_formatted_responses(prompt_names)

    def history_to_dataframe(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return the raw history as a polars frame: one row a call, with its time in UTC.

        Raises:
            StoreError: this process was forked from one that had loaded polars; so for every frame.
        """
        return self._frame("history", scope)

    def clean_history_to_dataframe(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return the clean history as a polars frame."""
        return self._frame("clean_history", scope)

    def ordered_history_to_dataframe(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return the ordered history as a polars frame."""
        return self._frame("ordered", scope)

    def search_history(
        self,
        text: str | None = None,
        prompt_name: str | None = None,
        model: str | None = None,
        start_time: float | None = None,
        end_time: float | None = None,
        *,
        scope: Scope | None = None,
    ) -> pl.DataFrame:
        """Return the calls of the raw history that all given filters accept, as a polars frame.

        Args:
            text: looked for as it is, in either case, in the prompt and in the response.
            prompt_name: the whole name.
            model: the whole name.
            start_time: seconds since the epoch, inclusive.
            end_time: seconds since the epoch, inclusive.
            scope: only calls of this scope.
        """
        found = matching(
            self._seen(scope).log.all(),
            text=text,
            prompt_name=prompt_name,
            model=model,
            start_time=start_time,
            end_time=end_time,
        )
        return to_frame(found, _came_back)

    def get_model_stats_df(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return ``model`` and ``count``."""
        return count_frame("model", self.get_model_usage_stats(scope=scope))

    def get_prompt_name_stats_df(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return ``prompt_name`` and ``count``."""
        return count_frame("prompt_name", self.get_prompt_name_usage_stats(scope=scope))

    def get_response_length_stats(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return ``prompt_name``, ``mean_length``, ``min_length``, ``max_length`` (characters) and ``count``."""
        return response_lengths(make_frame("history", self._seen(scope)))

    def interaction_counts_by_date(self, *, scope: Scope | None = None) -> pl.DataFrame:
        """Return ``date`` (UTC) and ``len``, the oldest day first."""
        return counts_by_date(make_frame("history", self._seen(scope)))

    def _frame(self, name: str, scope: Scope | None) -> pl.DataFrame:
        seen = self._seen(scope)
        if not self._auto_persist or seen is not self._recorder:  # the files are everybody's
            return make_frame(name, seen)
        with self._exporter.kept_still():
            frame = make_frame(name, seen)
            self._exporter.write({name: lambda: frame})
        return frame


def make_frame(name: str, histories: Histories) -> pl.DataFrame:
    """Make the frame of a history, as its file is named.

    Examples:
        >>> make_frame("history", HistoryRecorder()).height
        0
    """
    calls = histories.ordered.get_all_interactions() if name == "ordered" else histories.log.all()
    return to_frame(calls, _cleaned if name == "clean_history" else _came_back)


def _dicts(calls: Iterable[Interaction]) -> list[Record]:
    return [call.to_dict() for call in calls]
