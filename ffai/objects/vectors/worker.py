"""Who works on jobs in a program without a loop: a thread beside it, or the thread that calls."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.pool import AssertionPool, SingletonThreadPool, StaticPool

from ffai._fork import renew_after_fork
from ffai.errors import ClosedError
from ffai.objects.steps import Place
from ffai.objects.vectors.trouble import Trouble

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ffai.objects.vectors.work import Work

logger = logging.getLogger(__name__)

IDLE = 10.0
"""Seconds without work after which the thread ends; the next wake starts another."""
LEAST_WAIT = 0.05
"""Seconds before work is looked for again that was not to be had."""


class Drained(NamedTuple):
    """What there was at the end of a wait for vectors.

    Examples:
        >>> Drained(done=2, failed=0, left=0).left
        0
    """

    done: int
    """Jobs that were done meanwhile."""
    failed: int
    """Jobs that failed: given up, or waiting for their next try."""
    left: int
    """Jobs that were not tried: there was no time, or another process works on them."""


def runs_beside(engine: Any) -> bool:
    """Tell whether a thread or task beside the program can have a connection of its own to a database.

    Args:
        engine: an `Engine` or `AsyncEngine`.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> runs_beside(create_engine("sqlite://")), runs_beside(create_engine("sqlite:///app.db"))
        (False, True)
    """
    if isinstance(engine.pool, (AssertionPool, SingletonThreadPool, StaticPool)):
        return False
    if engine.dialect.name != "sqlite":
        return True
    url = engine.url
    in_memory = url.database in (None, "", ":memory:") or "mode=memory" in url.render_as_string()
    return not in_memory and ":memory:" not in (url.database or "")


class InCall:
    """Works where it is called: for a database that a thread beside can't reach, or where that is wished.

    Args:
        engine: of the database.
        work: what is to be done.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> from ffai.objects.vectors.kinds import Kinds
        >>> from ffai.objects.tables import Tables
        >>> from ffai.objects.vectors.work import Work
        >>> from ffai.testing import FakeEmbedder
        >>> InCall(create_engine("sqlite://"), Work(Kinds(list, lambda kind: FakeEmbedder()), Tables())).drain()
        Drained(done=0, failed=0, left=0)
    """

    def __init__(self, engine: Engine, work: Work) -> None:
        self._place, self._work = Place(engine), work
        self._trouble = Trouble()
        self._closed = False

    def wake(self) -> None:
        """Do all jobs that are due. What fails is told of in the log: what was committed is committed."""
        if not self._closed:
            try:
                self._until_idle(None)
            except Exception as error:  # noqa: BLE001 - the edge: this is called at the end of somebody's commit
                self._trouble.met(error)
            else:
                self._trouble.over()

    def drain(self, timeout: float | None = None) -> Drained:
        """Do all jobs that are due.

        Args:
            timeout: seconds after which no more jobs are begun.

        Raises:
            ClosedError: it was closed.
        """
        _check_open(self._closed)
        done = self._until_idle(None if timeout is None else time.monotonic() + timeout)
        return drained(done, self._place.run(self._work.count_flow()))

    def close(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - as that of a worker
        """Do nothing from now on. It can be called again."""
        self._closed = True
        return True

    def _until_idle(self, latest: float | None) -> int:
        done = 0
        while latest is None or time.monotonic() < latest:
            round_ = self._place.run(self._work.round_flow())
            done += round_.done
            if not round_.claimed:
                break
        return done


class Worker:
    """One daemon thread that works on jobs. It starts when it is woken, and ends when nothing is left for a while.

    It holds nothing that would be lost with it: jobs are rows of the database.

    Args:
        engine: of the database.
        work: what is to be done.
        name: the thread's name.
    """

    def __init__(self, engine: Engine, work: Work, name: str = "ffai-vectors") -> None:
        self._engine, self._work, self._name = engine, work, name
        self._closed = False
        self._begin()
        renew_after_fork(self)

    def renew_after_fork(self) -> None:
        """Begin without a thread, and with connections of this process's own."""
        self._begin()
        self._engine.dispose(close=False)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._trouble = Trouble()
        self._asked = self._settled = self._done = 0
        self._at: float | None = None  # when to look for work, by the monotonic clock

    def wake(self) -> None:
        """Say that there may be jobs."""
        with self._changed:
            self._ask()

    def drain(self, timeout: float | None = None) -> Drained:
        """Wait until no job is due; those that failed and wait for their next try are not waited for.

        Args:
            timeout: seconds to wait at the most; ``None`` for as long as it takes.

        Raises:
            ClosedError: it was closed.
        """
        _check_open(self._closed)
        with self._changed:
            before = self._done
            mine = self._ask()
            self._changed.wait_for(lambda: self._settled >= mine or self._closed, timeout)
            done = self._done - before
        return drained(done, Place(self._engine).run(self._work.count_flow()))

    def close(self, timeout: float | None = None) -> bool:
        """End the thread after the call of the model in hand; jobs that are left wait for the next start.

        Args:
            timeout: seconds to wait for that at the most.

        Returns:
            Whether it has ended. It can be called again.
        """
        with self._changed:
            self._closed, thread = True, self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def _ask(self) -> int:
        if not self._closed:
            self._asked, self._at = self._asked + 1, 0.0
            if self._thread is None or not self._thread.is_alive():
                self._start()
            self._changed.notify_all()
        return self._asked

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down, or has no thread left: the jobs are kept
            logger.warning("The thread that makes vectors can't be started. Their jobs wait.", exc_info=True)
        else:
            self._thread = thread

    def _run(self) -> None:
        while (asked := self._next()) is not None:
            try:
                wait = self._until_idle()
            except BaseException as error:  # noqa: BLE001 - the edge of a thread; a library in Rust panics with one
                with self._changed:
                    self._plan(asked, self._trouble.met(error))
            else:
                with self._changed:
                    self._trouble.over()
                    self._settled = asked
                    self._plan(asked, wait)
                    self._changed.notify_all()

    def _plan(self, asked: int, wait: float | None) -> None:
        if self._asked == asked:  # else it was woken meanwhile
            self._at = None if wait is None else time.monotonic() + wait

    def _next(self) -> int | None:
        """Wait until it is time to look for work; returns how often it was woken, ``None`` for the end."""
        with self._changed:
            while not self._closed:
                wait = IDLE if self._at is None else self._at - time.monotonic()
                if self._at is not None and wait <= 0:
                    self._at = None
                    return self._asked
                if not self._changed.wait(wait) and self._at is None:
                    break
            self._thread = None
            return None

    def _until_idle(self) -> float | None:
        """Work until nothing is due; returns in how many seconds something is."""
        place = Place(self._engine)
        while not self._closed:
            round_ = place.run(self._work.round_flow())
            with self._changed:
                self._done += round_.done
            if not round_.claimed:
                return wait_for(round_.next_at, self._work.clock())
        return None


def wait_for(next_at: float | None, now: float) -> float | None:
    """Return how many seconds to wait until something is due."""
    return None if next_at is None else max(next_at - now, LEAST_WAIT)


def drained(done: int, counts: tuple[int, int]) -> Drained:
    """Return what there is at the end of a wait."""
    jobs, failed = counts
    return Drained(done, failed, jobs - failed)


def _check_open(closed: bool) -> None:
    if closed:
        raise ClosedError("This worker was closed: no vectors are made any more. Their jobs wait for the next start.")
