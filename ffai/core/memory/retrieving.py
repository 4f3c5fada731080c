"""Finding turns and knowledge with one embedding of the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
) -> Retrieved | None:
    """Search turns and knowledge; see :func:`ffai.core.memory.asking.find`.

    Args:
        collection: what is searched.
        embedder: what made the vectors.
        vectors: those of the question.
        question: what is asked.
        seen: tells of a place whether its knowledge is seen.
    """
    hits = asking.find(collection, embedder, vectors, question)
    if hits is None:
        return None
    known = find_knowledge(collection, embedder, vectors, question, seen=seen)
    return None if known is None else Retrieved(tuple(hits), known)


def find_knowledge(
    collection: Collection,
    embedder: Embedder,
    vectors: Sequence[Vector],
    question: Question,
    *,
    seen: Callable[[str], bool],
) -> tuple[Known, ...] | None:
    """Search knowledge, best first; ``None`` where the embedder is no longer the one in use; see :func:`find_all`."""
    try:
        known = _known(collection, vectors, question, seen)
    except DimensionError:
        if collection.is_current(embedder):
            raise
        return None
    return known if collection.is_current(embedder) else None


def _known(
    collection: Collection, vectors: Sequence[Vector], question: Question, seen: Callable[[str], bool]
) -> tuple[Known, ...]:
    selection, rows = collection.knowledge.select(seen)
    if not len(selection):
        return ()
    ranker = asking.ranker(selection, vectors[:1], replace(question, half_life=None))
    found = ranker.best(question.top_k)
    ids = selection.table.ids
    return tuple(known_of(rows[ids[entry]], score, ranker.explain(entry)) for entry, score in found)
