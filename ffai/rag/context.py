"""What was found in memory as a context for a model: its lines, where each is from, and what did not fit in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ffai.core.memory.hit import TurnHit
from ffai.core.memory.known import Known
from ffai.core.memory.retrieving import Retrieved
from ffai.rag.budget import fit
from ffai.rag.closeness import Fit, close_ones
from ffai.rag.entry import MemoryEntry, Provenance, Source, SourceKind
from ffai.rag.format import format_kb_results, format_session_results, labelled
from ffai.rag.frame import Quoted, framed
from ffai.rag.roles import passes_role_filter
from ffai.rag.said import records_of, said_at

_KINDS: Mapping[str, SourceKind] = {"memory-capsule": "capsule", "graph-node": "node", "graph-edge": "edge"}
TAUGHT: tuple[SourceKind, ...] = ("kb", "capsule")
"""The kinds of knowledge that are lines of a plain context."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry of a context."""

    source: Source
    lines: str
    """As :func:`build_context` gives them."""
    quoted: Quoted
    """The same with its date and its origin."""
    weight: float
    """The higher, the better it fits the question."""


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """What is told to a model.

    Examples:
        >>> bool(MemoryContext()), str(MemoryContext(text="[KB] Refunds take five days."))
        (False, '[KB] Refunds take five days.')
    """

    text: str = ""
    sources: tuple[Source, ...] = ()
    """One for each entry of the text, in its order."""
    left_out: tuple[Source, ...] = ()
    """What was found and did not fit into the budget, best first."""
    cut: Source | None = None
    """The entry that was cut because it was too long even alone."""

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a context may hold, and of what."""

    limit: int = 10
    """Turns, and entries of knowledge, at the most."""
    min_score: float = 0.5
    """The least cosine of an entry that has no words of the question; see :mod:`ffai.rag.closeness`."""
    include_roles: Iterable[str] | None = None
    exclude_roles: Iterable[str] | None = None
    max_tokens: int | None = None
    max_chars: int | None = None
    flatten: bool = True
    """Whether texts are kept from beginning lines of their own."""


def fit_of(score: float | None, explained: Mapping[str, Any]) -> Fit:
    """Return how well something that was found fits the question.

    Examples:
        >>> fit_of(None, {"coverage": 0.7})
        Fit(cosine=0.0, coverage=0.7)
    """
    return Fit(score or 0.0, explained.get("coverage", 0.0))


def pieces_of(found: Retrieved, limits: Limits, *, kinds: Iterable[SourceKind] = TAUGHT) -> list[Piece]:
    """Return what of the found is close enough, in the order in which it is shown: turns, then knowledge.

    Each of the two is in the order of its cosines; equal ones in the order in which they were stored.
    """
    taught = [entry for entry in found.knowledge if kind_of(entry.value) in kinds]
    fits = [fit_of(hit.score, hit.explained) for hit in found.turns]
    fits += [fit_of(entry.score, entry.explained) for entry in taught]
    close = iter(close_ones(fits, limits.min_score))
    near = [hit for hit in found.turns if next(close)]
    turns = [piece for hit in near if (piece := _of_turn(hit, limits)) is not None]
    known = [piece_of_known(entry, limits) for entry in taught if next(close)]
    places = {hit.turn_id: hit.turn_index for hit in found.turns}
    chosen = sorted(turns[: limits.limit], key=lambda piece: (-_score(piece), places[piece.source.id]))
    return [*chosen, *sorted(known[: limits.limit], key=lambda piece: -_score(piece))]


def kind_of(value: Mapping[str, Any]) -> SourceKind:
    """Return what an entry of knowledge is.

    Examples:
        >>> kind_of({"kind": "graph-node"}), kind_of({"content": "tea"})
        ('node', 'kb')
    """
    told = value.get("kind")
    return _KINDS.get(told, "kb") if isinstance(told, str) else "kb"


def fitted(
    pieces: Sequence[Piece],
    limits: Limits,
    count: Callable[[str], int],
    *,
    as_data: bool = False,
    lines: Callable[[Piece], str] | None = None,
) -> MemoryContext:
    """Make a context of what fits into the budget.

    Args:
        pieces: the entries, in the order in which they are shown.
        limits: the budget.
        count: counts the tokens of a text.
        as_data: whether it is framed as quoted data, with origins and dates; the frame counts too.
        lines: gives the lines of an entry, in the place of its own.
    """
    if not pieces:
        return MemoryContext()
    ranks = sorted(range(len(pieces)), key=lambda place: -pieces[place].weight)
    ranked = [pieces[place] for place in ranks]
    texts = [piece.lines if lines is None else lines(piece) for piece in ranked]
    fits = fit(
        texts,
        count=count,
        max_tokens=limits.max_tokens,
        max_chars=limits.max_chars,
        shown=[ranks.index(place) for place in range(len(pieces))],
        render=partial(_as_data, ranked, time.time()) if as_data else None,
    )
    kept = fits.kept if fits.cut is None else (fits.cut,)
    return MemoryContext(
        fits.text,
        tuple(ranked[number].source for number in kept),
        tuple(ranked[number].source for number in fits.dropped),
        None if fits.cut is None else ranked[fits.cut].source,
    )


def _as_data(ranked: Sequence[Piece], now: float, kept: Mapping[int, str]) -> str:
    quoted = ((ranked[number].quoted, text) for number, text in kept.items())
    return framed((Quoted(text, entry.origin, entry.timestamp) for entry, text in quoted), now=now)


def _score(piece: Piece) -> float:
    return piece.source.score or 0.0


def _weight(score: float | None, explained: Mapping[str, Any]) -> float:
    weight: float = explained.get("score", score or 0.0)
    return weight


def _of_turn(hit: TurnHit, limits: Limits) -> Piece | None:
    """Return a turn as an entry; ``None`` where the filters leave none of its messages."""
    said = [one for one in records_of(hit) if passes_role_filter(one, limits.include_roles, limits.exclude_roles)]
    if not said:
        return None
    lines = "\n".join(format_session_results(said, flatten=limits.flatten))
    named = hit.external_conversation_id
    source = Source(
        id=hit.turn_id,
        kind="turn",
        label=hit.turn_id,
        excerpt="\n".join(one.value["content"] for one in said),
        score=hit.score,
        provenance=Provenance.of_entry(MemoryEntry(hit.turn_id, said[0].value, hit.score)),
    )
    origin = None if named is None else f"conversation {_quoted(named)}"
    return Piece(source, lines, Quoted(lines, origin, said_at(hit)), _weight(hit.score, hit.explained))


def piece_of_known(entry: Known, limits: Limits) -> Piece:
    """Return an entry of knowledge as one of a context."""
    value = entry.value
    lines = format_kb_results([value], flatten=limits.flatten)[0]
    told = value.get("provenance")
    first = told[0] if isinstance(told, list) and told else told
    if isinstance(first, Mapping) and first:
        provenance = Provenance.of(first)
    else:
        provenance = Provenance.of_entry(MemoryEntry(entry.key, value, entry.score))
    named, kind = str(value.get("id") or entry.key), kind_of(value)
    source = Source(
        id=named,
        kind=kind,
        label=str(value.get("label") or named),
        excerpt=str(value.get("content") or value.get("summary") or ""),
        score=entry.score,
        provenance=provenance,
    )
    origin = f"{'summary' if kind == 'capsule' else 'taught as'} {_quoted(named)}"
    return Piece(source, lines, Quoted(lines, origin, entry.updated_at), _weight(entry.score, entry.explained))


def _quoted(name: str) -> str:
    """Put a name in quotes that it can't end itself."""
    return json.dumps(name, ensure_ascii=False)


def cited(piece: Piece) -> str:
    """Return an entry as a line that begins with what it is cited by."""
    return labelled(piece.source.label, piece.source.excerpt)
