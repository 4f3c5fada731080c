"""Working on jobs where the engine is awaited: by a task of the loop that commits, since connections belong to it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from ffai.core.arguments import check_timeout
from ffai.errors import ClosedError
from ffai.objects.steps import AsyncPlace
from ffai.objects.worker import LOOK_AGAIN, Drained, Work

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

logger = logging.getLogger(__name__)

PAUSE_AFTER_ERROR = 1.0


class TaskBeside:
    """A task that works beside the others of its loop. Jobs that are left when the loop ends wait for the next one.

    Args:
        engine: of the database.
        work: what there is to do.
        by_itself: whether `wake` starts the task; else only `settle` and `drain` work.
    """

    def __init__(self, engine: AsyncEngine, work: Work, *, by_itself: bool) -> None:
        self._place, self._work, self._by_itself = AsyncPlace(engine), work, by_itself
        self._task: asyncio.Task[None] | None = None
        self._woken = self._closed = False
        self._done = 0

    def wake(self) -> None:
        """Say that there are jobs. Called from a task."""
        if self._closed or not self._by_itself:
            return
        self._woken = True
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = loop.create_task(self._run(loop), name="ffai-records")

    async def settle(self) -> None:
        """Do the jobs of a commit before its call returns, where no task does them. What fails waits."""
        if self._by_itself or self._closed:
            return
        try:
            await self._done_until(None)
        except SQLAlchemyError:  # what was committed is committed
            logger.warning("Texts could not be embedded after a commit; they wait for the next one.", exc_info=True)

    async def drain(self, timeout: float | None = None) -> Drained:
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
        if self._by_itself:
            await self._waited_until(until)
        else:
            await self._done_until(until)
        counts = await self._place.run(self._work.count_flow())
        return Drained(self._done - before, counts.failed, counts.waiting + counts.elsewhere)

    async def close(self, timeout: float | None = None) -> None:
        """Take on no more work, and wait for the round in hand; one that takes longer is broken off."""
        self._closed = True
        task = self._task
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            _, still = await asyncio.wait([task], timeout=check_timeout(timeout))
            for late in still:
                late.cancel()

    async def _waited_until(self, until: float | None) -> None:
        while True:
            left = None if until is None else until - time.monotonic()
            counts = await self._place.run(self._work.count_flow())
            if not counts.waiting or (left is not None and left <= 0):
                return
            self.wake()
            task = self._task
            if task is not None:
                await asyncio.wait([task], timeout=LOOK_AGAIN if left is None else min(left, LOOK_AGAIN))

    async def _done_until(self, until: float | None) -> None:
        while until is None or time.monotonic() < until:
            one = await self._place.run(self._work.round_flow())
            self._done += one.done
            if not one.claimed:
                return

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        again: float | None = None
        while self._woken and not self._closed:
            self._woken = False
            try:
                one = await self._place.run(self._work.round_flow())
            except Exception:
                logger.exception("Texts could not be embedded; they are tried again.")
                again = PAUSE_AFTER_ERROR
            else:
                self._done += one.done
                self._woken = self._woken or one.claimed > 0
                again = None if one.next_at is None else max(0.0, one.next_at - time.time())
        if again is not None and not self._closed:
            loop.call_later(again, self.wake)
