"""Why something is found, and why something else is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from ffai.chat.flow import Failed, Flow
from ffai.core.memory.halving import told
from ffai.core.memory.memory import Memory
from ffai.core.memory.retrieving import NOTHING, Retrieved, TurnPlace
from ffai.core.memory.status import MemoryStatus
from ffai.core.memory.turn_page import StoredTurn
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.rag.ask_options import ContextOptions
from ffai.rag.backing import Backing
from ffai.rag.closeness import ENOUGH_WORDS, is_close
from ffai.rag.context import TAUGHT, fit_of, fitted, piece_of_known, pieces_of
from ffai.rag.entry import Source, SourceKind
from ffai.rag.format import one_line
from ffai.rag.step import Step, is_the_callers, taken
from ffai.rag.tokens import count_tokens

State = Literal[
    "found",
    "found as another",
    "too far",
    "of other roles",
    "beyond the limit",
    "over the budget",
    "waiting",
    "failed",
    "out of scope",
    "unknown",
]
LONGEST = 200
"""Characters of a question that a report repeats."""
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
    min_coverage: float = ENOUGH_WORDS
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
            f"{self.query[:LONGEST]!r} in {self.scope!r}, {self.mode} search with {self.model or 'no model'}:",
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
    count = partial(count_tokens, model=backing.model_of(None))
    entries: list[ExplainedEntry] = taken((yield _step(partial(_judged, found, options, count))))
    hits = tuple(entry for entry in entries if entry.state == "found")
    missed = [entry for entry in entries if entry.state != "found"]
    if turn_id is None:
        missed = missed[:NEAREST]
    elif turn_id in {hit.id for hit in hits}:
        missed = []
    else:
        missed = [entry for entry in missed if entry.id == turn_id]
        if not missed:
            look = partial(_missed, backing, query, turn_id, options, entries)
            entry, again = _or_problem((yield _step(look)), None)
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


def _judged(found: Retrieved, options: ContextOptions, count: Callable[[str], int]) -> list[ExplainedEntry]:
    """Tell of all that was looked up what becomes of it, as a context takes it."""
    limits = options.limits
    unlimited = replace(limits, limit=sys.maxsize)
    every_role = replace(unlimited, include_roles=None, exclude_roles=None)
    near = _named(piece.source for piece in pieces_of(found, unlimited))
    of_all_roles = _named(piece.source for piece in pieces_of(found, every_role))
    context = fitted(pieces_of(found, limits), limits, count)
    shown, over = _named(context.sources), _named(context.left_out)

    def state_of(name: tuple[str, ...]) -> State:
        if name in shown:
            return "found"
        if name in over:
            return "over the budget"
        if name in near:
            return "beyond the limit"
        return "of other roles" if name in of_all_roles else "too far"

    entries = []
    for rank, hit in enumerate(found.turns, 1):
        state = state_of(("turn", hit.turn_id))
        place = TurnPlace(rank, hit.score, hit.explained)
        entries.append(_placed(hit.turn_id, "turn", hit.text, state, place, hit.scope, options))
    for rank, known in enumerate(found.knowledge, 1):
        source = piece_of_known(known, limits).source
        if source.kind in TAUGHT:
            state = state_of(_name(source))
            place = TurnPlace(rank, known.score, known.explained)
            entries.append(_placed(source.id, source.kind, source.excerpt, state, place, known.scope, options))
    return entries


def _named(sources: Iterable[Source]) -> set[tuple[str, ...]]:
    return {_name(source) for source in sources}


def _name(source: Source) -> tuple[str, ...]:
    """Tell sources apart: the same key may have another text in another scope."""
    return ("turn", source.id) if source.kind == "turn" else (source.kind, source.id, source.excerpt)


def _missed(
    backing: Backing, query: str, turn_id: str, options: ContextOptions, entries: Sequence[ExplainedEntry]
) -> ExplainedEntry:
    """Tell of a turn that is not among what was looked up."""
    memory = backing.needed
    turn = seen = memory.get(turn_id, scope=options.scope)
    if seen is None and not backing.policy.is_required and backing.policy.guard is None:
        turn = memory.get(turn_id)
    if seen is None or seen.state != "indexed":
        reasons = {failed.turn_id: failed.reason for failed in memory.status().failed}
        return _unplaced(turn_id, turn, is_in_scope=seen is not None, why=reasons.get(turn_id, ""))
    for twin in entries:
        if (twin.kind, twin.text, twin.scope) == ("turn", seen.text, seen.scope):
            return _repeated(turn_id, twin)
    place = memory.place_of(
        query, turn_id, scope=options.scope, mode=options.mode, as_of=options.as_of, half_life=options.half_life
    )
    is_near = place.rank is not None and is_close(fit_of(place.score, place.explained), options.min_score)
    state: State = "beyond the limit" if is_near else "too far"
    return _placed(turn_id, "turn", seen.text, state, place, seen.scope, options)


def _repeated(turn_id: str, twin: ExplainedEntry) -> ExplainedEntry:
    """Tell of a turn that counts as one with another: both have the same text and scope."""
    if twin.state != "found":
        return replace(twin, id=turn_id)
    reason = f"found as another: turn {twin.id!r} has the same text and scope, and stands for it"
    return replace(twin, id=turn_id, state="found as another", reason=reason)


def _placed(
    known: str,
    kind: SourceKind,
    text: str,
    state: State,
    place: TurnPlace,
    scope: MemoryScope,
    options: ContextOptions,
) -> ExplainedEntry:
    """Tell of one entry that has a place among those that may be seen."""
    coverage = place.explained.get("coverage")
    words = "" if coverage is None else f", {coverage:.0%} of the words' worth ({ENOUGH_WORDS:.0%} is enough)"
    reason = (
        f"{state}, place {place.rank or 'unknown'} among {'turns' if kind == 'turn' else 'knowledge'}: "
        f"cosine {place.score or 0.0:.3f} (at least {options.min_score:g}){words}; "
        f"limit {options.limit}: {text:.60}"
    )
    return ExplainedEntry(
        id=known,
        kind=kind,
        text=text,
        state=state,
        reason=one_line(reason),
        rank=place.rank,
        score=place.score,
        coverage=coverage,
        parts=place.explained,
        scope=scope,
    )


def _unplaced(turn_id: str, turn: StoredTurn | None, *, is_in_scope: bool, why: str = "") -> ExplainedEntry:
    """Tell of a turn that no search can find just now; of none, where it may not be seen here."""
    if turn is None:
        reason = f"unknown: no turn {turn_id!r} is stored here; it was not remembered, was forgotten, or is not yours"
        return ExplainedEntry(id=turn_id, state="unknown", reason=reason)
    if not is_in_scope:
        reason = one_line(f"out of scope: the turn is of {turn.scope!r}")  # and what it says is not for this scope
        return ExplainedEntry(id=turn_id, state="out of scope", reason=reason, scope=turn.scope)
    state: State
    if turn.state == "failed":
        state, reason = "failed", f"failed: it could not be embedded: {why or 'no reason is known'}"
    else:
        state, reason = "waiting", "waiting: it is not embedded yet"
    return ExplainedEntry(
        id=turn_id, text=turn.text, state=state, reason=one_line(f"{reason}: {turn.text:.60}"), scope=turn.scope
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
