"""Memories that learn from outcomes: what worked is used again; what failed, or was long not tried, is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Unpack

from sqlalchemy.orm import Session

from ffai.chat.flow import Flow
from ffai.core.arguments import check_flag, check_number, check_text, check_timestamp, check_whole
from ffai.errors import InvalidArgumentError
from ffai.objects.memory import rows as memory_rows
from ffai.objects.memory.confidence import Confidence
from ffai.objects.memory.entry import as_json, read_entries
from ffai.objects.memory.learned import Asking, LearnedEntry, best_first, found, learned
from ffai.objects.memory.options import UNSET, Unset, check_duration, check_fraction, check_metadata, expiry_of
from ffai.objects.memory.outcome import LAST_ERROR, Outcome, Reporting, check_error, check_outcome, since, write_outcome
from ffai.objects.memory.paths import ancestors, check_key, check_scope
from ffai.objects.memory.record_memory import RecordMemory
from ffai.objects.memory.rows import Spot
from ffai.objects.memory.searcher import Searcher, hits_of
from ffai.objects.owner import Owner
from ffai.objects.steps import Step

_AT_ONCE = 1000
"""Ids in one UPDATE: SQLite takes 32,766 values in a statement, older builds 999 and a few."""


class LearningMemory:
    """What a record, or a class, has learned: values with a confidence that outcomes and time move.

    A value starts with ``success_confidence`` or ``failure_confidence``, by its first outcome. Each success then takes
    it ``reinforcement`` of the way to 1, each failure as far to ``failure_confidence``. Without outcomes it halves
    every ``half_life``; reading does not keep it fresh. `recall` gives out what is at least ``min_confidence``: so a
    value that began with a failure is promoted by its second success: 0.3, 0.65, 0.825.

    The values are memories in version 1: `RecordMemory` reads and writes them too. Each method has a twin that is
    awaited, with ``a`` in front. Outcomes of one value that are reported at once wait for each other: on SQLite as long
    as the connection's ``timeout`` says, 5 seconds unless set.

    Args:
        memory: where they are.
        whose: a record, or a mapped class.
        min_confidence: what is less sure is not given out.
        success_confidence: what a first success starts with.
        failure_confidence: what a first failure starts with, and what failures lead to.
        reinforcement: the part of the way that one outcome goes, 0 to 1.
        half_life: seconds, or a ``timedelta``; ``None`` for no wear.
        searcher: finds records for a query; see `Searcher`.
        clock: gives seconds since the epoch; ``None`` for that of ``memory``.

    Raises:
        ArgumentTypeError, InvalidArgumentError: an argument can't be used.

    Examples:
        >>> from sqlalchemy import Column, String, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase
        >>> class Base(DeclarativeBase): pass
        >>> class Parser(Base):
        ...     __tablename__ = "parsers"
        ...     id = Column(String, primary_key=True)
        >>> memory = RecordMemory(create_engine("sqlite://"))
        >>> memory.create_all()
        >>> learning = LearningMemory(memory, Parser(id="p-1"))
        >>> learning.capture("example.com", "selector", "article .body", success=True).confidence
        0.9
        >>> learning.capture("example.com", "selector", success=False, error="nothing matched").confidence
        0.6
        >>> learning.recall("example.com/news"), learning.recall("example.com/news", min_confidence=0.5)[0].value
        ([], 'article .body')
    """

    def __init__(
        self,
        memory: RecordMemory,
        whose: object,
        *,
        min_confidence: float = 0.7,
        success_confidence: float = 0.9,
        failure_confidence: float = 0.3,
        reinforcement: float = 0.5,
        half_life: float | timedelta | None = None,
        searcher: Searcher | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._memory, self._whose, self._searcher = memory, whose, searcher
        self._clock = memory.flows.clock if clock is None else clock
        self._table = memory.flows.table
        self._confidence = Confidence(
            floor=check_fraction("min_confidence", min_confidence),
            success=check_fraction("success_confidence", success_confidence),
            failure=check_fraction("failure_confidence", failure_confidence),
            reinforcement=check_fraction("reinforcement", reinforcement),
            half_life=None if half_life is None else check_duration("half_life", half_life),
        )

    @property
    def confidence(self) -> Confidence:
        """How outcomes and time move a confidence here."""
        return self._confidence

    def recall(self, scope: str, **options: Unpack[Asking]) -> list[LearnedEntry]:
        """Return what can be used, best first.

        The first scope that has something, from the named one upwards, gives all of it: scopes are not mixed. What is
        returned is noted as used; what ``limit`` cut off is not.

        Args:
            scope: where to look first.
            options: ``key``, ``query``, ``min_confidence``, ``include_ancestors``, ``limit``, ``semantic_limit``,
                ``min_similarity``, ``now``; see `Asking`.

        Raises:
            ArgumentTypeError, InvalidArgumentError: an argument can't be used.
        """
        return self._memory.run(self.recall_flow(scope, **options))

    async def arecall(self, scope: str, **options: Unpack[Asking]) -> list[LearnedEntry]:
        """Return what can be used; see `recall`."""
        return await self._memory.arun(self.recall_flow(scope, **options))

    def capture(self, scope: str, key: str, value: Any = UNSET, **options: Unpack[Reporting]) -> LearnedEntry | None:
        """Report what became of using a value; the first time, with the value itself.

        Outcomes that are reported at the same time all count. What has expired is learned anew, where a value or a new
        expiry is given.

        Args:
            scope: where it lies.
            key: its name there.
            value: what is to be used from now on; without one, what is there stays.
            options: ``success`` or ``score`` with ``threshold``, ``metadata``, ``error``, ``expires_at`` or
                ``expires_in``; see `Reporting`.

        Returns:
            The memory as it is then; ``None`` where there is none, and no value for one.

        Raises:
            ArgumentTypeError, InvalidArgumentError: an argument can't be used; nothing is written.
        """
        return self._memory.run(self.capture_flow(scope, key, value, **options))

    async def acapture(
        self, scope: str, key: str, value: Any = UNSET, **options: Unpack[Reporting]
    ) -> LearnedEntry | None:
        """Report what became of using a value; see `capture`."""
        return await self._memory.arun(self.capture_flow(scope, key, value, **options))

    def recall_flow(
        self,
        scope: str,
        *,
        key: str | None = None,
        query: str | None = None,
        min_confidence: float | None = None,
        include_ancestors: bool = True,
        limit: int | None = None,
        semantic_limit: int = 10,
        min_similarity: float | None = None,
        now: float | None = None,
    ) -> Flow[Step, list[LearnedEntry]]:
        """Return what can be used; see `recall`."""
        check_flag("include_ancestors", include_ancestors)
        scope = check_scope(scope)
        scopes = [scope, *ancestors(scope)] if include_ancestors else [scope]
        wanted = None if key is None else check_key(key)
        floor = self._confidence.floor if min_confidence is None else check_fraction("min_confidence", min_confidence)
        at = self._clock() if now is None else check_timestamp("now", now)
        most = None if limit is None else check_whole("limit", limit, least=0)
        search = _checked_search(query, semantic_limit, floor if min_similarity is None else min_similarity)
        if most == 0:
            return []
        entries = yield from self._sure(scopes, wanted, floor, at)
        if search is not None and self._searcher is not None:
            hits = yield from hits_of(self._searcher, *search)
            entries = [*entries, *map(found, hits)]
        chosen = best_first(entries)[:most]
        if used := [entry.id for entry in chosen if entry.source == "context"]:
            yield from self._memory.flows.within(
                self._whose, lambda session, owner: self._note(session, owner, used, at)
            )
        return chosen

    def capture_flow(
        self,
        scope: str,
        key: str,
        value: Any = UNSET,
        *,
        success: bool | None = None,
        score: float | None = None,
        threshold: float = 0.0,
        metadata: Mapping[str, Any] | None = None,
        error: str | BaseException | None = None,
        expires_at: float | datetime | Unset | None = UNSET,
        expires_in: float | timedelta | Unset | None = UNSET,
    ) -> Flow[Step, LearnedEntry | None]:
        """Report what became of using a value; see `capture`."""
        spot, now, told = Spot(check_scope(scope), check_key(key)), self._clock(), check_error(error)
        expiry = expiry_of(now, expires_at, expires_in)
        outcome = Outcome(
            success=check_outcome(success, score, threshold),
            at=now,
            written={
                **({} if value is UNSET else {"value": as_json("value", value)}),
                **({} if expiry is UNSET else {"expires_at": expiry}),
            },
            metadata={**(check_metadata(metadata) or {}), **({} if told is None else {LAST_ERROR: told})},
        )
        as_json("metadata", outcome.metadata)
        entry = yield from self._memory.flows.within(
            self._whose,
            lambda session, owner: write_outcome(session, self._table, owner, spot, outcome, self._confidence),
        )
        return None if entry is None else learned(entry, entry.confidence)

    def _sure(self, scopes: list[str], key: str | None, floor: float, now: float) -> Flow[Step, list[LearnedEntry]]:
        """Return what the first scope has that is sure enough."""
        columns = self._table.c
        wanted = [columns.version == 1, columns.scope.in_(scopes), columns.confidence >= floor]
        if key is not None:
            wanted.append(columns.key == key)
        rows = yield from self._memory.flows.within(
            self._whose,
            lambda session, owner: memory_rows.rows(
                session,
                self._table,
                memory_rows.owned(self._table, owner),
                memory_rows.alive(self._table, now),
                *wanted,
            ),
        )
        worn = {row["id"]: self._confidence.worn(row["confidence"], age=now - since(row)) for row in rows}
        sure = [learned(entry, worn[entry.id]) for entry in read_entries(rows) if worn[entry.id] >= floor]
        nearest = next((scope for scope in scopes if any(entry.scope == scope for entry in sure)), None)
        return [entry for entry in sure if entry.scope == nearest]

    def _note(self, session: Session, owner: Owner, ids: list[str], now: float) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            here = self._table.c.id.in_(ids[start : start + _AT_ONCE])
            memory_rows.change(
                session, self._table, memory_rows.owned(self._table, owner) & here, {"last_used_at": now}
            )


def _checked_search(query: str | None, limit: int, min_similarity: float) -> tuple[str, int, float] | None:
    check_whole("semantic_limit", limit, least=0)
    if not -1 <= check_number("min_similarity", min_similarity) <= 1:
        raise InvalidArgumentError(f"min_similarity must be between -1 and 1, not {min_similarity!r}.")
    return None if query is None or not limit else (check_text("query", query), limit, float(min_similarity))
