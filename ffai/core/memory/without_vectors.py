"""Turns without vectors, found by their words: failed ones, and where no model can be used all that wait."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffai._fork import held_over_forks
from ffai.core.memory.found import found_turns
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.hybrid import Fused
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.message_keeper import turn_words
from ffai.core.memory.question import Question
from ffai.core.memory.turn_store import TurnVectorStore

if TYPE_CHECKING:
    from ffai.core.memory.collection import Collection

NOWHERE = -1
"""The position of a turn that is not in the store yet."""
_NO_VECTOR = np.ones(1)
"""Stands where a table has vectors; nothing is compared with it."""


class WithoutVectors:
    """Looks for turns that are not in the store.

    Args:
        collection: whose turns they are.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._reading = held_over_forks(threading.Lock())
        self._index = TurnVectorStore()

    def find(self, question: Question) -> list[TurnHit]:
        """Return those that have words of a question, best first; each tells what its place is made of.

        Their position is -1 and their cosine 0, because it is not known.
        """
        turns = self._turns()
        if not turns and not self._index.count():
            return []
        with self._reading:
            self._hold(turns)
            selection = self._index._select(question.wanted)
        if not len(selection) or (question.threshold or 0.0) > 0.0:
            return []
        asked = replace(question, explain=True, threshold=None)
        hits = found_turns(selection, Fused(selection, asked, None, None), asked)
        return [replace(hit, turn_index=NOWHERE) for hit in hits]

    def _turns(self) -> list[NewTurn]:
        journal, embeds = self._collection.journal, self._collection.embeds
        return journal.read(lambda journal: journal.given_up() if embeds else journal.unembedded())

    def _hold(self, turns: Sequence[NewTurn]) -> None:
        """Hold just these turns, with their words."""
        wanted, held = {turn.turn_id for turn in turns}, set(self._index._ids())
        self._index._drop(held - wanted)
        self._index._put([(turn, [_NO_VECTOR]) for turn in turns if turn.turn_id not in held])
        table, count = self._index._snapshot()
        start = table.messages.with_words
        new = [table.turn(entry) for entry in range(start, count)]
        words = [turn_words(turn) for turn in new]
        self._index._change_messages(table, lambda messages: messages.add_words(start, new, words))


def best_of(found: Sequence[TurnHit], others: Sequence[TurnHit], question: Question) -> list[TurnHit]:
    """Join two lists of hits that tell what their places are made of; equal ones of the first go first."""
    best = sorted([*found, *others], key=lambda hit: -hit.explained["score"])[: question.top_k]
    if not question.explain:
        for hit in best:
            del hit.turn["metadata"]["ffai"]["explained"]  # it is a copy
    return best
