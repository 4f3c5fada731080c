"""Asking a function of the user's for hits, within a flow."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ffai.chat.flow import Flow
from ffai.errors import ArgumentTypeError
from ffai.objects.steps import AsyncPlace, Place, Step, given

Searcher = Callable[[str, int, float], Any]
"""Called with a query, a limit and the least similarity. Returns hits, each with ``.similarity`` and ``.record``; or a
flow of steps that returns them; or, where it is awaited, an awaitable of them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The step that calls a searcher. One that is not a coroutine is called on another thread where it is awaited."""

    searcher: Searcher
    args: tuple[str, int, float]

    def take(self, _: Place) -> Any:
        """Return what it gave."""
        found = self.searcher(*self.args)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise ArgumentTypeError("This searcher has to be awaited: call arecall(), or give one that has not.")
        return found

    async def atake(self, _: AsyncPlace) -> Any:
        """Return what it gave, awaited where that is due."""
        own_loop = inspect.iscoroutinefunction(self.searcher) or inspect.iscoroutinefunction(
            getattr(self.searcher, "__call__", None)  # noqa: B004 - an object whose call is a coroutine
        )
        found = self.searcher(*self.args) if own_loop else await asyncio.to_thread(self.searcher, *self.args)
        return await found if inspect.isawaitable(found) else found


def hits_of(searcher: Searcher, query: str, limit: int, min_similarity: float) -> Flow[Step, Sequence[Any]]:
    """Return the hits of a query.

    Examples:
        >>> Place(None).run(hits_of(lambda query, limit, least: [query.upper()], "how", 5, 0.0))
        ['HOW']
    """
    found = yield from given(Asked(searcher, (query, limit, min_similarity)))
    if inspect.isgenerator(found):
        found = yield from found
    return list(found)
