"""One collection of turns: its ledger and its file, and the worker between them."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from ffai._fork import renew_after_fork
from ffai.core.embeddings.protocol import AbsentEmbedder, Embedder, embedder_name
from ffai.core.memory.exit import end_at_exit
from ffai.core.memory.indexing import Indexer
from ffai.core.memory.journal_file import Arrival, Durability, FailedTurn
from ffai.core.memory.knowledge_store import KnowledgeStore
from ffai.core.memory.ledger import Ledger
from ffai.core.memory.message_keeper import MessageKeeper
from ffai.core.memory.place import Place
from ffai.core.memory.question import Question
from ffai.core.memory.status import FlushResult, MemoryStatus
from ffai.core.memory.steady_journal import HEAL_EVERY
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.turnstile import Turnstile
from ffai.core.memory.without_vectors import WithoutVectors
from ffai.core.memory.worker import Worker
from ffai.core.similarity import Vector
from ffai.errors import StoreError

logger = logging.getLogger(__name__)

QUICK_TO_WRITE = 5000
"""Rows. A larger file is not written at the end of the process: the journal holds what it lacks."""
SHORT_REST = 0.1
"""Seconds that a flush waits for the background thread to end, so that it is gone when all is done."""
SHORT_WRITE = 8
"""Turns whose vectors are journaled in one transaction: a turn that is accepted meanwhile waits for it."""
TRIES_TO_COUNT = 5
"""Times that turns are counted again because another process was just at work."""
LOOK_AFTER_OTHERS = 1.0
"""Seconds between two looks whether a process that turns wait for still lives."""

Look = tuple[FlushResult, tuple[FailedTurn, ...]]
"""How many turns are in which state, and those that failed."""


class Collection(Ledger):
    """Turns that are accepted at once and embedded in the background.

    Args:
        embedder: makes the vectors.
        store: where they are searched.
        place: where they are kept; ``None`` keeps everything in memory.
        durability: see :class:`~ffai.core.memory.journal.Journal`.
    """

    def __init__(
        self,
        embedder: Embedder,
        store: TurnVectorStore,
        place: Place | None = None,
        durability: Durability = "process",
    ) -> None:
        super().__init__(embedder, store, place, durability)
        self.chores: list[Callable[[], float | None]] = []
        """What the worker looks after besides, each time it works; each tells in how many seconds to come again."""
        self.knowledge, self.messages = KnowledgeStore(self), MessageKeeper(self)
        self.without_vectors = WithoutVectors(self)
        self.chores += [self.knowledge, self.messages]
        self.queries = Turnstile()
        self.epoch = 0
        """Is another number when turns that are being embedded are not wanted any more."""
        self._others_wait, self._look_at = False, 0.0
        self._chores_look: float | None = None
        self.renew_after_fork()
        renew_after_fork(self)
        self._indexer = Indexer(self.journal, self.queries)
        self._worker = Worker(self._work, "ffai-memory")
        self._last_look: Look = (FlushResult(0, 0, 0), ())
        end_at_exit(self)

    def renew_after_fork(self) -> None:
        """Wait for no thread of the parent."""
        self._closing = threading.Lock()
        self._progress = threading.Condition()

    def wake(self) -> None:
        """Let the worker look for turns that wait since the last run."""
        self._worker.poke()

    def retry_failed(self) -> int:
        """Make the failed turns pending again; returns how many."""
        count = self.journal.write(lambda journal: journal.retry_failed()) + self.knowledge.retry_failed()
        self._indexer.go_on()
        if count:
            self._worker.poke()
        return count

    # Waiting

    def is_waiting(self, up_to: int = sys.maxsize, taught_up_to: int = sys.maxsize) -> bool:
        """Tell whether a turn, or knowledge, waits that this process can embed now.

        Args:
            up_to: number of the change up to which turns count.
            taught_up_to: number of the change up to which knowledge counts.
        """
        if self.closed or not self.embeds or self._indexer.paused:
            return False
        with self.changing:  # a turn leaves the waiting ones a moment before it is in the store
            return self.journal.read(lambda journal: journal.count_due(up_to)) > 0 or self.knowledge.waits(taught_up_to)

    @property
    def embeds(self) -> bool:
        """Whether this process can embed turns: it has a model, and no other process has chosen another one."""
        chosen_elsewhere = self.follower is not None and self.follower.model is not None
        return not chosen_elsewhere and not isinstance(self.embedder, AbsentEmbedder)

    def wait_for_accepted(self, timeout: float | None) -> None:
        """Wait until the turns accepted so far are indexed, failed or postponed, or the time is over."""
        if not self.is_waiting():
            return
        last = self.journal.read(lambda journal: journal.last_change()) if self.journal.healthy else sys.maxsize
        taught = self.knowledge.last_change()
        self._wait_until(lambda: not self.is_waiting(last, taught), timeout)

    def wait_for_question(self, question: Question, timeout: float | None) -> None:
        """Wait until the turns accepted so far can be found by a question, or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self.wait_for_accepted(timeout)
        self.catch_up()
        if question.mode == "vector":
            return
        self.messages.want()
        self.messages.make_words(every=question.mode == "keyword" or self.closed or not self.embeds)
        if question.mode == "hybrid" and not self.closed and self.embeds and not self.messages.is_done:
            self.wake()
            self._wait_until(lambda: self.messages.is_done, _left(deadline))

    def _wait_until(self, done: Callable[[], bool], timeout: float | None) -> None:
        """Wait until something is done, the worker is not there to do it, or the time is over."""
        with self._worker.hurried(), self._progress:
            self._progress.wait_for(lambda: not self._worker.running or done(), timeout)

    def flush(self, timeout: float | None = None) -> FlushResult:
        """Wait until the turns accepted so far are indexed or failed, and the file holds them; see :class:`Memory`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self.closed:
            self.journal.heal(now=True)
            self.wait_for_accepted(timeout)
            if self.saver and self.saver.ask():
                self._wait_until(self._saver_is_done, _left(deadline))
            self._worker.rest(_left(deadline, at_most=SHORT_REST))
        return self.counts()

    def _saver_is_done(self) -> bool:
        return self.saver is None or not self.saver.asked

    def counts(self) -> FlushResult:
        """Count the turns by what became of them."""
        return self._look()[0]

    def _look(self) -> Look:
        if self.closed:
            return self._last_look
        with self.changing:
            for _ in range(TRIES_TO_COUNT):
                self.catch_up()
                unembedded, failed = self.journal.read(lambda journal: (journal.count_unembedded(), journal.failed()))
                if self.follower is None or not self.follower.is_behind():
                    break  # else another process has embedded a turn in between: it would count as neither
            pending = unembedded - len(failed) + self.journal.left_waiting
            return FlushResult(self.store.count(), pending, len(failed)), tuple(failed)

    def close(self, timeout: float | None) -> FlushResult:
        """Flush within the time, then end the worker; what is not embedded stays in the journal."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._closing.acquire(timeout=-1 if timeout is None else timeout):
            return self.counts()
        try:
            return self.counts() if self.closed else self._close(deadline)
        finally:
            self._closing.release()

    def end_now(self) -> None:
        """Take no more turns: they are another collection's from now on. Those that wait here are not embedded."""
        self.epoch += 1
        self._last_look, self.closed = self._look(), True
        self._worker.stop(0.0, self._finish)

    def _close(self, deadline: float | None) -> FlushResult:
        self.flush(_left(deadline))
        with self.changing:
            self._last_look, self.closed = self._look(), True
            self._store._keeper = None
        result = self.counts()
        left = None if deadline is None else max(0.05, deadline - time.monotonic())
        if not self._worker.stop(left, self._finish):
            logger.warning("The embedding model is still busy; %d turns were not embedded.", result.pending)
        return result

    def end(self, timeout: float) -> None:
        """Do what can be done before the process ends; what is left waits in the journal."""
        if self.closed or not self._worker.running:
            return
        deadline = time.monotonic() + timeout
        if self.saver is not None:
            self.wait_for_accepted(timeout)
            if self.saver.rows < QUICK_TO_WRITE and self.saver.ask():
                self._worker.poke()
        self._worker.stop(max(0.0, deadline - time.monotonic()))

    def status(self) -> MemoryStatus:
        """See :class:`MemoryStatus`."""
        counts, failed = self._look()
        since = None if self.closed else self.journal.read(lambda journal: journal.oldest_waiting())
        return MemoryStatus(
            backend=str(getattr(self.embedder, "provider", None) or type(self.embedder).__name__),
            model=embedder_name(self.embedder),
            dimensions=self.size(),
            indexed=counts.indexed,
            pending=counts.pending,
            oldest_pending=None if since is None else max(0.0, time.time() - since),
            failed=failed,
            unprepared=self.messages.unprepared,
            knowledge=self.knowledge.count(),
            knowledge_pending=self.knowledge.count_waiting(),
            not_durable=self.journal.not_durable,
            problem=self._problem(),
            files=self.place.files() if self.place else {},
            notes=(*self.notes, *self.journal.notes),
            closed=self.closed,
        )

    def _problem(self) -> str | None:
        """Tell why turns are not durable, not in the file, or not embedded just now."""
        saving = self.saver.problem if self.saver else None
        absent = self.embedder.reason if isinstance(self.embedder, AbsentEmbedder) else None
        other = self.follower.model if self.follower else None
        elsewhere = None if other is None else f"Another process embeds the turns with {other!r}: start this one anew."
        return self.journal.problem or saving or absent or elsewhere or self._indexer.problem or self.knowledge.problem

    def size(self) -> int | None:
        """Tell how many numbers a vector has: as those that are stored, else as the embedder says."""
        size = None if self.model_is_unknown else self.store.dimensions
        size = size or getattr(self.embedder, "dimensions", None)
        return size if isinstance(size, int) else None

    # The worker's side

    def _work(self) -> float | None:
        """Embed one batch of what is due, write the file if it is time; tell when to come again."""
        more = False
        try:
            self.heal(now=False)
            self._follow()
            self._look_after_others()
            if self.embeds:
                embedder = self.embedder
                more = self._indexer.index_some(embedder, self.size, partial(self._keep, embedder, self.epoch))
            self._chores_look = min([look for chore in self.chores if (look := chore()) is not None], default=None)
            if self.saver is not None:
                self.saver.save_if_due(drained=not more)
        finally:  # whatever went wrong: one who waits looks again
            self.tell()
        return 0.0 if more else self._next_look()

    def _follow(self) -> None:
        """Take over what others did; note that what this process did is nothing new."""
        self.catch_up()
        if self.follower is not None:
            with self.changing:
                self.follower.advance()

    def _look_after_others(self) -> None:
        """Embed what waits for processes that ended, and leave to others what this one can't embed."""
        if self.place is None or not self.journal.healthy:
            return
        if not self.embeds:
            self.journal.write(lambda journal: journal.release())
            return
        if time.monotonic() < self._look_at:
            return
        self._others_wait = self.journal.write(lambda journal: journal.adopt())
        self._look_at = time.monotonic() + LOOK_AFTER_OTHERS

    def _next_look(self) -> float | None:
        self._look_at = 0.0
        looks = [] if self.journal.healthy else [HEAL_EVERY]
        if self._others_wait:
            looks.append(LOOK_AFTER_OTHERS)
        looks += [look for look in (self._chores_look, self._indexer.paused) if look is not None]
        if self.saver is not None and (again := self.saver.next_try) is not None:
            looks.append(again)
        if (due := self.journal.read(lambda journal: journal.next_retry())) is not None:
            looks.append(max(0.0, due - time.time()))
        return min(looks, default=None)

    def _keep(
        self, embedder: Embedder, epoch: int, batch: Sequence[Arrival], vectors: Sequence[Sequence[Vector]]
    ) -> bool:
        """Keep the vectors of turns, unless they are not wanted any more."""
        for start in range(0, len(batch), SHORT_WRITE):
            some = slice(start, start + SHORT_WRITE)
            with self.changing:
                if not self._wants(embedder, epoch):
                    return False
                self.compare_size(vectors[start][0].size)
                turns = [(arrival.new, of_turn) for arrival, of_turn in zip(batch[some], vectors[some], strict=True)]
                self.take(turns, batch[some])
        self.tell()
        return self._wants(embedder, epoch)

    def _wants(self, embedder: Embedder, epoch: int) -> bool:
        """Tell whether turns that were taken then are still wanted; those of a closed one wait for the next start."""
        return epoch == self.epoch and embedder is self.embedder and not self.closed

    def _finish(self) -> None:
        """End what the worker owns: the last thing its thread does."""
        self.journal.heal(now=True)
        if self.place is not None:
            self.journal.write(lambda journal: journal.release())
        try:
            for chore in self.chores:
                chore()
            if self.saver:
                self.saver.ask()
                self.saver.save_if_due(drained=True)
        except StoreError as error:
            logger.warning("%s It is done at the next start.", error)
        finally:
            self.journal.close()
            self.tell()

    def tell(self) -> None:
        """Let those who wait look again."""
        with self._progress:
            self._progress.notify_all()


def _left(deadline: float | None, *, at_most: float | None = None) -> float | None:
    """Return the seconds until a time; ``None`` for no limit."""
    limits = [] if at_most is None else [at_most]
    if deadline is not None:
        limits.append(max(0.0, deadline - time.monotonic()))
    return min(limits, default=None)
