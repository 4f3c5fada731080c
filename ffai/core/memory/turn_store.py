"""Turns and their vectors in memory, searched exactly."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai._fork import held_over_forks
from ffai.core.arguments import check_number, check_whole
from ffai.core.memory.hit import Entry, TurnHit
from ffai.core.memory.identity import checked
from ffai.core.memory.vectors import VectorBlocks
from ffai.core.similarity import Vector, as_vector, candidates, cosine, likely_best, rounding_bound, unit
from ffai.errors import DimensionError
from ffai.typing import Metadata

Numbers = Sequence[float] | NDArray[Any]


class _Table:
    """Parallel columns that only grow. ``count`` is raised last: what lies below it is whole and never changes."""

    def __init__(self) -> None:
        self.count = 0
        self.texts: list[str] = []
        self.turns: list[str] = []
        self.metadata: list[str] = []
        self.first_rows: list[int] = []
        """Row of each entry's own vector; the rows of its parts follow it."""
        self.vectors: VectorBlocks | None = None

    def append(self, text: str, turn: str, metadata: str, vectors: Vector) -> int:
        """Add one entry with its vector and its parts': shape ``(1 + parts, dim)``."""
        return self.extend([text], [turn], [metadata], vectors, [0])

    def extend(
        self,
        texts: Sequence[str],
        turns: Sequence[str],
        metadata: Sequence[str],
        vectors: Vector,
        firsts: Sequence[int],
    ) -> int:
        """Add entries; ``firsts`` says at which row of ``vectors`` each begins. Returns the last one's position."""
        if self.vectors is None:
            self.vectors = VectorBlocks(vectors.shape[1])
        base = self.vectors.count
        self.first_rows.extend(base + first for first in firsts)
        self.vectors.append(vectors)
        self.texts.extend(texts)
        self.turns.extend(turns)
        self.metadata.extend(metadata)
        self.count += len(texts)
        return self.count - 1

    def rows_of(self, entry: int, rows: int) -> range:
        """Rows of one entry: its own vector's, then its parts'; ``rows`` is where the last entry ends."""
        ends = self.first_rows[entry + 1] if entry + 1 < len(self.first_rows) else rows
        return range(self.first_rows[entry], ends)


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
        self._table = _Table()

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
        row = checked(text, turn, metadata)
        return self._append(*row, [as_vector(vector) for vector in (embedding, *parts)])

    def _append(self, text: str, turn: str, metadata: str, vectors: Sequence[Vector]) -> int:
        """Add a turn whose JSON is ready."""
        with self._lock:
            size = self.dimensions or vectors[0].size
            rows = np.stack([as_vector(vector, size) for vector in vectors])
            return self._table.append(text, turn, metadata, rows)

    def _extend(
        self,
        texts: Sequence[str],
        turns: Sequence[str],
        metadata: Sequence[str],
        groups: Sequence[Sequence[Vector]] | Vector,
    ) -> None:
        """Add turns whose JSON is ready and whose vectors are finite.

        Args:
            texts: what was embedded.
            turns: turn dicts, as JSON.
            metadata: the caller's metadata, as JSON.
            groups: for each turn its own vector and its parts'; as an array, shape ``(len(texts), 1, dim)``.
        """
        if not len(texts):
            return
        if isinstance(groups, np.ndarray):
            rows, firsts = groups[:, 0], range(len(groups))
        else:
            rows = np.array([vector for group in groups for vector in group])
            firsts = np.cumsum([0, *(len(group) for group in groups[:-1])]).tolist()
        with self._lock:
            if self.dimensions not in (None, rows.shape[1]):
                raise DimensionError(rows.shape[1], self.dimensions or 0)
            self._table.extend(texts, turns, metadata, rows, firsts)

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
        table, count, rows = self._snapshot()
        if top_k <= 0 or not count or table.vectors is None:
            return []
        query = as_vector(query, table.vectors.dimensions)
        chosen, exact = _best(query, table, table.vectors, count, rows, top_k)
        best = np.lexsort((chosen, -exact))[:top_k]
        return [
            _hit(table, int(chosen[place]), float(exact[place]))
            for place in best
            if threshold is None or exact[place] >= threshold
        ]

    def iter_entries(self) -> Iterator[Entry]:
        """Yield copies of all turns, in the order they were added; the numbers are those that were given."""
        table, count, _ = self._snapshot()
        for entry in range(count):
            vector = table.vectors.exact([table.first_rows[entry]])[0] if table.vectors else np.empty(0)
            turn, metadata = json.loads(table.turns[entry]), json.loads(table.metadata[entry])
            yield Entry(table.texts[entry], vector.tolist(), turn, metadata)

    def count(self) -> int:
        """Return how many turns are stored."""
        return self._table.count

    def clear(self) -> None:
        """Drop all turns; vectors of another size may then be added."""
        with self._lock:
            self._table = _Table()

    def _snapshot(self) -> tuple[_Table, int, int]:
        """Return the table, how many entries are whole, and how many rows they have."""
        with self._lock:
            table = self._table
            return table, table.count, table.vectors.count if table.vectors else 0

    def _columns(self, start: int = 0) -> tuple[list[str], Vector, list[str], list[str]]:
        """Return texts, vectors of shape ``(entries, dim)``, turns and metadata as JSON, from an entry on."""
        table, count, _ = self._snapshot()
        chosen = slice(start, count)
        vectors = table.vectors.exact(table.first_rows[chosen]) if table.vectors else np.empty((0, 0))
        return table.texts[chosen], vectors, table.turns[chosen], table.metadata[chosen]

    def _texts(self, start: int = 0) -> list[str]:
        """Return what was embedded, from an entry on."""
        table, count, _ = self._snapshot()
        return table.texts[start:count]

    def _with_text(self, text: str) -> list[tuple[str, str]]:
        """Return turn and metadata, as JSON, of the entries with a text."""
        table, count, _ = self._snapshot()
        found = [entry for entry, other in enumerate(table.texts[:count]) if other == text]
        return [(table.turns[entry], table.metadata[entry]) for entry in found]

    def _groups(self, start: int = 0) -> list[list[Vector]]:
        """Return for each entry, from one on, its own vector and its parts'."""
        table, count, rows = self._snapshot()
        if table.vectors is None:
            return []
        return [list(table.vectors.exact(table.rows_of(entry, rows))) for entry in range(start, count)]

    def _replace(self, vectors: Sequence[Sequence[Vector]]) -> bool:
        """Give all entries new vectors, in one step.

        Args:
            vectors: for each entry its own vector and its parts'.

        Returns:
            ``False``, with nothing changed, if entries have come that have none among ``vectors``.
        """
        with self._lock:
            table, fresh = self._table, _Table()
            if table.count != len(vectors):
                return False
            firsts = np.cumsum([0, *(len(group) for group in vectors[:-1])]).tolist()
            rows = np.array([vector for group in vectors for vector in group])
            fresh.extend(table.texts, table.turns, table.metadata, rows, firsts)
            self._table = fresh
            return True


def _best(
    query: Vector, table: _Table, vectors: VectorBlocks, count: int, rows: int, top_k: int
) -> tuple[NDArray[np.intp], Vector]:
    """Find every entry that can be among the ``top_k`` best, with its exact score.

    A scan gives rough scores, each at most ``error`` away. The ``top_k``-th best of a guess bounds the final one from
    below, so whatever scores less than that by more than ``error`` is out for certain, and the rest is scored again.
    """
    direction = unit(query)
    firsts = None if rows == count else np.array(table.first_rows[:count])
    scores, error = vectors.scan(direction, rows)
    rough = scores if firsts is None else np.maximum.reduceat(scores, firsts)
    rounding = rounding_bound(query.size)

    def score(entries: NDArray[np.intp]) -> NDArray[np.float32]:
        if firsts is None:
            return vectors.score(direction, entries)
        of_entries, starts = _rows_of(table, entries, rows)
        best: NDArray[np.float32] = np.maximum.reduceat(vectors.score(direction, of_entries), starts)
        return best

    guess = score(likely_best(rough, top_k))
    floor = np.partition(guess, guess.size - top_k)[guess.size - top_k] if top_k < guess.size else -2.0
    possible = np.flatnonzero(rough >= np.float32(floor - error - rounding))
    chosen = possible[candidates(score(possible), top_k, rounding)]
    return chosen, _exact_scores(query, table, vectors, chosen, rows)


def _rows_of(table: _Table, entries: NDArray[np.intp], rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of entries, and where among them each entry begins."""
    spans = [table.rows_of(entry, rows) for entry in entries.tolist()]
    starts = np.cumsum([0, *(len(span) for span in spans[:-1])])
    return np.array([row for span in spans for row in span], dtype=np.intp), starts


def _exact_scores(query: Vector, table: _Table, vectors: VectorBlocks, entries: NDArray[np.intp], rows: int) -> Vector:
    """Score the chosen entries in double precision: shape ``(len(entries),)``."""
    of_entries, starts = _rows_of(table, entries, rows)
    best: Vector = np.maximum.reduceat(cosine(query, vectors.exact(of_entries)), starts)
    return best


def _hit(table: _Table, entry: int, score: float) -> TurnHit:
    return TurnHit(
        score=score,
        turn=json.loads(table.turns[entry]),
        turn_index=entry,
        text=table.texts[entry],
        metadata=json.loads(table.metadata[entry]),
    )
