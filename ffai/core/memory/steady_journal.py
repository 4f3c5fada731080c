"""A journal that goes on accepting turns while its file can't be written."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from os.path import isfile as is_file  # unlike a path's own method, it tells that a path is too long by a no
from pathlib import Path
from typing import TypeVar

from ffai._fork import held_over_forks, renew_after_fork
from ffai.core.memory.journal import Journal
from ffai.core.memory.journal_file import IN_MEMORY, WAIT_TO_OPEN, Durability
from ffai.core.memory.place import move_aside
from ffai.core.memory.salvage import salvage
from ffai.errors import DamagedFileError, JournalError

logger = logging.getLogger(__name__)
T = TypeVar("T")

HEAL_EVERY = 1.0
"""Seconds between two tries to write again."""


class SteadyJournal:
    """A journal file with a spare one in memory.

    Everything goes to the file until a write fails; then to the spare, until :meth:`heal` can copy that into the file.
    A file that turns out to be damaged is moved aside; a new one goes on with what can be read of it.

    Args:
        path: the journal file; ``None`` for memory only.
        durability: see :class:`~ffai.core.memory.journal.Journal`.
    """

    def __init__(self, path: Path | None, durability: Durability = "process") -> None:
        self._path, self._durability = path, durability
        # between a write and the switch from one journal to the other
        self._switching = held_over_forks(threading.RLock())
        # one at a time tries to write again, always taken before the other: SQLite can take ten seconds to find out
        # that a disk is broken, and nobody who writes waits for that
        self._healing = held_over_forks(threading.RLock())
        self._spare: Journal | None = None
        self._file: Journal | None = None
        self.problem: str | None = None
        """Why turns are not durable just now; ``None`` while they are."""
        self.left_waiting = 0
        """Turns without a vector that are in the file while it can't be written: they wait until it can."""
        self.notes: list[str] = []
        """What was damaged, and where it is now."""
        self._tried_at, self._lost, self._closed = 0.0, 0, False
        renew_after_fork(self)
        if path is None:
            self.active = Journal(IN_MEMORY)
            return
        try:
            self._file = self._open(path, WAIT_TO_OPEN)
        except JournalError as error:
            self._fall_back(error)
        self.active = self._in_use()

    def _in_use(self) -> Journal:
        journal = self._spare or self._file
        assert journal is not None  # noqa: S101 - one of the two is there from the start
        return journal

    def _open(self, path: Path, wait: float) -> Journal | None:
        """Open the file; ``None`` where the spare has to do.

        Raises:
            JournalError: that can't be done just now.
        """
        try:
            return Journal(path, durability=self._durability, wait=wait)
        except DamagedFileError as damage:
            return self._begin_again(path, damage)

    def _begin_again(self, path: Path, damage: DamagedFileError) -> Journal | None:
        """Move a damaged file aside and make a new one, or a spare, that holds what can be read of it.

        Raises:
            JournalError: it can't be moved aside.
        """
        if self._file is not None:
            was_in_place = self._file.is_in_place()
            self._file.close()
            self._file = None
            if not was_in_place:  # another process has looked after it
                return self._open(path, WAIT_TO_OPEN)
        try:
            aside = move_aside(path)
        except OSError as error:
            raise JournalError(f"{damage} It can't be moved aside either: {error}") from error
        note = f"{damage} It was moved to {aside.name!r}; what can be read of it is kept."
        logger.error("%s", note)
        self.notes.append(note)
        found = salvage(aside)
        try:
            journal = Journal(path, durability=self._durability)
            journal.take_over(found)
        except (JournalError, DamagedFileError) as error:
            (self._spare or self._fall_back(error)).take_over(found)
            return None
        return journal

    def renew_after_fork(self) -> None:
        """Leave what is not durable yet to the parent: else it would be written twice."""
        if self._spare is not None:
            self._spare.clear()

    @property
    def healthy(self) -> bool:
        """Whether writes go where they belong."""
        return self._spare is None

    @property
    def not_durable(self) -> int:
        """How many turns the end of the process would lose."""
        return self._spare.count() if self._spare else self._lost

    def write(self, change: Callable[[Journal], T]) -> T:
        """Make a change, in the file or, where that fails, in the spare.

        Args:
            change: writes to the journal it is given; it may be called a second time, with the spare.
        """
        with self._switching:
            try:
                return change(self.active)
            except (JournalError, DamagedFileError) as error:
                if self._path is None or self._spare is not None:
                    raise
                return change(self._recover(self._path, error))

    def read(self, look: Callable[[Journal], T]) -> T:
        """Look something up where writes go at present; a file that can't be read is as one that can't be written."""
        return self.write(look)

    def in_file(self, change: Callable[[Journal], T]) -> T:
        """Make a change in the file, or not at all.

        Raises:
            JournalError: the file can't be written just now; nothing is changed.
        """
        with self._healing, self._switching:
            if self._closed or not self.heal(now=True):
                raise JournalError(self.problem or "The journal is closed.")
            try:
                return change(self.active)
            except DamagedFileError as damage:
                if self._path is None or self._recover(self._path, damage) is self._spare:
                    raise JournalError(str(damage)) from damage
                return self._on_the_rest(change)

    def drop(self, change: Callable[[Journal], T]) -> T:
        """Make a change that drops turns: in the file, or not at all.

        Raises:
            JournalError: the file can't be written just now; nothing is dropped.
        """
        try:
            return self.in_file(change)
        except JournalError as error:
            raise JournalError(f"Nothing was forgotten: {error}") from error

    def look(self, look: Callable[[Journal], T]) -> T:
        """Look something up that only the file has, also while it can't be written.

        Raises:
            JournalError: it can't be read just now.
        """
        with self._switching:
            try:
                if self._file is None and self._path is not None:
                    return self._look_at(self._path, look)
                return look(self._file or self.active)
            except DamagedFileError as damage:
                if self._path is None or self._file is None or self._spare is not None:
                    raise JournalError(str(damage)) from damage
                self._recover(self._path, damage)
                return self._on_the_rest(look)

    def _on_the_rest(self, use: Callable[[Journal], T]) -> T:
        """Use what is left of a file that was found to be damaged."""
        try:
            return use(self.active)
        except DamagedFileError as damage:
            raise JournalError(str(damage)) from damage

    def _look_at(self, path: Path, look: Callable[[Journal], T]) -> T:
        """Look something up in the file, that is not open just now: it can't be written, or all was closed."""
        if not is_file(path):
            raise JournalError(f"The journal {str(path)!r} is not there. {self.problem or ''}".rstrip())
        journal = Journal(path, durability=self._durability, wait=0.0)
        try:
            return look(journal)
        finally:
            journal.close()

    def follow(self) -> bool:
        """Open the file anew where another process has found it damaged, and moved it aside.

        Returns:
            Whether it is another one now.
        """
        if self._file is None or self._file.is_in_place() or self._path is None:
            return False
        with self._healing, self._switching:
            logger.warning("The journal %r was moved or removed by somebody else; it is opened anew.", str(self._path))
            left, self._file = self._file, None
            self._fall_back(JournalError(f"The journal {str(self._path)!r} was moved or removed."))
            self.active = self._in_use()
            with contextlib.suppress(JournalError, DamagedFileError):
                self.active.take_over(left.contents())
            left.close()
            return self.heal(now=True)

    def _recover(self, path: Path, error: Exception) -> Journal:
        if isinstance(error, DamagedFileError):
            try:
                self._file = self._begin_again(path, error)
            except JournalError as again:
                self._fall_back(again)
        else:
            self._fall_back(error)
        self.active = self._in_use()
        return self.active

    def _fall_back(self, error: Exception) -> Journal:
        logger.warning("%s New turns are kept in memory and written as soon as that works.", error)
        self._spare = Journal(IN_MEMORY)
        self.problem, self._tried_at = str(error), time.monotonic()
        self.left_waiting = self._count_waiting()
        return self._spare

    def _count_waiting(self) -> int:
        try:
            return self._file.count_unembedded() if self._file else 0
        except (JournalError, DamagedFileError):
            return 0  # nobody knows

    def heal(self, *, now: bool = False) -> bool:
        """Try to write what the spare holds into the file.

        Args:
            now: also where the last try was a moment ago.

        Returns:
            Whether all is in the file.
        """
        if self._spare is None or self._path is None:
            return True
        with self._healing:
            if not now and time.monotonic() - self._tried_at < HEAL_EVERY:
                return self.healthy
            self._tried_at = time.monotonic()
            try:
                self._file = self._file or self._open(self._path, wait=0.0)
                with self._switching:
                    self._switch_back(self._path)
            except (JournalError, DamagedFileError) as error:
                self.problem = str(error)
                self._let_go()
            return self.healthy

    def _let_go(self) -> None:
        """Open the file anew next time: what was opened when nothing could be written can never be written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _switch_back(self, path: Path) -> None:
        """Go on with the file, if it takes what the spare holds."""
        if self._spare is None:
            return  # another thread was quicker
        self._fill(path, self._spare)
        logger.warning("The journal %r can be written again; nothing was lost.", str(path))
        self._spare.close()
        self._spare, self.problem, self.left_waiting = None, None, 0
        self.active = self._in_use()

    def _fill(self, path: Path, spare: Journal) -> None:
        """Give the file what the spare holds."""
        try:
            if self._file is not None:
                self._file.take_over(spare.contents())
        except DamagedFileError as damage:
            self._file = self._begin_again(path, damage)
            if self._file is not None:
                self._file.take_over(spare.contents())
        if self._file is None:
            raise JournalError(f"The journal {str(path)!r} can't be made again.")

    def close(self) -> None:
        """Close the files. What could not be written is said, with how many turns it is."""
        with self._healing, self._switching:
            if self._closed:
                return
            if not self.heal(now=True):
                self._lost = self.not_durable
                logger.error("%d turns are lost: %s", self._lost, self.problem)
            self._closed = True
            if self._path is None:
                self._file = self.active  # what was taught can be looked up as long as the memory is there
            else:
                for journal in (self.active, self._spare, self._file):
                    if journal is not None:
                        journal.close()  # closing one a second time does nothing
                self._file = None
            self._spare = None
            self.active = Journal(IN_MEMORY)  # one who still looks finds nothing
