"""One background thread that works when there is something to do."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from ffai._fork import renew_after_fork

logger = logging.getLogger(__name__)

QUIET = 0.02
"""Seconds without a new turn before work starts: Python work beside a caller makes its calls slower."""
PATIENCE = 0.25
"""Seconds after which work starts all the same."""
PAUSE_AFTER_ERROR = 1.0
IDLE = 10.0
"""Seconds without work after which the thread ends; the next poke starts another."""


class Worker:
    """One daemon thread. It starts with the first :meth:`poke` and calls ``work`` until it is told to stop.

    Args:
        work: does one piece of work. Returns in how many seconds it wants to be called again; ``None`` for when it
            is poked.
        name: the thread's name.
    """

    def __init__(self, work: Callable[[], float | None], name: str) -> None:
        self._work, self._name = work, name
        self._last: Callable[[], None] | None = None
        self._stopped = False
        self.renew_after_fork()
        renew_after_fork(self)
        self._poked_at = 0.0
        self._told = ""

    def renew_after_fork(self) -> None:
        """Begin without a thread."""
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._in_a_hurry = 0
        self._resting = False

    @property
    def running(self) -> bool:
        """Whether the thread is there to do what it is poked for."""
        return self._thread is not None and self._thread.is_alive() and not self._stopped

    def poke(self) -> None:
        """Say that there is work. A thread that died is replaced."""
        self._poked_at, self._resting = time.monotonic(), False
        if not self._wake.is_set():
            self._wake.set()
        if not self.running:
            self._start()

    @contextlib.contextmanager
    def hurried(self) -> Iterator[None]:
        """Let work start at once, without waiting for a quiet moment, as long as somebody waits for it."""
        with self._starting:
            self._in_a_hurry += 1
            self._hurry.set()
        self.poke()
        try:
            yield
        finally:
            with self._starting:
                self._in_a_hurry -= 1
                if not self._in_a_hurry and not self._stopped:
                    self._hurry.clear()

    def rest(self, timeout: float | None) -> None:
        """Let the thread end when there is nothing to do, without waiting for more; the next poke starts another.

        Args:
            timeout: seconds to wait for that at the most.
        """
        thread = self._thread
        if thread is not None:
            self._resting = True
            self._wake.set()
            thread.join(timeout)

    def _start(self) -> None:
        with self._starting:
            if self._stopped or self.running:
                return
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            try:
                thread.start()
            except (
                RuntimeError
            ):  # the interpreter is shutting down, or has no thread left: what is to be done is written down
                logger.warning("The thread %s can't be started. What is to be done waits.", self._name, exc_info=True)
            else:
                self._thread = thread

    def stop(self, timeout: float | None, last: Callable[[], None] | None = None) -> bool:
        """Let the thread end after the work in hand.

        Args:
            timeout: seconds to wait for that at the most; ``None`` waits as long as it takes.
            last: the last thing that is done: by the thread, or here and now if there is none.

        Returns:
            Whether it has ended within the time.
        """
        with self._starting:
            self._stopped, self._last = True, last
            thread = self._thread
        self._hurry.set()
        self._wake.set()
        if thread is None:
            self._end()
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self) -> None:
        pause: float | None = PATIENCE
        while not self._stopped:
            idle = 0.0 if self._resting else IDLE
            if self._wake.wait(idle if pause is None else pause):
                self._settle()
            elif pause is None and self._rest():
                return
            self._wake.clear()
            if not self._stopped:
                pause = self._one_piece()
        self._end()

    def _end(self) -> None:
        if self._last is not None:
            self._last()

    def _rest(self) -> bool:
        """End the thread until the next poke, so that one who forgets an open memory keeps no thread."""
        with self._starting:
            self._thread = None  # first: a poke sets the event and then looks whether there is a thread
            if self._wake.is_set() or self._stopped:
                self._thread = threading.current_thread()
                return False
            return True

    def _settle(self) -> None:
        """Wait until no turn has come for a while."""
        latest = time.monotonic() + PATIENCE
        while not self._hurry.is_set():
            now = time.monotonic()
            quiet_at = min(self._poked_at + QUIET, latest)
            if now >= quiet_at:
                return
            self._hurry.wait(quiet_at - now)

    def _one_piece(self) -> float | None:
        try:
            pause = self._work()
        except BaseException as error:  # a library in Rust panics with one
            told = f"{type(error).__name__}: {error}"
            if told != self._told:  # else it would fill the log
                logger.exception("The thread %s met an error and tries again. What is to be done waits.", self._name)
            self._told, pause = told, PAUSE_AFTER_ERROR
        else:
            self._told = ""
        return pause
