"""Why something is found, and why something else is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ffai.chat.flow import Failed, Flow
from ffai.core.memory.fusion import COVERED
from ffai.core.memory.halving import told
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.known import Known
from ffai.core.memory.memory import Memory
from ffai.core.memory.retrieving import NOTHING
from ffai.core.memory.status import MemoryStatus
from ffai.core.memory.turn_page import StoredTurn
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.rag.ask_options import ContextOptions
from ffai.rag.backing import Backing
from ffai.rag.context import TAUGHT, is_close, kind_of
from ffai.rag.entry import SourceKind
from ffai.rag.format import one_line
from ffai.rag.step import Step, is_the_callers, taken

State = Literal["found", "too far", "beyond the limit", "waiting", "failed", "out of scope", "unknown"]
NEAREST = 5
"""Misses that are told of where none was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedEntry:
    """One turn, or one entry of knowledge, and why it is found or not."""

    id: str
    kind: SourceKind = "turn"
    text: str = ""
    state: State
    reason: str
    """The same in a sentence, with the numbers."""
    rank: int | None = None
    """Its place among all that may be seen, from 1; ``None`` where it has none."""
    score: float | None = None
    """Cosine similarity to the question, in ``[-1, 1]``."""
    coverage: float | None = None
    """How much of what the words of the question can be worth it has, in ``[0, 1]``."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """What its place is made of: see :class:`ffai.core.memory.fusion.Parts`."""
    scope: MemoryScope | None = None
    """Whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a question finds in memory, what it nearly finds, and why. As text it is a report."""

    query: str
    scope: MemoryScope
    """The scope that was looked up."""
    model: str
    """The embedding model; ``""`` where memory is off."""
    mode: str
    min_score: float
    """The least cosine."""
    min_coverage: float = COVERED
    """The share of the question's words that is enough without it."""
    limit: int
    stored: int
    """Turns that may be seen and can be found."""
    pending: int
    """Turns that wait to be embedded, everybody's."""
    failed: int
    """Turns that could not be embedded, everybody's."""
    not_remembered: Mapping[str, int] = field(default_factory=dict)
    """Calls that were not handed to memory, by reason."""
    problem: str | None = None
    """What is wrong with memory just now; an outage of the embedder is told here, and not raised."""
    found: tuple[ExplainedEntry, ...] = ()
    missed: tuple[ExplainedEntry, ...] = ()
    """The nearest that are not found; or the one that was asked for."""

    def __str__(self) -> str:
        lines = [
            f"{self.query!r} in {self.scope!r}, {self.mode} search with {self.model or 'no model'}:",
            f"{self.stored} turns can be found; {self.pending} wait and {self.failed} failed (everybody's).",
            *(f"Not remembered: {count} calls, {reason}." for reason, count in self.not_remembered.items()),
            *([f"Problem: {self.problem}"] if self.problem else []),
            *(f"+ {entry.reason}" for entry in self.found),
            *(f"- {entry.reason}" for entry in self.missed),
        ]
        return "\n".join(lines)


def explained(backing: Backing, query: str, options: ContextOptions, turn_id: str | None) -> Flow[Step, Explanation]:
    """Explain a question; see :meth:`AgentMemory.explain`."""
    store = backing.memory
    if store is None:
        return _explanation(backing, query, options, None, 0, (), (), "Memory is off.")
    found, problem = _or_problem((yield backing.retrieving(query, options, options.scope)), NOTHING)
    entries = [*_of_turns(found.turns, options), *_of_known(found.knowledge, options)]
    hits = tuple(entry for entry in entries if entry.state == "found")
    missed = [entry for entry in entries if entry.state != "found"][:NEAREST]
    if turn_id is not None and turn_id not in {entry.id for entry in hits}:
        entry, again = _or_problem((yield _step(partial(_missed, store, query, turn_id, options))), None)
        missed, problem = [] if entry is None else [entry], problem or again
    status = taken((yield _step(store.status)))
    stored = taken((yield _step(partial(_count, store, options.scope))))
    return _explanation(backing, query, options, status, stored, hits, tuple(missed), problem)


def _or_problem(outcome: Any, otherwise: Any) -> tuple[Any, str | None]:
    """Take an outcome; where memory can't be looked up just now, that is what is told."""
    if not isinstance(outcome, Failed):
        return outcome, None
    if is_the_callers(outcome.error):
        raise outcome.error
    return otherwise, f"Nothing can be looked up just now: {told(outcome.error)}"


def _step(work: Callable[[], Any]) -> Step:
    return Step(work, partial(asyncio.to_thread, work))


def _count(memory: Memory, scope: Scope | None) -> int:
    return (memory if scope is None else memory.scoped(scope)).count()


def _missed(memory: Memory, query: str, turn_id: str, options: ContextOptions) -> ExplainedEntry:
    turn, seen = memory.get(turn_id), memory.get(turn_id, scope=options.scope)
    if turn is None or seen is None or seen.state != "indexed":
        reasons = {failed.turn_id: failed.reason for failed in memory.status().failed}
        return unplaced_entry(turn_id, seen or turn, is_in_scope=seen is not None, why=reasons.get(turn_id, ""))
    asked: dict[str, Any] = {
        "scope": options.scope,
        "mode": options.mode,
        "as_of": options.as_of,
        "half_life": options.half_life,
    }
    place = memory.place_of(query, turn_id, **asked)
    is_near = is_close(place.score, place.explained, options.min_score)
    state: State = "beyond the limit" if is_near else "too far"
    return placed_entry(
        turn_id, "turn", seen.text, state, place.rank, place.score, place.explained, seen.scope, options
    )


def _explanation(
    backing: Backing,
    query: str,
    options: ContextOptions,
    status: MemoryStatus | None,
    stored: int,
    found: tuple[ExplainedEntry, ...],
    missed: tuple[ExplainedEntry, ...],
    problem: str | None,
) -> Explanation:
    return Explanation(
        query=query,
        scope=backing.asked_scope(options.scope),
        model=status.model if status else "",
        mode=options.mode,
        min_score=options.min_score,
        limit=options.limit,
        stored=stored,
        pending=status.pending if status else 0,
        failed=len(status.failed) if status else 0,
        not_remembered=backing.not_remembered,
        problem=problem or (status.problem if status else None),
        found=found,
        missed=missed,
    )


def _of_turns(hits: Sequence[TurnHit], options: ContextOptions) -> list[ExplainedEntry]:
    found = [(hit.turn_id, "turn", hit.text, hit.score, hit.explained, hit.scope) for hit in hits]
    return _placed(found, options)


def _of_known(known: Sequence[Known], options: ContextOptions) -> list[ExplainedEntry]:
    found = [
        (str(entry.value.get("id") or entry.key), kind_of(entry.value), str(entry.value.get("content")), entry.score,
         entry.explained, entry.scope)
        for entry in known
        if kind_of(entry.value) in TAUGHT
    ]  # fmt: skip
    return _placed(found, options)


def _placed(found: Sequence[Any], options: ContextOptions) -> list[ExplainedEntry]:
    entries, close = [], 0
    for rank, (known, kind, text, score, parts, scope) in enumerate(found, 1):
        is_near = is_close(score, parts, options.min_score)
        close += is_near
        state: State = "too far" if not is_near else "beyond the limit" if close > options.limit else "found"
        entries.append(placed_entry(known, kind, text, state, rank, score, parts, scope, options))
    return entries


def placed_entry(
    known: str,
    kind: SourceKind,
    text: str,
    state: State,
    rank: int | None,
    score: float | None,
    parts: Mapping[str, Any],
    scope: MemoryScope,
    options: ContextOptions,
) -> ExplainedEntry:
    """Tell of one entry that has a place among those that may be seen."""
    coverage = parts.get("coverage")
    words = "" if coverage is None else f", {coverage:.0%} of the words' worth ({COVERED:.0%} is enough)"
    among = "turns" if kind == "turn" else "knowledge"
    reason = (
        f"{state}, place {rank or 'unknown'} among {among}: "
        f"cosine {score or 0.0:.3f} (at least {options.min_score:g}){words}; "
        f"limit {options.limit}: {one_line(text):.60}"
    )
    return ExplainedEntry(
        id=known, kind=kind, text=text, state=state, reason=reason, rank=rank, score=score,
        coverage=coverage, parts=parts, scope=scope,
    )  # fmt: skip


def unplaced_entry(turn_id: str, turn: StoredTurn | None, *, is_in_scope: bool, why: str = "") -> ExplainedEntry:
    """Tell of a turn that no search can find just now.

    Args:
        turn_id: its id.
        turn: the turn; ``None`` where there is none that may be seen here.
        is_in_scope: whether it is of the scope that is asked for.
        why: why it was given up, where it was.
    """
    if turn is None:
        reason = f"unknown: no turn {turn_id!r} is stored here; it was not remembered, was forgotten, or is not yours"
        return ExplainedEntry(id=turn_id, state="unknown", reason=reason)
    if not is_in_scope:
        state: State = "out of scope"
        reason = f"out of scope: the turn is of {turn.scope!r}"
    elif turn.state == "failed":
        state, reason = "failed", f"failed: it could not be embedded: {why or 'no reason is known'}"
    else:
        state, reason = "waiting", "waiting: it is not embedded yet"
    return ExplainedEntry(
        id=turn_id, text=turn.text, state=state, reason=f"{reason}: {one_line(turn.text):.60}", scope=turn.scope
    )
