"""Turns and their vectors in memory, searched exactly."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffai._fork import held_over_forks
from ffai.core.arguments import check_number, check_whole
from ffai.core.memory.conversations import external_id, name_of, settle
from ffai.core.memory.filters import EVERY_TURN, TurnFilter, Where
from ffai.core.memory.hit import Entry, TurnHit
from ffai.core.memory.identity import NewTurn, turn_from_elsewhere
from ffai.core.memory.messages import Messages
from ffai.core.memory.selection import Selection
from ffai.core.memory.table import Columns, Groups, Table, columns_of
from ffai.core.scope_policy import Scope
from ffai.core.similarity import Vector, as_vector
from ffai.errors import DimensionError
from ffai.typing import Metadata

Numbers = Sequence[float] | NDArray[Any]
Turns = Sequence[tuple[NewTurn, Sequence[Vector]]]
"""Turns, each with its own vector and its parts'."""


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
        self._lock, self._reading = (held_over_forks(threading.Lock()) for _ in range(2))
        self._table = Table(self._reading)
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
            self._table.extend(columns_of([self._table.named(turn)]), [group])
            return self._table.count - 1

    def _extend(self, turns: Columns, groups: Groups) -> None:
        """Add turns whose vectors are finite."""
        if not len(groups):
            return
        size = groups.shape[-1] if isinstance(groups, np.ndarray) else groups[0][0].size
        with self._lock:
            if self.dimensions not in (None, size):
                raise DimensionError(size, self.dimensions or 0)
            self._table.extend(turns, groups)

    def _put(self, turns: Turns) -> None:
        """Add turns; one whose id is there takes the place of the other, unless their vectors are the same."""
        with self._lock:
            new = [(turn, vectors) for turn, vectors in turns if not self._table.holds(turn.turn_id, vectors)]
            if replaced := {turn.turn_id for turn, _ in new if turn.turn_id in self._table.entry_of}:
                self._table = self._table.without(replaced)
        if new:
            self._extend(columns_of([turn for turn, _ in new]), [vectors for _, vectors in new])

    def _drop(self, turn_ids: Collection[str]) -> int:
        """Drop turns; returns how many there were."""
        with self._lock:
            before = self._table.count
            if any(turn_id in self._table.entry_of for turn_id in turn_ids):
                self._table = self._table.without(turn_ids)
            return before - self._table.count

    def search(
        self,
        query_embedding: Numbers,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
    ) -> list[TurnHit]:
        """Find the turns closest to a vector, of those that have not expired.

        Args:
            query_embedding: shape ``(dim,)``.
            top_k: how many at the most; none for 0 or less.
            threshold: keeps scores of at least this cosine; ``None`` keeps all.
            where: only turns whose metadata has these values under these keys; see
                :meth:`~ffai.core.memory.filters.TurnFilter.of`.
            scope: only turns of this scope: each field that is given must be the same, as a whole value, and all
                participants must have taken part in the turn's conversation.

        Returns:
            Best first; equal scores in the order they were added.

        Raises:
            BadVectorError: the vector is not finite, or (:class:`DimensionError`) of another size.
            ArgumentTypeError: ``top_k`` is not an int, ``threshold`` is not a number, or a filter is no mapping or
                holds what nothing can be equal to.
            InvalidArgumentError: ``threshold`` is NaN, or (:class:`ScopeValidationError`) the scope can't be used.
        """
        check_whole("top_k", top_k)
        if threshold is not None:
            check_number("threshold", threshold)
        query, wanted = as_vector(query_embedding), TurnFilter.of(where, scope)
        selection = self._select(wanted)
        return [selection.hit(entry, score) for entry, score in selection.closest(query, top_k, threshold)]

    def iter_entries(self) -> Iterator[Entry]:
        """Yield copies of all turns, in the order they were added; the numbers are those that were given."""
        selection = self._select()
        table = selection.table
        for entry in selection.entries().tolist():
            own = table.group(entry)[0].tolist()
            yield Entry(table.texts[entry], own, json.loads(table.turns[entry]), json.loads(table.metadata[entry]))

    def count(self) -> int:
        """Return how many turns are stored and have not expired."""
        return len(self._select())

    def clear(self) -> None:
        """Drop all turns; vectors of another size may then be added."""
        with self._lock:
            self._table = Table(self._reading)

    def _snapshot(self) -> tuple[Table, int]:
        """Return the table, and how many of its entries are whole."""
        with self._lock:
            return self._table, self._table.count

    def _select(self, wanted: TurnFilter = EVERY_TURN) -> Selection:
        """Return the turns that a filter allows, as they are now."""
        return Selection.of(*self._snapshot(), wanted, time.time())

    def _settled(self, wanted: TurnFilter, others: Iterable[NewTurn]) -> TurnFilter:
        """Return a filter that no longer depends on who took part in what; see :func:`conversations.settle`."""
        return settle(wanted, *self._snapshot(), time.time(), others)

    def _external_id(self, conversation: str, others: Iterable[NewTurn]) -> str | None:
        """Return what the caller calls a conversation; see :func:`conversations.external_id`."""
        return external_id(conversation, *self._snapshot(), others)

    def _name_of(self, actor_id: str) -> str | None:
        """Return what an actor is called; see :func:`conversations.name_of`."""
        return name_of(actor_id, *self._snapshot())

    def _change_messages(self, table: Table, change: Callable[[Messages], None]) -> None:
        """Add to what is known of the messages of a table, if it is still in use."""
        with self._lock:
            if self._table is table:
                change(table.messages)

    def _chosen(self, wanted: TurnFilter) -> list[str]:
        """Return the ids of the turns that a filter allows, also of those that have expired: for who drops them."""
        selection = Selection.of(*self._snapshot(), wanted, -math.inf)
        return [selection.table.ids[entry] for entry in selection.entries().tolist()]

    def _held(self) -> int:
        """Count all turns that are kept, also those that have expired and were not dropped yet."""
        return self._table.count

    def _expired(self, now: float) -> list[str]:
        """Return the ids of the turns that are not found any more, for who drops them.

        Args:
            now: the time, in seconds since the epoch.
        """
        table, count = self._snapshot()
        if now < table.earliest_expiry:
            return []
        return [table.ids[entry] for entry in np.flatnonzero(table.expires.view(count) <= now).tolist()]

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

    def _free_id(self, turn: NewTurn, taken: Collection[str]) -> NewTurn:
        """Return a turn under the id it would have here, if it is none of those that are taken."""
        with self._lock:
            return self._table.named(turn, taken)

    def _replace(self, vectors: Sequence[Sequence[Vector]]) -> bool:
        """Give all entries new vectors, in one step.

        Args:
            vectors: for each entry its own vector and its parts'.

        Returns:
            ``False``, with nothing changed, if entries have come that have none among ``vectors``.
        """
        with self._lock:
            table, fresh = self._table, Table(self._reading)
            if table.count != len(vectors):
                return False
            if vectors:
                fresh.extend(table.columns(range(table.count)), vectors)
            self._table = fresh
            return True

    def _become(self, other: TurnVectorStore) -> None:
        """Hold what another store holds, which is not used any more."""
        with self._lock:
            self._table = other._table
