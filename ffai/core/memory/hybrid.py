"""The order of turns by meaning and words together, or by words alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.fusion import Fusion, Weights
from ffai.core.memory.keyword_scores import KeywordScores, highest
from ffai.core.memory.question import Question
from ffai.core.memory.ranking import exact_scores, rough_scores
from ffai.core.memory.selection import Selection
from ffai.core.memory.words import words_of
from ffai.core.similarity import Vector, unit
from ffai.core.when import named_times, recency

Entries = NDArray[np.intp]
LIKELY = 2048
"""Turns that are compared message by message at the most: the best by their whole texts and their words."""
WORDS_OVER_VECTOR = (Weights().words + Weights().context) / Weights().vector

Ranked = list[tuple[int, float]]
"""Entries with their cosines, best first."""


class Closest:
    """Turns by the cosine of the question alone."""

    def __init__(self, selection: Selection, vector: Vector, threshold: float | None) -> None:
        self._selection, self._vector, self._threshold = selection, vector, threshold

    def best(self, most: int) -> Ranked:
        """Return the best turns."""
        return self._selection.closest(self._vector, most, self._threshold)

    def explain(self, _: int) -> Mapping[str, object]:
        """Tell what the place of a turn is made of: of nothing but its cosine."""
        return {}


class Fused:
    """Turns by meaning, words, speakers and times together; see :class:`~ffai.core.memory.fusion.Fusion`.

    Args:
        selection: the turns, at least one.
        question: what is asked.
        vector: that of the question, for the cosine of the hits; ``None`` where there is no model.
        bare: that of the question without the names of speakers; ``None`` lets meaning not count: only turns that have
            words of the question are found then.
    """

    def __init__(self, selection: Selection, question: Question, vector: Vector | None, bare: Vector | None) -> None:
        self._selection, self._vector = selection, vector
        messages, count, among = selection.table.messages, selection.count, selection.among
        named = named_speakers(selection, question)
        words = words_of(question.text if bare is None else bare_text(selection, question, named))
        found = messages.keyword.look_for(words.kept, count, among)
        said = messages.keyword.said(count, among)
        self._fusion = Fusion(
            np.zeros(said.shape, dtype=np.float32) if bare is None else _cosines(selection, bare, found),
            said,
            found,
            named=messages.said_by(named, count, among) if named else None,
            closeness=_closeness(selection, question),
            recency=_recency(selection, question),
        )
        self._allowed = _allowed(selection, vector, question.threshold)
        if bare is None:
            self._allowed &= _better(found) > 0.0

    def best(self, most: int) -> Ranked:
        """Return the best turns."""
        return _scored(self._selection, self._fusion.best(most, self._allowed), self._vector)

    def explain(self, entry: int) -> Mapping[str, object]:
        """Tell what the place of a turn is made of."""
        among = self._selection.among
        parts = self._fusion.parts(entry if among is None else int(np.searchsorted(among, entry)))
        return {"score": parts.score, **asdict(parts)}


def named_speakers(selection: Selection, question: Question) -> list[int]:
    """Return the speakers that a question names, of those who said something in the turns that are looked at."""
    messages = selection.table.messages
    named = sorted(messages.speakers.named_in(question.text))
    if not named:
        return []
    count = min(selection.count, messages.with_words)
    among = None if selection.among is None else selection.among[: np.searchsorted(selection.among, count)]
    return messages.speaking(named, count, among)


def bare_text(selection: Selection, question: Question, named: Sequence[int]) -> str:
    """Return a question without the names of speakers.

    A name draws turns that address its bearer. Where the name is all that the question is about, it stays.
    """
    messages = selection.table.messages
    if not (others := [speaker for speaker in named if speaker not in messages.anonymous]):
        return question.text
    bare = messages.speakers.without_names(question.text, others)
    return bare if words_of(bare).kept else question.text


def _cosines(selection: Selection, vector: Vector, found: KeywordScores) -> NDArray[np.float32]:
    """Compare a question with messages: shape ``(turns, 2)``.

    Of many turns only the likely ones are compared message by message; the others, and those whose messages have no
    vectors yet, as whole turns.
    """
    table, count, among = selection.table, selection.count, selection.among
    vectors = table.messages.vectors
    if vectors is not None and len(selection) <= LIKELY and count <= vectors.count:
        return vectors.cosines(unit(vector), count, selection.entries())
    whole = rough_scores(vector, table, count, among)[0]
    cosines = np.stack([whole, whole], axis=1)
    if vectors is not None:
        words = _better(found)
        likely = highest(whole + np.float32(WORDS_OVER_VECTOR / (found.ideal or 1.0)) * words, LIKELY)
        entries = selection.entries()[likely]
        known = int(np.searchsorted(entries, vectors.count))
        cosines[likely[:known]] = vectors.cosines(unit(vector), count, entries[:known])
    return cosines


def _better(found: KeywordScores) -> NDArray[np.float32]:
    """Return how well the better message of each turn matches."""
    better: NDArray[np.float32] = np.maximum(found.alone[::2], found.alone[1::2])
    return better


def _closeness(selection: Selection, question: Question) -> NDArray[np.float64] | None:
    times = named_times(question.text, question.as_of)
    return times.closeness(selection.table.noted.timestamps(selection.entries())) if times else None


def _recency(selection: Selection, question: Question) -> NDArray[np.float64] | None:
    if question.half_life is None:
        return None
    return recency(selection.table.noted.timestamps(selection.entries()), question.as_of, question.half_life)


def _allowed(selection: Selection, vector: Vector | None, threshold: float | None) -> NDArray[np.bool_]:
    """Tell which turns reach a cosine."""
    if threshold is None or vector is None:
        return np.full(len(selection), threshold is None or threshold <= 0.0)
    rough, error = rough_scores(vector, selection.table, selection.count, selection.among)
    allowed: NDArray[np.bool_] = rough >= threshold + error
    unsure = np.flatnonzero(np.abs(rough - threshold) <= error)
    allowed[unsure] = exact_scores(vector, selection.table, selection.entries()[unsure]) >= threshold
    return allowed


def _scored(selection: Selection, places: Entries, vector: Vector | None) -> Ranked:
    entries = places if selection.among is None else selection.among[places]
    scores = np.zeros(len(entries))
    if vector is not None:
        in_order = np.argsort(entries)  # rows are brought together more quickly so
        scores[in_order] = exact_scores(vector, selection.table, entries[in_order])
    return list(zip(entries.tolist(), scores.tolist(), strict=True))
