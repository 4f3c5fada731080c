"""Who works on jobs in a program with a loop: a task beside it, or the task that commits."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from sqlalchemy.util import await_only
from sqlalchemy.util.concurrency import in_greenlet

from ffai.errors import ClosedError
from ffai.objects.steps import AsyncPlace
from ffai.objects.vectors.trouble import Trouble
from ffai.objects.vectors.worker import Drained, drained, wait_for

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from ffai.objects.vectors.work import Work


class AsyncWorker:
    """A task that works on jobs, on the loop that woke it. When the loop ends, the jobs wait for the next start.

    Args:
        engine: of the database.
        work: what is to be done.
        in_call: work in the task that commits, before its commit returns.
    """

    def __init__(self, engine: AsyncEngine, work: Work, *, in_call: bool = False) -> None:
        self._place, self._work, self._in_call = AsyncPlace(engine), work, in_call
        self._closed, self._trouble = False, Trouble()
        self._here: _OnLoop | None = None

    def wake(self) -> None:
        """Say that there may be jobs; a loop must be running."""
        if self._closed:
            return
        if self._in_call and in_greenlet():
            await_only(self._in_this_call())
        else:
            self._on_this_loop().wake()

    async def drain(self, timeout: float | None = None) -> Drained:
        """Wait until no job is due; those that failed and wait for their next try are not waited for.

        Args:
            timeout: seconds to wait at the most; ``None`` for as long as it takes.

        Raises:
            ClosedError: it was closed.
        """
        if self._closed:
            raise ClosedError(
                "This worker was closed: no vectors are made any more. Their jobs wait for the next start."
            )
        done = await self._on_this_loop().drain(timeout)
        return drained(done, await self._place.run(self._work.count_flow()))

    async def close(self, timeout: float | None = None) -> bool:
        """End the task after the call of the model in hand; jobs that are left wait for the next start.

        Args:
            timeout: seconds to wait for that at the most; then it is cancelled.

        Returns:
            Whether it ended by itself. It can be called again.
        """
        self._closed = True
        here, self._here = self._here, None
        return here is None or await here.close(timeout)

    def _on_this_loop(self) -> _OnLoop:
        loop = asyncio.get_running_loop()
        if self._here is None or self._here.loop is not loop:
            self._here = _OnLoop(loop, self._place, self._work)
        return self._here

    async def _in_this_call(self) -> None:
        """Do all jobs that are due. What fails is told of in the log: what was committed is committed."""
        try:
            while not self._closed and (await self._place.run(self._work.round_flow())).claimed:
                pass
        except Exception as error:  # noqa: BLE001 - the edge: this is called at the end of somebody's commit
            self._trouble.met(error)
        else:
            self._trouble.over()


class _OnLoop:
    """The task of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, place: AsyncPlace, work: Work) -> None:
        self.loop, self._place, self._work = loop, place, work
        self._task: asyncio.Task[None] | None = None
        self._bell = asyncio.Condition()
        self._ring = asyncio.Event()
        self._trouble = Trouble()
        self._closed = False
        self._asked = self._settled = self._done = 0

    def wake(self) -> int:
        self._asked += 1
        self._ring.set()
        if self._task is None or self._task.done():
            self._task = self.loop.create_task(self._run(), name="ffai-vectors")
        return self._asked

    async def drain(self, timeout: float | None) -> int:
        before, mine = self._done, self.wake()
        async with self._bell:
            waiting: Any = self._bell.wait_for(lambda: self._settled >= mine or self._closed)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting, timeout)
        return self._done - before

    async def close(self, timeout: float | None) -> bool:
        self._closed = True
        self._ring.set()
        if self._task is None or self.loop is not asyncio.get_running_loop():
            return True
        _, late = await asyncio.wait({self._task}, timeout=timeout)
        for task in late:
            task.cancel()
        return not late

    async def _run(self) -> None:
        while not self._closed:
            asked = self._asked
            self._ring.clear()
            try:
                wait = await self._until_idle()
            except Exception as error:  # noqa: BLE001 - the edge of a task
                wait = self._trouble.met(error)
            else:
                self._trouble.over()
                async with self._bell:
                    self._settled = asked
                    self._bell.notify_all()
            if self._asked == asked and not await self._rung_within(wait):
                return
        async with self._bell:
            self._bell.notify_all()

    async def _rung_within(self, wait: float | None) -> bool:
        """Wait for the next wake, or for the time of the next try; tell whether there is anything to wait for."""
        if wait is None:
            return False
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ring.wait(), wait)
        return True

    async def _until_idle(self) -> float | None:
        """Work until nothing is due; returns in how many seconds something is."""
        while not self._closed:
            round_ = await self._place.run(self._work.round_flow())
            self._done += round_.done
            if not round_.claimed:
                return wait_for(round_.next_at, self._work.clock())
        return None
