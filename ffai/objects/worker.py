"""Working on jobs: by a thread beside the program, or by whoever commits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import SingletonThreadPool, StaticPool

from ffai._fork import renew_after_fork
from ffai.chat.flow import Flow
from ffai.core.arguments import check_timeout
from ffai.core.memory.worker import Worker
from ffai.errors import ClosedError
from ffai.objects.jobs import Counts
from ffai.objects.steps import Place, Step
from ffai.objects.work import Round

if TYPE_CHECKING:
    from sqlalchemy import Engine

logger = logging.getLogger(__name__)

LOOK_AGAIN = 1.0
"""Seconds after which one who waits looks at the jobs again, though no round has ended."""


class Drained(NamedTuple):
    """What was there at the end of a wait for vectors.

    Examples:
        >>> Drained(done=2, failed=0, left=0).left
        0
    """

    done: int
    """Texts that were embedded meanwhile, or wanted no vector any more."""
    failed: int
    """Texts that failed: given up, or waiting for their next try."""
    left: int
    """Texts that were not tried: there was no time, or another process works on them."""


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to do, as flows.

    Args:
        round_flow: makes the flow of one round; see `work_flow`.
        count_flow: makes the flow that counts the jobs.
    """

    round_flow: Callable[[], Flow[Step, Round]]
    count_flow: Callable[[], Flow[Step, Counts]]


class Working(Protocol):
    """Does the work of a store."""

    def wake(self) -> None:
        """Say that there are jobs."""
        ...

    def drain(self, timeout: float | None = None) -> Drained:
        """Wait until no job is left that can be done now."""
        ...

    def close(self, timeout: float | None = None) -> None:
        """Take on no more work."""
        ...


def belongs_to_one_thread(engine: Engine) -> bool:
    """Tell whether only one thread can use a database: SQLite's in memory.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> belongs_to_one_thread(create_engine("sqlite://"))
        True
    """
    return isinstance(engine.pool, (SingletonThreadPool, StaticPool))


class Beside:
    """A thread that works beside the program; it ends when there is nothing to do.

    Args:
        engine: of the database.
        work: what there is to do.
    """

    def __init__(self, engine: Engine, work: Work) -> None:
        self._place, self._work = Place(engine), work
        self._done = self._rounds = 0
        self._closed = False
        self.renew_after_fork()
        renew_after_fork(self)
        self._worker = Worker(self._one_round, "ffai-records")

    def renew_after_fork(self) -> None:
        """Begin with nobody waiting."""
        self._ended = threading.Condition()

    def wake(self) -> None:
        """Say that there are jobs."""
        if not self._closed:
            self._worker.poke()

    def drain(self, timeout: float | None = None) -> Drained:
        """Wait until no job is left that can be done now.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Raises:
            ClosedError: it was closed.
        """
        if self._closed:
            raise ClosedError("The store is closed: nothing is embedded any more.")
        limit = check_timeout(timeout)
        until = None if limit is None else time.monotonic() + limit
        before = self._done
        with self._worker.hurried():
            while True:
                seen = self._rounds
                counts = self._place.run(self._work.count_flow())
                left = None if until is None else until - time.monotonic()
                if not counts.waiting or (left is not None and left <= 0):
                    return Drained(self._done - before, counts.failed, counts.waiting + counts.elsewhere)
                self._worker.poke()
                self._wait_for_a_round(seen, LOOK_AGAIN if left is None else min(left, LOOK_AGAIN))

    def close(self, timeout: float | None = None) -> None:
        """Take on no more work; the jobs that are left wait for the next start."""
        self._closed = True
        self._worker.stop(check_timeout(timeout))

    def _wait_for_a_round(self, seen: int, timeout: float) -> None:
        with self._ended:
            self._ended.wait_for(lambda: self._rounds != seen, timeout)

    def _one_round(self) -> float | None:
        done = self._place.run(self._work.round_flow())
        with self._ended:
            self._done += done.done
            self._rounds += 1
            self._ended.notify_all()
        if done.claimed:
            return 0.0
        return None if done.next_at is None else max(0.0, done.next_at - time.time())


class AtOnce:
    """Work by whoever commits, before the call returns.

    Args:
        engine: of the database.
        work: what there is to do.
    """

    def __init__(self, engine: Engine, work: Work) -> None:
        self._place, self._work = Place(engine), work
        self._closed = False

    def wake(self) -> None:
        """Do the jobs that there are. What fails waits for `drain`, or for the next commit."""
        if self._closed:
            return
        try:
            self._done_until(None)
        except SQLAlchemyError:  # what was committed is committed
            logger.warning("Texts could not be embedded after a commit; they wait for the next one.", exc_info=True)

    def drain(self, timeout: float | None = None) -> Drained:
        """Do the jobs that there are; no more are begun once the time is over."""
        if self._closed:
            raise ClosedError("The store is closed: nothing is embedded any more.")
        limit = check_timeout(timeout)
        done = self._done_until(None if limit is None else time.monotonic() + limit)
        counts = self._place.run(self._work.count_flow())
        return Drained(done, counts.failed, counts.waiting + counts.elsewhere)

    def close(self, timeout: float | None = None) -> None:
        """Take on no more work."""
        check_timeout(timeout)
        self._closed = True

    def _done_until(self, until: float | None) -> int:
        done = 0
        while until is None or time.monotonic() < until:
            one = self._place.run(self._work.round_flow())
            done += one.done
            if not one.claimed:
                break
        return done
