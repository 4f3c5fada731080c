"""Turns with their vectors, side by side, as a file holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffai.core.memory.identity import NewTurn
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector


@dataclass(frozen=True, slots=True)
class Rows:
    """Turns, and for each its own vector: shape ``(len(turns), dim)``."""

    turns: list[NewTurn]
    vectors: Vector

    @classmethod
    def none(cls) -> Rows:
        """Return no rows."""
        return cls([], np.empty((0, 0)))

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
        store._extend(self.turns, self.with_parts(parts or {}))
