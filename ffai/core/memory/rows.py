"""Turns with their vectors, side by side: as a file, a journal or a store holds them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ffai.core.memory.identity import NewTurn, content_id, notes_of
from ffai.core.memory.journal_file import IndexedTurn
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector


@dataclass(frozen=True, slots=True)
class Rows:
    """Turns, and for each its own vector: shape ``(len(turns), dim)``."""

    turns: list[NewTurn]
    vectors: Vector

    @classmethod
    def journaled(cls, turns: list[IndexedTurn]) -> Rows:
        """Take them from a journal."""
        vectors = np.array([turn.vector for turn in turns]) if turns else np.empty((0, 0))
        return cls([turn.new for turn in turns], vectors)

    def only(self, rows: list[int]) -> Rows:
        """Choose rows by their numbers."""
        if len(rows) == len(self.turns):
            return self  # the vectors of a large file are not copied
        return Rows([self.turns[row] for row in rows], self.vectors[rows])

    def with_parts(self, parts: dict[str, list[Vector]]) -> list[list[Vector]] | Vector:
        """Put the vectors of its parts behind each turn's own; as an array, shape ``(len(turns), 1, dim)``."""
        if not parts:
            return self.vectors[:, None]
        size = self.vectors.shape[1]  # another program may have embedded the file again: the parts are the journal's
        return [
            [vector, *(part for part in parts.get(turn.turn_id, ()) if part.size == size)]
            for turn, vector in zip(self.turns, self.vectors, strict=True)
        ]

    def add_to(self, store: TurnVectorStore, parts: dict[str, list[Vector]] | None = None) -> None:
        """Add them to a store."""
        store._extend(
            [turn.text for turn in self.turns],
            [turn.turn for turn in self.turns],
            [turn.metadata for turn in self.turns],
            self.with_parts(parts or {}),
        )


def ids_of(texts: Sequence[str], turns: Sequence[str], metadata: Sequence[str]) -> list[str]:
    """Return the id of each turn: the one that ffai noted in it, else one made from its content.

    Args:
        texts: what was embedded.
        turns: turn dicts, as JSON.
        metadata: the caller's metadata, as JSON.
    """
    copies: Counter[str] = Counter()
    ids = []
    for text, turn_json, metadata_json in zip(texts, turns, metadata, strict=True):
        turn = json.loads(turn_json)
        noted = notes_of(turn).get("turn_id")
        if noted is None:
            content = text, turn, json.loads(metadata_json)
            copies[content_id(*content)] += 1
            noted = content_id(*content, copies[content_id(*content)])
        ids.append(str(noted))
    return ids


def turns_of(store: TurnVectorStore) -> list[tuple[NewTurn, list[Vector]]]:
    """Return the turns a store holds: each with its own vector and its parts'."""
    texts, _, turns, metadata = store._columns()
    rows = zip(ids_of(texts, turns, metadata), texts, turns, metadata, strict=True)
    return [(NewTurn(*row), group) for row, group in zip(rows, store._groups(), strict=False)]


def free_id(turn: NewTurn, store: TurnVectorStore) -> str:
    """Return the id a turn has beside those of a store: its own, else one that tells it from equal ones."""
    if turn.turn_id != content_id(turn.text, json.loads(turn.turn), json.loads(turn.metadata)):
        return turn.turn_id
    rows = [(json.loads(other), json.loads(metadata)) for other, metadata in store._with_text(turn.text)]
    copies = sum(content_id(turn.text, *row) == turn.turn_id for row in rows)
    return content_id(turn.text, json.loads(turn.turn), json.loads(turn.metadata), copies + 1)
