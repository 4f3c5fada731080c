"""Finding turns and knowledge with one embedding of the question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Kinds
from dataclasses import dataclass, field, replace
from typing import Any

from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import asking
from ffai.core.memory.collection import Collection
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.known import Known, known_of
from ffai.core.memory.question import Question
from ffai.core.similarity import Vector
from ffai.errors import DimensionError


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found; each tells what its place is made of."""

    turns: tuple[TurnHit, ...] = ()
    """Best first."""
    knowledge: tuple[Known, ...] = ()
    """Best first."""


NOTHING = Retrieved()


def find_all(
    collection: Collection,
    embedder: Embedder,
    vectors: Sequence[Vector],
    question: Question,
    *,
    seen: Callable[[str], bool],
    without_kinds: Kinds[str] = (),
) -> Retrieved | None:
    """Search turns and knowledge; see :func:`ffai.core.memory.asking.find`.

    Args:
        collection: what is searched.
        embedder: what made the vectors.
        vectors: those of the question.
        question: what is asked.
        seen: tells of a place whether its knowledge is seen.
        without_kinds: kinds of knowledge that are left out.
    """
    hits = asking.find(collection, embedder, vectors, question)
    if hits is None:
        return None
    known = find_knowledge(collection, embedder, vectors, question, seen=seen, without_kinds=without_kinds)
    return None if known is None else Retrieved(tuple(hits), known)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where one turn stands among all that may be seen."""

    rank: int | None
    """From 1; ``None`` where it is not among what a search looks at."""
    score: float | None = None
    """Cosine similarity to the query, in ``[-1, 1]``."""
    explained: Mapping[str, Any] = field(default_factory=dict)
    """What the place is made of."""


def find_place(
    collection: Collection, embedder: Embedder, vectors: Sequence[Vector], question: Question, *, turn_id: str
) -> TurnPlace | None:
    """Find out where a turn stands: all turns are put in order. ``None`` as for :func:`find_all`."""
    try:
        place = asking.place_of_turn(collection, vectors, question, turn_id)
    except DimensionError:
        if collection.is_current(embedder):
            raise
        return None
    return TurnPlace(*place) if collection.is_current(embedder) else None


def find_knowledge(
    collection: Collection,
    embedder: Embedder,
    vectors: Sequence[Vector],
    question: Question,
    *,
    seen: Callable[[str], bool],
    without_kinds: Kinds[str] = (),
) -> tuple[Known, ...] | None:
    """Search knowledge, best first; ``None`` where the embedder is no longer the one in use; see :func:`find_all`."""
    try:
        known = _known(collection, vectors, question, seen, without_kinds)
    except DimensionError:
        if collection.is_current(embedder):
            raise
        return None
    return known if collection.is_current(embedder) else None


def _known(
    collection: Collection,
    vectors: Sequence[Vector],
    question: Question,
    seen: Callable[[str], bool],
    without_kinds: Kinds[str],
) -> tuple[Known, ...]:
    by_words, size = question.mode == "keyword" or not vectors, vectors[0].size if vectors else None
    selection, taught = collection.knowledge.select(seen, size=size, by_words=by_words, without=without_kinds)
    if not len(selection):
        return ()
    ranker = asking.ranker(selection, vectors[:1], replace(question, half_life=None))
    found = ranker.best(question.top_k)
    ids = selection.table.ids
    return tuple(known_of(taught[ids[entry]].row, score, ranker.explain(entry)) for entry, score in found)
