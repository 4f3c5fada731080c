"""Searching a store for turns that differ, as a memory does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ffai.core.memory import TurnHit, TurnVectorStore
from ffai.core.memory.filters import EVERY_TURN, TurnFilter
from ffai.core.memory.found import found_turns
from ffai.core.memory.hybrid import Closest
from ffai.core.memory.question import Question


def distinct_hits(
    store: TurnVectorStore, query: Sequence[float], top_k: int, wanted: TurnFilter = EVERY_TURN
) -> list[TurnHit]:
    """The best turns of which no two have the same text and scope."""
    selection = store._select(wanted)
    ranker = Closest(selection, np.array(query), None)
    return found_turns(selection, ranker, Question(text="any", top_k=top_k, distinct=True))
