"""Turns with their vectors, side by side, as a file holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ffai.core.memory.identity import NewTurn
from ffai.core.memory.table import Columns
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.similarity import Vector


@dataclass(frozen=True, slots=True)
class Rows:
    """Turns, and for each its own vector: shape ``(len(rows), dim)``."""

    columns: Columns
    vectors: Vector

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def none(cls) -> Rows:
        """Return no rows."""
        return cls(([], [], [], []), np.empty((0, 0)))

    @property
    def ids(self) -> Sequence[str]:
        """The id of each turn."""
        return self.columns[0]

    def turns(self) -> list[NewTurn]:
        """Return the turns one by one."""
        return list(map(NewTurn, *self.columns))

    def only(self, rows: list[int]) -> Rows:
        """Choose rows by their numbers."""
        if len(rows) == len(self):
            return self  # the vectors of a large file are not copied
        ids, texts, turns, metadata = ([column[row] for row in rows] for column in self.columns)
        return Rows((ids, texts, turns, metadata), self.vectors[rows])

    def with_parts(self, parts: dict[str, list[Vector]]) -> list[list[Vector]] | Vector:
        """Put the vectors of its parts behind each turn's own; as an array, shape ``(len(rows), 1, dim)``."""
        if not parts:
            return self.vectors[:, None]
        size = self.vectors.shape[1]  # another program may have embedded the file again: the parts are the journal's
        return [
            [vector, *(part for part in parts.get(turn_id, ()) if part.size == size)]
            for turn_id, vector in zip(self.ids, self.vectors, strict=True)
        ]

    def add_to(self, store: TurnVectorStore, parts: dict[str, list[Vector]] | None = None) -> None:
        """Add them to a store."""
        store._extend(self.columns, self.with_parts(parts or {}))
