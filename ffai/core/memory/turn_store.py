"""Turns and their vectors in memory, searched exactly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai._fork import held_over_forks
from ffai.core.arguments import check_number, check_whole
from ffai.core.memory.hit import Entry, TurnHit
from ffai.core.memory.identity import NewTurn, turn_from_elsewhere
from ffai.core.memory.ranking import closest
from ffai.core.memory.table import Groups, Table
from ffai.core.similarity import Vector, as_vector
from ffai.errors import DimensionError
from ffai.typing import Metadata

Numbers = Sequence[float] | NDArray[Any]


class TurnVectorStore:
    r"""Turns with their vectors. Any thread may add, search and clear at any time.

    What is given in is checked and copied before anything is stored; what comes out is a copy.

    Examples:
        >>> store = TurnVectorStore()
        >>> store.add("How?\nThus.", [1.0, 0.0], {"role": "assistant"}, {"prompt_name": "how"})
        0
        >>> [(hit.text, hit.score) for hit in store.search([2.0, 0.0], top_k=1)]
        [('How?\nThus.', 1.0)]
    """

    def __init__(self) -> None:
        self._lock = held_over_forks(threading.Lock())
        self._table = Table()
        self._keeper: Callable[[NewTurn, Sequence[Vector]], int] | None = None
        """Adds turns in the place of this store, where they are kept in files too."""

    @property
    def dimensions(self) -> int | None:
        """Length of the stored vectors, in numbers; ``None`` while the store is empty."""
        vectors = self._table.vectors
        return vectors.dimensions if vectors else None

    def add(
        self,
        text: str,
        embedding: Numbers,
        turn: dict[str, Any],
        metadata: Metadata | None = None,
        *,
        parts: Sequence[Numbers] = (),
    ) -> int:
        """Add one turn.

        Args:
            text: what was embedded.
            embedding: its vector, shape ``(dim,)``; the first one sets ``dim`` for all.
            turn: the turn dict.
            metadata: what the caller attaches; ``{}`` if left out.
            parts: vectors of parts of a long text, each of shape ``(dim,)``. The turn scores as its best vector.

        Returns:
            Its position: 0, 1, 2...

        Raises:
            BadVectorError: a vector is not finite, or (:class:`DimensionError`) of another size. Nothing is stored.
            ArgumentTypeError: a dict holds a value that can't be stored; names it. Nothing is stored.
        """
        new = turn_from_elsewhere(text, turn, metadata)
        vectors = [as_vector(vector) for vector in (embedding, *parts)]
        return self._append(new, vectors) if self._keeper is None else self._keeper(new, vectors)

    def _append(self, turn: NewTurn, vectors: Sequence[Vector]) -> int:
        """Add a turn; where equal ones have its id, it gets one of its own."""
        with self._lock:
            size = self.dimensions or vectors[0].size
            group = [as_vector(vector, size) for vector in vectors]
            self._table.extend([self._table.named(turn)], [group])
            return self._table.count - 1

    def _extend(self, turns: Sequence[NewTurn], groups: Groups) -> None:
        """Add turns whose vectors are finite."""
        if not len(turns):
            return
        size = groups.shape[-1] if isinstance(groups, np.ndarray) else groups[0][0].size
        with self._lock:
            if self.dimensions not in (None, size):
                raise DimensionError(size, self.dimensions or 0)
            self._table.extend(turns, groups)

    def _put(self, turns: Sequence[tuple[NewTurn, Sequence[Vector]]]) -> None:
        """Add turns; one whose id is there takes the place of the other, unless their vectors are the same."""
        with self._lock:
            new = [(turn, vectors) for turn, vectors in turns if not self._table.holds(turn.turn_id, vectors)]
            if replaced := {turn.turn_id for turn, _ in new if turn.turn_id in self._table.entry_of}:
                self._table = self._table.without(replaced)
        if new:
            self._extend([turn for turn, _ in new], [vectors for _, vectors in new])

    def _drop(self, turn_ids: Collection[str]) -> int:
        """Drop turns; returns how many there were."""
        with self._lock:
            before = self._table.count
            if any(turn_id in self._table.entry_of for turn_id in turn_ids):
                self._table = self._table.without(turn_ids)
            return before - self._table.count

    def search(self, query_embedding: Numbers, top_k: int = 5, threshold: float | None = None) -> list[TurnHit]:
        """Find the turns closest to a vector.

        Args:
            query_embedding: shape ``(dim,)``.
            top_k: how many at the most; none for 0 or less.
            threshold: keeps scores of at least this cosine; ``None`` keeps all.

        Returns:
            Best first; equal scores in the order they were added.

        Raises:
            BadVectorError: the vector is not finite, or (:class:`DimensionError`) of another size.
            ArgumentTypeError: ``top_k`` is not an int, or ``threshold`` is not a number.
            InvalidArgumentError: ``threshold`` is NaN.
        """
        check_whole("top_k", top_k)
        if threshold is not None:
            check_number("threshold", threshold)
        query = as_vector(query_embedding)
        table, count = self._snapshot()
        if top_k <= 0 or not count or table.vectors is None:
            return []
        query = as_vector(query, table.vectors.dimensions)
        found = zip(*closest(query, table, count, top_k), strict=True)
        return [
            _hit(table, int(entry), float(score)) for entry, score in found if threshold is None or score >= threshold
        ]

    def iter_entries(self) -> Iterator[Entry]:
        """Yield copies of all turns, in the order they were added; the numbers are those that were given."""
        table, count = self._snapshot()
        for entry in range(count):
            own = table.group(entry)[0].tolist()
            yield Entry(table.texts[entry], own, json.loads(table.turns[entry]), json.loads(table.metadata[entry]))

    def count(self) -> int:
        """Return how many turns are stored."""
        return self._table.count

    def clear(self) -> None:
        """Drop all turns; vectors of another size may then be added."""
        with self._lock:
            self._table = Table()

    def _snapshot(self) -> tuple[Table, int]:
        """Return the table, and how many of its entries are whole."""
        with self._lock:
            return self._table, self._table.count

    def _columns(self) -> tuple[list[NewTurn], Vector]:
        """Return all turns, and their own vectors: shape ``(entries, dim)``."""
        table, count = self._snapshot()
        vectors = table.vectors.exact(table.first_rows.view(count)) if table.vectors else np.empty((0, 0))
        return [table.turn(entry) for entry in range(count)], vectors

    def _texts(self, start: int = 0) -> list[str]:
        """Return what was embedded, from an entry on."""
        table, count = self._snapshot()
        return table.texts[start:count]

    def _turns(self) -> list[tuple[NewTurn, list[Vector]]]:
        """Return all turns, each with its own vector and its parts'."""
        table, count = self._snapshot()
        return [(table.turn(entry), table.group(entry)) for entry in range(count)]

    def _turns_of(self, turn_ids: Collection[str]) -> list[tuple[NewTurn, list[Vector]]]:
        """Return some turns, as :meth:`_turns`."""
        table, count = self._snapshot()
        chosen = [entry for entry in range(count) if table.ids[entry] in turn_ids]
        return [(table.turn(entry), table.group(entry)) for entry in chosen]

    def _ids(self) -> list[str]:
        """Return the ids of all turns."""
        table, count = self._snapshot()
        return table.ids[:count]

    def _position(self, turn_id: str) -> int:
        """Return where a turn is."""
        with self._lock:
            return self._table.entry_of[turn_id]

    def _free_id(self, turn: NewTurn) -> NewTurn:
        """Return a turn under the id it would have here."""
        with self._lock:
            return self._table.named(turn)

    def _replace(self, vectors: Sequence[Sequence[Vector]]) -> bool:
        """Give all entries new vectors, in one step.

        Args:
            vectors: for each entry its own vector and its parts'.

        Returns:
            ``False``, with nothing changed, if entries have come that have none among ``vectors``.
        """
        with self._lock:
            table, fresh = self._table, Table()
            if table.count != len(vectors):
                return False
            if vectors:
                fresh.extend([table.turn(entry) for entry in range(table.count)], vectors)
            self._table = fresh
            return True

    def _become(self, other: TurnVectorStore) -> None:
        """Hold what another store holds, which is not used any more."""
        with self._lock:
            self._table = other._table


def _hit(table: Table, entry: int, score: float) -> TurnHit:
    return TurnHit(
        score=score,
        turn=json.loads(table.turns[entry]),
        turn_index=entry,
        text=table.texts[entry],
        metadata=json.loads(table.metadata[entry]),
    )
