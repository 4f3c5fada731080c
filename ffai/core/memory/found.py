"""Giving the best turns as hits, where it is asked for only turns that differ: exact repeats count once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ffai.core.memory.hit import TurnHit
from ffai.core.memory.question import Question
from ffai.core.memory.selection import Selection


class Ranker(Protocol):
    """Puts selected turns in order."""

    def best(self, most: int) -> list[tuple[int, float]]:
        """Return the best turns, as many at the most: their entries and their cosines."""
        ...

    def explain(self, entry: int, /) -> Mapping[str, object]:
        """Tell what the place of a turn is made of."""
        ...


def found_turns(selection: Selection, ranker: Ranker, question: Question) -> list[TurnHit]:
    """Give the best turns as hits.

    Args:
        selection: the turns that may be found.
        ranker: their order.
        question: how many; where it asks for distinct ones, of turns with the same text in the same scope only the
            first is given, and repeats take no place from others. Each hit then tells how many turns it stands for,
            and when the last of them was said.

    Returns:
        Best first.

    Examples:
        >>> from ffai.core.memory import TurnVectorStore
        >>> from ffai.core.memory.hybrid import Closest
        >>> store = TurnVectorStore()
        >>> for number, text in enumerate(("again", "again", "other")):
        ...     _ = store.add(text, [1.0, len(text) - 5.0], {"timestamp": float(number)})
        >>> selection = store._select()
        >>> question = Question(text="again", top_k=2, distinct=True)
        >>> hits = found_turns(selection, Closest(selection, np.array([1.0, 0.0]), None), question)
        >>> [(hit.text, hit.repeats, hit.last_timestamp) for hit in hits]
        [('again', 2, 1.0), ('other', 1, 2.0)]
    """
    asked = question.top_k
    while True:
        found = chosen = ranker.best(asked)
        if question.distinct:
            chosen = _first_of_equals(selection, found)
        if not question.distinct or len(chosen) >= question.top_k or len(found) < asked:
            break
        asked *= 4
    hits = []
    for entry, score in chosen[: question.top_k]:
        hit = _with_repeats(selection, entry, score) if question.distinct else selection.hit(entry, score)
        if question.explain:
            _note(hit, "explained", dict(ranker.explain(entry)))
        hits.append(hit)
    return hits


def _first_of_equals(selection: Selection, found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    entries = np.array([entry for entry, _ in found], dtype=np.intp)
    scopes = selection.table.noted.scopes(entries).tolist()
    first: dict[tuple[str, int], tuple[int, float]] = {}
    for (entry, score), scope in zip(found, scopes, strict=True):
        first.setdefault((selection.table.texts[entry], scope), (entry, score))
    return list(first.values())


def _with_repeats(selection: Selection, entry: int, score: float) -> TurnHit:
    """Note in a hit, which is a copy, how many turns it stands for."""
    hit, same = selection.hit(entry, score), selection.repeats_of(entry)
    if len(same) > 1:
        last = float(selection.table.noted.timestamps(same).max())
        _note(hit, "repeats", {"count": len(same), "last": last if math.isfinite(last) else None})
    return hit


def _note(hit: TurnHit, name: str, value: object) -> None:
    """Note something in a hit, which is a copy; what another program has put in that place is left there."""
    metadata = hit.turn["metadata"] = hit.turn.get("metadata") or {}
    notes = metadata.setdefault("ffai", {}) if isinstance(metadata, dict) else None
    if isinstance(notes, dict):
        notes[name] = value
