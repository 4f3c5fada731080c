"""Taking over what other processes did to a collection."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ffai.core.memory.journal_database import Version
from ffai.core.memory.journal_file import Changes
from ffai.core.memory.place import Place
from ffai.core.memory.reading import Found, read_collection
from ffai.core.memory.steady_journal import SteadyJournal
from ffai.core.memory.turn_store import Turns, TurnVectorStore

logger = logging.getLogger(__name__)


class Follower:
    """Knows up to which change a store holds a journal, and brings it up to date.

    Its owner sees to it that one thread at a time is inside, and that nothing is written meanwhile by this process.

    Args:
        place: the files.
        journal: the journal, open.
        notes: gets what was found damaged.
    """

    def __init__(self, place: Place, journal: SteadyJournal, notes: list[str]) -> None:
        self._place, self._journal, self._notes = place, journal, notes
        self._seen, self._version, self._journal_id = 0, (0, 0), ""
        self._own: set[int] = set()
        self.lost: set[str] = set()
        """Ids of turns that others have forgotten, until they are taken."""
        self.model: str | None = None
        """The model that the collection has by now, where another process has changed it."""

    def begin(self, found: Found) -> None:
        """Note that the store holds what was found."""
        self._seen, self._own = found.changes.last, set()
        self._journal_id = self._journal.active.journal_id
        self.model = None

    def did(self, changes: Iterable[int | None]) -> None:
        """Note changes of this process, which the store holds already."""
        self._own.update(change for change in changes if change)

    def advance(self) -> None:
        """Forget which changes were this process's, as long as nobody else makes any."""
        if self._own and self._journal.healthy and self._version_now() == self._version:
            self._seen, self._own = max(self._seen, *self._own), set()

    def _version_now(self) -> Version:
        return self._journal.read(lambda journal: journal.version())

    def take_lost(self) -> set[str]:
        """Return the ids of the turns that were forgotten since the last call."""
        lost, self.lost = self.lost, set()
        return lost

    def is_behind(self) -> bool:
        """Tell whether somebody may have changed the journal since the last look."""
        if not self._journal.healthy or not self._journal_id:
            return False  # or the store does not hold the journal at all yet
        return self._journal.follow() or self._version_now() != self._version

    def catch_up(self, store: TurnVectorStore, model: str) -> Found | None:
        """Bring a store up to date.

        Args:
            store: what this process searches.
            model: the model whose vectors it holds.

        Returns:
            What the files hold, where they had to be read again.
        """
        self._version = self._version_now()
        changes = self._journal.read(lambda journal: journal.changes_since(self._seen))
        if not self._journal.healthy:
            return None  # by now: what was read is the spare's
        if self._is_of_another_model(changes, model):
            self._apply_losses(store, changes)
            return None
        if self.model is not None or changes.complete_from > self._seen or not self._is_same_journal():
            return self.read_again(store)
        self._apply_losses(store, changes)
        news = [(turn.new, turn.vectors) for turn in changes.indexed if turn.change not in self._own]
        store._put(self._of_size(news, store.dimensions))
        self._seen, self._own = changes.last, set()
        return None

    def _is_of_another_model(self, changes: Changes, model: str) -> bool:
        if changes.model in (None, model):
            return False
        if changes.model != self.model:
            logger.warning(
                "Another process embeds the turns with %r now. This one goes on searching what %r embedded, and leaves "
                "new turns to the other.", changes.model, model,
            )  # fmt: skip
        self.model = changes.model
        return True

    def _apply_losses(self, store: TurnVectorStore, changes: Changes) -> None:
        if changes.cleared_at > self._seen:
            store.clear()
            self._own.clear()
        store._drop(changes.forgotten)
        self.lost |= changes.forgotten

    @staticmethod
    def _of_size(turns: Turns, size: int | None) -> Turns:
        """Leave out turns whose vectors can't be compared with those of the store, and say so."""
        fitting = [(turn, vectors) for turn, vectors in turns if size in (None, vectors[0].size)]
        if len(fitting) < len(turns):
            logger.warning(
                "Another process embeds the turns with a model of the same name whose vectors have another size than "
                "%d; %d turns can't be searched here.", size, len(turns) - len(fitting),
            )  # fmt: skip
        return fitting

    def _is_same_journal(self) -> bool:
        return self._journal.active.journal_id == self._journal_id

    def read_again(self, store: TurnVectorStore) -> Found | None:
        """Let a store hold just what the files hold; ``None`` where they can't be read just now."""
        found = read_collection(self._place, self._journal, self._notes)
        if not self._journal.healthy:
            return None
        fresh = TurnVectorStore()
        found.fill(fresh)
        store._become(fresh)
        self.begin(found)
        return found
