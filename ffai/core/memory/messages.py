"""The questions and answers of the turns of a table, each as a message of its own: words, speakers, vectors."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.keyword import KeywordIndex, TurnWords
from ffai.core.memory.message_vectors import MessageVectors
from ffai.core.memory.naming import Speakers
from ffai.core.memory.turn_json import TurnNotes, prompt_of, read_notes, response_of
from ffai.core.scope import MemoryScope

Entries = NDArray[np.intp]

ASSISTANT = "assistant"
"""Who answered, where nothing says it."""
USER = "user"


class Messages:
    """What is derived from the first turns of a table, as far as it was made. It grows at the end.

    Adding is for one thread at a time; whoever reads takes the counts first, and needs no lock.
    """

    def __init__(self) -> None:
        self.keyword = KeywordIndex()
        self.speakers = Speakers()
        self.anonymous = {self.speakers.number(name) for name in (USER, ASSISTANT)}
        """Speakers without a name of their own."""
        self._speakers = Column(np.int32)
        self.vectors: MessageVectors | None = None

    @property
    def with_words(self) -> int:
        """How many turns have their words here."""
        return self.keyword.count

    @property
    def with_vectors(self) -> int:
        """How many turns have the vectors of their messages here."""
        return self.vectors.count if self.vectors else 0

    def add_words(self, start: int, turns: Sequence[NewTurn], words: Sequence[TurnWords]) -> None:
        """Add the next turns.

        Args:
            start: number of the first one; nothing is added where somebody else was quicker.
            turns: the turns.
            words: those of their messages.
        """
        if start != self.with_words:
            return
        notes = [read_notes(turn.turn) for turn in turns]
        for turn, noted in zip(turns, notes, strict=True):
            self._speakers.extend([self.speakers.number(name) for name in speakers_of(turn, noted)])
        self.keyword.extend(words, [conversation_of(noted) for noted in notes])

    def add_vectors(self, start: int, rows: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        """Add the vectors of the next turns; see :meth:`MessageVectors.extend`.

        Args:
            start: number of the first one; nothing is added where somebody else was quicker.
            rows: shape ``(turns, 2, dim)``.
            scales: shape ``(turns, 2)``.
        """
        if start != self.with_vectors:
            return
        if self.vectors is None:
            self.vectors = MessageVectors(rows.shape[2])
        self.vectors.extend(rows, scales)

    def said_by(self, speakers: Sequence[int], count: int, among: Entries | None = None) -> NDArray[np.bool_]:
        """Tell which messages some speakers said: shape ``(turns, 2)``."""
        numbers = self._speakers.view(2 * count).reshape(-1, 2)
        return np.isin(numbers if among is None else numbers[among], speakers)

    def speaking(self, speakers: Sequence[int], count: int, among: Entries | None = None) -> list[int]:
        """Return those of some speakers who said a message; ascending."""
        numbers = self._speakers.view(2 * count).reshape(-1, 2)
        there = numbers if among is None else numbers[among]
        found: list[int] = np.unique(there[np.isin(there, speakers)]).tolist()
        return found

    def of(self, kept: Entries) -> Messages:
        """Return what is known of some turns, in their order.

        Args:
            kept: their numbers here, ascending.
        """
        fresh = Messages()
        with_words = kept[: np.searchsorted(kept, self.with_words)]
        fresh.keyword = self.keyword.of(with_words)
        fresh.speakers, fresh.anonymous = self.speakers, self.anonymous
        fresh._speakers.extend(self._speakers.view(2 * self.with_words).reshape(-1, 2)[with_words].ravel())
        if self.vectors is not None:
            fresh.vectors = self.vectors.of(kept[: np.searchsorted(kept, self.with_vectors)])
        return fresh


def messages_of(turn: NewTurn) -> tuple[str, str]:
    r"""Return the question and the answer of a turn; all of it is the question where it does not tell.

    Examples:
        >>> notes = '{"metadata": {"ffai": {"response_at": 5}}}'
        >>> messages_of(NewTurn("a1", "How?\nThus.", notes, "{}")), messages_of(NewTurn("a2", "How?", "{}", "{}"))
        (('How?', 'Thus.'), ('How?', ''))
    """
    notes = {"metadata": {"ffai": dict(read_notes(turn.turn).ffai)}}
    prompt = prompt_of(turn.text, notes)
    return turn.text if prompt is None else prompt, response_of(turn.text, notes) or ""


def speakers_of(turn: NewTurn, noted: TurnNotes) -> tuple[str, str]:
    """Return who asked and who answered, by name where there is one.

    Examples:
        >>> turn = '{"metadata": {"ffai": {"scope": {"actor_id": "u1", "actor_type": "user", "actor_name": "Ann"}}}}'
        >>> new = NewTurn("a1", "How?", turn, '{"assistant_name": "Marvin"}')
        >>> speakers_of(new, read_notes(turn))
        ('Ann', 'Marvin')
    """
    scope = MemoryScope.stored(noted.scope)
    named = _attached(turn).get("assistant_name")
    answered = named if isinstance(named, str) and named else noted.agent_actor_id
    return scope.actor_name or scope.actor_id or USER, answered or ASSISTANT


def conversation_of(noted: TurnNotes) -> Hashable:
    """Return what turns of the same talk have in common: their conversation and person, as far as they tell.

    Examples:
        >>> conversation_of(read_notes("{}"))
        (None, None, None)
    """
    scope = MemoryScope.stored(noted.scope)
    if scope.conversation_id is not None:
        return (scope.conversation_id,)
    return scope.actor_type, scope.actor_id, None


def _attached(turn: NewTurn) -> Mapping[str, Any]:
    if "assistant_name" not in turn.metadata:
        return {}
    attached: Mapping[str, Any] = json.loads(turn.metadata)
    return attached
