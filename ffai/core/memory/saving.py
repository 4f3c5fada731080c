"""Writing the memory file: whole and atomically, as often as is cheap."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import filelock
import numpy as np

from ffai._atomic import remove_unfinished, replace_file
from ffai._fork import has_lost_polars
from ffai.core.memory.elsewhere import elsewhere
from ffai.core.memory.erasing import erase, erase_all
from ffai.core.memory.journal import Journal
from ffai.core.memory.journal_file import Changes
from ffai.core.memory.parquet import FileFacts, frame_of, read_file, write_frame
from ffai.core.memory.place import Place
from ffai.core.memory.row_ids import row_ids
from ffai.core.memory.steady_journal import SteadyJournal
from ffai.errors import DamagedFileError, JournalError, StoreError, StoreFileNotFoundError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)

SMALL = 1000
"""Rows. A file of fewer is rewritten whenever no turn waits."""
GROWTH = 10
"""A larger one is rewritten when the journal holds an n-th of its rows, so that n turns cost O(n) writing."""
PAUSE_AFTER_ERROR = 5.0
PAUSE_WHILE_IN_USE = 1.0
LONGEST_WRITE = 30.0
"""Seconds that one who has something forgotten, or who flushes, waits for another who writes the file."""
IN_LINE = 0.05


class FilesInUseError(StoreError):
    """Somebody else writes the files just now."""


class Saver:
    """Moves indexed turns from the journal into the memory file. Used by the worker's thread; asked by any.

    Args:
        place: the files.
        journal: what the file does not hold yet.
    """

    def __init__(self, place: Place, journal: SteadyJournal) -> None:
        self._place, self._journal = place, journal
        self._facts = FileFacts()
        self._rows = 0
        self._not_before, self._in_use = 0.0, False
        self.asked = False
        """Whether somebody waits for the file to hold every indexed turn."""
        self._asks = 0
        """How often somebody has asked for it."""
        self._leave_line_at = 0.0
        self.problem: str | None = None
        """Why the file can't be written just now; the journal keeps the turns."""

    def found(self, rows: int, facts: FileFacts) -> None:
        """Tell what the file holds, as it was read."""
        self._rows = rows
        self._facts = facts

    @property
    def next_try(self) -> float | None:
        """In how many seconds a file that could not be written is tried again; ``None`` if it could."""
        return max(0.0, self._not_before - time.monotonic()) if self.problem or self._in_use else None

    @property
    def rows(self) -> int:
        """Rows of the file, as of the last look."""
        return self._rows

    def ask(self) -> bool:
        """Ask for the file to be written; tells whether there is something to write."""
        self._leave_line_at = time.monotonic() + LONGEST_WRITE
        self._asks += 1
        self.asked = (self._unsaved() > 0 or self._owes()) and not has_lost_polars()
        return self.asked

    def save_if_due(self, *, drained: bool) -> None:
        """Write the file if it is time.

        Args:
            drained: whether no turn waits to be embedded.
        """
        asks = self._asks
        if self.asked or time.monotonic() >= self._not_before:
            self._in_use = False
            merge = self._is_due(drained)
            if merge or self._owes():
                self.save(merge=merge)
        if drained and not self._in_use:
            self._has_heard(asks)

    def _has_heard(self, asks: int) -> None:
        """Note that what was asked for is done, unless somebody has asked since: his turns may not be in the file."""
        if asks == self._asks:
            self.asked = False

    def _is_due(self, drained: bool) -> bool:
        if not self._journal.healthy or not (unsaved := self._unsaved()):
            return False
        if has_lost_polars() and unsaved < max(SMALL, self._rows // GROWTH):
            return False  # a fresh interpreter for a few turns costs too much; another process writes them
        if self._journal.read(lambda journal: journal.fact("embedding_again") and journal.count_pending()):
            return False  # the old file stays whole until all its turns have new vectors
        if not drained:  # embedding comes first
            return self.asked or unsaved >= max(SMALL, self._rows // GROWTH)
        return self.asked or self._rows < SMALL or unsaved * GROWTH >= self._rows

    def _unsaved(self) -> int:
        return self._journal.read(
            lambda journal: journal.count_indexed_since(self._facts.change_in(journal.journal_id))
        )

    def _owes(self) -> bool:
        """Tell whether something was forgotten that files may still hold."""
        return self._journal.healthy and self._journal.read(lambda journal: journal.fact("forgetting")) is not None

    def save(self, *, merge: bool = True) -> None:
        """Bring the files up to date; a failure is said once and tried again later.

        Args:
            merge: whether to write the file, besides taking out of it what was forgotten.
        """
        asks = self._asks
        try:
            with filelock.FileLock(self._place.lock, timeout=0):
                if has_lost_polars():
                    self._facts, self._rows = elsewhere(_update_opened, self._place, merge)
                else:
                    self._update(self._journal.active, merge)
        except filelock.Timeout:  # another process writes it, maybe without what was indexed a moment ago
            self.asked = self.asked and time.monotonic() < self._leave_line_at
            self._in_use = True
            self._not_before = time.monotonic() + (IN_LINE if self.asked else PAUSE_WHILE_IN_USE)
            return
        except (OSError, StoreError) as error:
            if self.problem is None:
                logger.warning("The memory file can't be written: %s. The journal keeps the turns.", error)
            self.problem, self._not_before = str(error), time.monotonic() + PAUSE_AFTER_ERROR
            return
        finally:
            if not self._in_use:
                self._has_heard(asks)
        if self.problem is not None:
            logger.warning("The memory file %r can be written again.", str(self._place.file))
        self.problem = None
        self._journal.active.checkpoint()

    def _update(self, journal: Journal, merge: bool) -> None:
        if journal.fact("clearing"):
            self.remove_files(journal)
        if merge:
            self._merge(journal)
        if journal.fact("forgetting"):
            self.lost(erase(self._place, journal.forgotten())["file"])
            if not journal.finish_forgetting():
                raise StoreError("What was forgotten is in the journal's log as long as somebody reads it.")

    def _merge(self, journal: Journal) -> None:
        """Write what the file and the journal hold together, then drop from the journal what two files hold."""
        remove_unfinished(self._place.file, self._place.backup)
        old, facts = self._read()
        before = facts.change_in(journal.journal_id)
        changes = journal.changes_since(before)
        self._facts, self._rows = facts, len(old) if old is not None else 0
        if not changes.indexed:
            return  # another process was quicker
        frame = _merged(old, changes, journal.unembedded_ids())
        told = FileFacts(journal.journal_id, changes.last_indexed, changes.model)
        replace_file(self._place.file, lambda beside: write_frame(frame, beside, told), backup=self._place.backup)
        self._facts, self._rows = told, len(frame)
        try:
            journal.settle(saved_to=before)
        except JournalError:
            logger.debug("The journal is pruned after the next save.", exc_info=True)

    def _read(self) -> tuple[pl.DataFrame | None, FileFacts]:
        try:
            for path in (self._place.file, self._place.backup):
                with contextlib.suppress(StoreFileNotFoundError):
                    return read_file(path)
        except DamagedFileError as error:
            raise StoreError(f"{error}. It is looked after at the next start") from error
        return None, FileFacts()

    @contextlib.contextmanager
    def kept_still(self, patience: float = LONGEST_WRITE) -> Iterator[None]:
        """Let nobody write the files meanwhile: what is being written now is complete when this begins.

        Args:
            patience: seconds to wait for another process that writes.

        Raises:
            FilesInUseError: another process writes for too long.
            StoreError: the folder can't be written.
        """
        lock = filelock.FileLock(self._place.lock, timeout=patience)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            told = f"Nothing was forgotten: the files in {str(self._place.folder)!r} are being written."
            raise FilesInUseError(told) from error
        except OSError as error:
            told = f"Nothing was forgotten: the files in {str(self._place.folder)!r} can't be changed: {error}"
            raise StoreError(told) from error
        try:
            yield
        finally:
            lock.release()

    def lost(self, rows: int) -> None:
        """Tell that the file has fewer rows now."""
        self._rows -= rows

    def remove_files(self, journal: Journal) -> None:
        """Remove the files of a journal that was cleared.

        Raises:
            StoreError: they can't be removed.
        """
        erase_all(self._place)
        self._facts, self._rows = FileFacts(), 0
        journal.finish_clearing()


def _update_opened(place: Place, merge: bool) -> tuple[FileFacts, int]:
    """Open the journal, then bring the files up to date: what the file now says of itself, and its rows."""
    journal = SteadyJournal(place.journal)
    try:
        if not journal.healthy:
            raise StoreError(str(journal.problem))
        saver = Saver(place, journal)
        saver._update(journal.active, merge)
        return saver._facts, saver._rows
    finally:
        journal.close()


def _merged(old: pl.DataFrame | None, changes: Changes, unembedded: set[str]) -> pl.DataFrame:
    """Join old rows and new turns. Of the old, those go that are new, forgotten, or wait for a new vector."""
    import polars as pl

    new = changes.indexed
    fresh = frame_of([turn.new for turn in new], np.array([turn.vectors[0] for turn in new]))
    if old is None or not len(old):
        return fresh
    replaced = unembedded | changes.forgotten | {turn.new.turn_id for turn in new}
    kept = old.filter(pl.Series([turn_id not in replaced for turn_id in row_ids(old)]))
    return pl.concat([kept, fresh])
