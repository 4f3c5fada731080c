"""Journal and store of a collection, changed together: what is durable and what is searched."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from ffai._fork import held_over_forks
from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.memory.following import Follower
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.journal import Journal
from ffai.core.memory.journal_file import Arrival, Durability
from ffai.core.memory.listeners import listeners_at
from ffai.core.memory.place import Place
from ffai.core.memory.saving import Saver
from ffai.core.memory.steady_journal import SteadyJournal
from ffai.core.memory.turn_store import Turns, TurnVectorStore
from ffai.core.similarity import Vector, as_vector

logger = logging.getLogger(__name__)


class Ledger(ABC):
    """Where turns are durable, and where they are searched.

    Args:
        embedder: makes the vectors.
        store: where they are searched.
        place: where they are kept; ``None`` keeps everything in memory.
        durability: see :class:`~ffai.core.memory.journal.Journal`.
    """

    def __init__(self, embedder: Embedder, store: TurnVectorStore, place: Place | None, durability: Durability) -> None:
        self.embedder, self.place = embedder, place
        self.listeners = listeners_at(place)
        self.notes: list[str] = []
        self.when_healed: Callable[[], None] | None = None
        """What is to be done as soon as the journal file can be opened, where it can't yet."""
        self.model_is_unknown = False
        """Whether nothing tells yet if the stored vectors are of this embedder's size."""
        self.closed = False
        self.journal = SteadyJournal(place.journal if place else None, durability)
        self.saver = Saver(place, self.journal) if place else None
        self.follower = Follower(place, self.journal, self.notes) if place else None
        self.changing = held_over_forks(threading.RLock())
        """Held while journal and store change together."""
        self.switching = held_over_forks(threading.Lock())
        """Held while an embedder and the vectors it made are exchanged."""
        self._store = self._kept(store)

    @abstractmethod
    def wake(self) -> None:
        """Say that there is work."""

    @property
    def store(self) -> TurnVectorStore:
        """Where the turns are searched."""
        return self._store

    @store.setter
    def store(self, store: TurnVectorStore) -> None:
        self._store._keeper = None
        self._store = self._kept(store)

    def _kept(self, store: TurnVectorStore) -> TurnVectorStore:
        """Let turns that are added to a store itself be kept in the files too."""
        if self.place is not None:
            store._keeper = self._add_to_store
        return store

    # Turns come in

    def accept(self, turn: NewTurn) -> None:
        """Take a turn; it is durable when this returns, and embedded later."""
        self.journal.write(lambda journal: journal.append(turn))
        self.wake()

    def accept_all(self, turns: Sequence[NewTurn]) -> None:
        """Take several turns at once; see :meth:`accept`."""
        if turns:
            self.journal.write(lambda journal: journal.append_all(turns))
            self.wake()

    def accept_embedded(self, turns: Sequence[tuple[NewTurn, Sequence[Vector]]]) -> None:
        """Take several turns with vectors of the present model and of one size; they are durable when this returns."""
        if turns:
            with self.changing:
                self.take(turns)
            self.wake()

    def add(self, turn: NewTurn, vectors: Sequence[Vector], embedder: Embedder) -> int | None:
        """Take a turn that is embedded already.

        Returns:
            Its position in the store; ``None``, with nothing kept, where the embedder is no longer the one in use.

        Raises:
            DimensionError: the vectors are of another size than those in the store. Nothing is kept.
        """
        with self.changing:
            if embedder is not self.embedder:
                return None
            self.compare_size(vectors[0].size)
            for vector in vectors:
                as_vector(vector, self.store.dimensions)
            kept = self._keep_new(turn, vectors)
            self.store._put([(kept, vectors)])
            return self.store._position(kept.turn_id)

    def _keep_new(self, turn: NewTurn, vectors: Sequence[Vector]) -> NewTurn:
        """Keep a turn under an id of its own, also where another process has one of the same content, or one waits."""
        if self.place is None:
            return self.store._free_id(turn, ())
        self.catch_up()
        taken: set[str] = set()
        model = embedder_name(self.embedder)
        while True:
            kept = self.store._free_id(turn, taken)
            change = self.journal.write(partial(Journal.add, turn=kept, vectors=vectors, model=model))
            if change is not None:
                break
            taken.add(kept.turn_id)
        self.did([change])
        self.wake()
        return kept

    def _add_to_store(self, turn: NewTurn, vectors: Sequence[Vector]) -> int:
        with self.changing:
            position = self.add(turn, vectors, self.embedder)
        assert position is not None  # noqa: S101 - nobody exchanges the embedder meanwhile
        return position

    def keep(self, turns: Turns) -> None:
        """Make turns that the store holds, or is about to, part of the collection."""
        if turns and self.place is not None:
            self.did(self.journal.write(lambda journal: journal.index(turns)))
            self.wake()

    def embed_again(self, turns: Sequence[NewTurn]) -> None:
        """Let turns wait for vectors of the present model. The file keeps the old ones until all are there."""
        model = embedder_name(self.embedder)
        self.journal.write(lambda journal: journal.embed_again(turns, model))
        self.wake()

    def take(self, turns: Turns, arrived: Sequence[Arrival] | None = None) -> None:
        """Keep turns and their vectors, first where they are durable, then where they are searched.

        Args:
            turns: each with its own vector and its parts'.
            arrived: the turns as they waited; those that wait no longer are left out.
        """
        model = embedder_name(self.embedder)
        changes = self.journal.write(
            lambda journal: journal.index(turns, arrived, model=model, keep=self.place is not None)
        )
        self.did(changes)
        self.store._put([pair for pair, change in zip(turns, changes, strict=True) if change is not None])

    def did(self, changes: Sequence[int | None]) -> None:
        """Note changes that this process has made to journal and store."""
        if self.follower is not None:
            self.follower.did(changes)

    def compare_size(self, size: int) -> None:
        """Embed all turns again where the first vector shows that a model without a name was another one."""
        if not self.model_is_unknown:  # a search waits for no lock
            return
        with self.changing:
            was_unknown, self.model_is_unknown = self.model_is_unknown, False
            stored = self.store.dimensions
            if not was_unknown or stored in (None, size):
                return
            logger.warning(
                "The stored vectors have %d numbers, those of %r have %d; the turns are embedded again.",
                stored, embedder_name(self.embedder), size,
            )  # fmt: skip
            self.embed_again([turn for turn, _ in self.store._turns()])
            self.store.clear()

    def catch_up(self) -> None:
        """Take over what other processes did."""
        if self.follower is None or self.closed or not self.follower.is_behind():
            return
        with self.changing:
            found = self.follower.catch_up(self.store, embedder_name(self.embedder))
            if found is not None and self.saver is not None:
                self.saver.found(len(found.rows), found.facts)
        if self.follower.lost:
            self.wake()  # it tells the listeners

    def is_current(self, embedder: Embedder) -> bool:
        """Tell whether the stored vectors are an embedder's; waits while they are being exchanged."""
        with self.switching:
            return embedder is self.embedder

    def heal(self, *, now: bool = True) -> bool:
        """Write what is not durable yet, and do what waited for that; tells whether all is in the file.

        Args:
            now: also where the last try was a moment ago.
        """
        healthy = self.journal.heal(now=now)
        if healthy:
            with self.changing:
                late, self.when_healed = self.when_healed, None
                if late is not None:
                    late()
        return healthy
