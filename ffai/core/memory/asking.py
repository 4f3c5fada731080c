"""Asking a collection a question: what is embedded for it, and in which order the turns answer it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ffai.core.embeddings.protocol import AbsentEmbedder, Embedder
from ffai.core.memory.collection import Collection
from ffai.core.memory.found import Ranker, found_turns
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.hybrid import Closest, Fused, bare_text, named_speakers
from ffai.core.memory.message_keeper import FEW
from ffai.core.memory.question import Question
from ffai.core.memory.selection import Selection
from ffai.core.memory.without_vectors import best_of
from ffai.core.similarity import Vector
from ffai.errors import DimensionError

logger = logging.getLogger(__name__)


def embedded_texts(collection: Collection, question: Question) -> list[str]:
    """Return what is embedded for a question: its text; in hybrid mode also without the names of those who speak.

    Nothing where words alone are to be had.
    """
    if question.mode == "vector":
        return [question.text]
    if isinstance(collection.embedder, AbsentEmbedder):
        return []
    if question.mode == "keyword":
        return [question.text]
    table, _ = collection.store._snapshot()
    if not table.messages.speakers.named_in(question.text):
        return [question.text]
    selection = collection.store._select(question.wanted)
    return list(dict.fromkeys([question.text, bare_text(selection, question, named_speakers(selection, question))]))


def find(
    collection: Collection, embedder: Embedder, vectors: Sequence[Vector], question: Question
) -> list[TurnHit] | None:
    """Search with the vectors of a question; ``None`` where their embedder is no longer the one in use.

    Args:
        collection: the turns.
        embedder: what made the vectors.
        vectors: those of :func:`embedded_texts`.
        question: what is asked.
    """
    if vectors and collection.is_current(embedder):
        collection.compare_size(vectors[0].size)
    try:
        hits = _find(collection, vectors, question)
    except DimensionError:
        if collection.is_current(embedder):
            raise
        return None
    return hits if collection.is_current(embedder) else None


def _find(collection: Collection, vectors: Sequence[Vector], question: Question) -> list[TurnHit]:
    selection = collection.store._select(question.wanted)
    by_words_alone = question.mode != "vector" and (question.mode == "keyword" or not vectors)
    if question.mode != "vector":
        if by_words_alone and selection.table.messages.with_words < selection.count:  # all turns were exchanged
            collection.messages.make_words(every=True)
            selection = collection.store._select(question.wanted)
        selection = _with_words(selection, by_words_alone=by_words_alone)
    others = collection.without_vectors.find(question) if by_words_alone else []
    asked = replace(question, explain=True) if others else question
    found = found_turns(selection, ranker(selection, vectors, asked), asked) if len(selection) else []
    return best_of(found, others, question) if others else found


def place_of_turn(
    collection: Collection, vectors: Sequence[Vector], question: Question, turn_id: str
) -> tuple[int | None, float | None, Mapping[str, object]]:
    """Return the rank of a turn among all that answer a question, its cosine, and what its place is made of.

    Args:
        collection: the turns.
        vectors: those of :func:`embedded_texts`.
        question: what is asked.
        turn_id: the turn's id.
    """
    selection = collection.store._select(question.wanted)
    if question.mode != "vector":
        selection = _with_words(selection, by_words_alone=not vectors)
    entry = selection.entry_of(turn_id)
    if entry is None:
        return None, None, {}
    order = ranker(selection, vectors, question)
    ranked = order.best(len(selection))
    found = next(((rank, score) for rank, (one, score) in enumerate(ranked, 1) if one == entry), (None, None))
    return *found, order.explain(entry)


def _with_words(selection: Selection, *, by_words_alone: bool) -> Selection:
    """Leave out the last turns that have no words yet: they have come since the search began."""
    known = selection.table.messages.with_words
    if known < selection.count and (by_words_alone or selection.count <= known + FEW):
        return selection.first(known)
    return selection


def ranker(selection: Selection, vectors: Sequence[Vector], question: Question) -> Ranker:
    """Return the order in which turns answer a question.

    Args:
        selection: the turns, at least one.
        vectors: those of :func:`embedded_texts`.
        question: what is asked.
    """
    if question.mode == "vector":
        return Closest(selection, vectors[0], question.threshold)
    if vectors:
        selection.check_size(vectors[0])
    if selection.table.messages.with_words < selection.count:
        logger.info("The words of the turns are not all known yet: this search is by meaning alone.")
        return Closest(selection, vectors[0], question.threshold)
    by_meaning = question.mode == "hybrid" and len(vectors) > 0
    return Fused(selection, question, vectors[0] if vectors else None, vectors[-1] if by_meaning else None)
