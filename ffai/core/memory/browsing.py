"""Listing what a memory holds: all of it page by page, or what was said last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from ffai.core.arguments import check_text, check_timestamp, check_whole
from ffai.core.memory.filters import TurnFilter, Where
from ffai.core.memory.listing import Unembedded, newest, only, page_of, place_at
from ffai.core.memory.recall import Recall
from ffai.core.memory.selection import Selection
from ffai.core.memory.turn_page import StoredTurn, TurnPage
from ffai.core.scope_policy import Scope, scope_taken_now


class Browsing(Recall):
    """The side of a :class:`~ffai.core.memory.memory.Memory` that is looked through without a question."""

    def recent(
        self, since: float, limit: int = 100, *, where: Where | None = None, scope: Scope | None = None
    ) -> Sequence[StoredTurn]:
        """Return what was said last, oldest first, also turns that wait to be embedded or were given up.

        Args:
            since: turns said at this time or later, in seconds since the epoch.
            limit: how many at the most: the last ones.
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> for number in range(4):
            ...     _ = memory.remember(f"Question {number}", "Answer", timestamp=number)
            >>> [turn.prompt for turn in memory.recent(1.0, limit=2)]
            ['Question 2', 'Question 3']
        """
        check_timestamp("since", since)
        check_whole("limit", limit, least=0)
        selected = self._all(self._wanted(where, scope))
        return newest(*selected, since=since, limit=limit, now=time.time())

    @scope_taken_now
    async def arecent(
        self, since: float, limit: int = 100, *, where: Where | None = None, scope: Scope | None = None
    ) -> Sequence[StoredTurn]:
        """Await :meth:`recent`."""
        return await asyncio.to_thread(self.recent, since, limit, where=where, scope=scope)

    def get(self, turn_id: str, *, scope: Scope | None = None) -> StoredTurn | None:
        """Return one turn, also one that waits to be embedded or was given up; ``None`` where there is none.

        Args:
            turn_id: its id.
            scope: only where it is of this scope.

        Raises:
            ArgumentTypeError, ScopeValidationError: an argument can't be used.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> memory.get(memory.remember("Where is the key?", "Under the mat.")).response
            'Under the mat.'
        """
        check_text("turn_id", turn_id)
        return only(*self._all(self._wanted(None, scope)), turn_id, time.time())

    @scope_taken_now
    async def aget(self, turn_id: str, *, scope: Scope | None = None) -> StoredTurn | None:
        """Await :meth:`get`."""
        return await asyncio.to_thread(self.get, turn_id, scope=scope)

    def _all(self, wanted: TurnFilter) -> tuple[Selection, Sequence[Unembedded], TurnFilter]:
        """Return the turns that a filter allows, those without a vector, and the filter as it is for them."""
        self._collection.catch_up()
        with self._collection.changing:  # a turn leaves the waiting ones a moment before it is in the store
            rows = self._collection.journal.read(lambda journal: journal.unembedded_states())
            wanted = self._collection.store._settled(wanted, [turn for turn, _ in rows])
            selection = self._collection.store._select(wanted)
        return selection, [Unembedded(turn, "failed" if failed else "waiting") for turn, failed in rows], wanted

    @scope_taken_now
    async def alist(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Await :meth:`list`."""
        return await asyncio.to_thread(self.list, where=where, scope=scope, limit=limit, cursor=cursor)

    def list(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Return the next turns, oldest first, also those that wait to be embedded or were given up.

        Each turn keeps its place, by its time and its id: whatever is added or forgotten between two pages, every
        turn that stays is given once.

        Args:
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope.
            limit: how many at the most.
            cursor: where the last page ended, ``page.cursor``; ``None`` for the first page.

        Returns:
            The turns, and the cursor for the next page. No embedder is needed.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> for number in range(3):
            ...     _ = memory.remember(f"Question {number}", "Answer", timestamp=number)
            >>> page = memory.list(limit=2)
            >>> [turn.prompt for turn in page.turns], [turn.prompt for turn in memory.list(cursor=page.cursor).turns]
            (['Question 0', 'Question 1'], ['Question 2'])
        """
        wanted, after = self._wanted(where, scope), place_at(cursor)
        check_whole("limit", limit, least=1)
        return page_of(*self._all(wanted), limit=limit, after=after, now=time.time())
