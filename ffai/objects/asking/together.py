"""Several flows at once: in threads, or in tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffai.chat.flow import Flow
from ffai.objects.steps import Step

if TYPE_CHECKING:
    from ffai.objects.steps import AsyncPlace, Place


@dataclass(frozen=True, slots=True)
class Together:
    """A step that runs flows, so many at a time, and gives what each returned or raised, in their order.

    The flows must leave sessions alone: one belongs to one thread at a time.

    Examples:
        >>> from ffai.objects.asking.messages import Asked
        >>> from ffai.objects.steps import Place, given
        >>> from ffai.testing import FakeClient
        >>> flows = [given(Asked(FakeClient([answer]), (), "Which?", {})) for answer in ("This.", "That.")]
        >>> [reply.text for reply in Together(flows, 2).take(Place(None))]
        ['This.', 'That.']
    """

    flows: Sequence[Flow[Step, Any]]
    at_once: int

    def take(self, place: Place) -> list[Any]:
        """Run them in threads, and wait for all."""
        if not self.flows:
            return []
        pool = ThreadPoolExecutor(min(self.at_once, len(self.flows)), thread_name_prefix="ffai-ask")
        try:
            runs = [pool.submit(copy_context().run, place.run, flow) for flow in self.flows]
            return [run.exception() or run.result() for run in runs]
        finally:  # where this thread is interrupted, those that have not begun never do
            pool.shutdown(wait=True, cancel_futures=True)

    async def atake(self, place: AsyncPlace) -> list[Any]:
        """Run them in tasks, and await all."""
        gate = asyncio.Semaphore(self.at_once)

        async def one(flow: Flow[Step, Any]) -> Any:
            async with gate:
                return await place.run(flow)

        return await asyncio.gather(*map(one, self.flows), return_exceptions=True)
