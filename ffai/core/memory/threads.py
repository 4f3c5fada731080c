"""Conversations that are kept as they are, message by message, one for each person and conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ffai._text import clean_text
from ffai.core.arguments import check_str, check_whole
from ffai.core.memory.forgetting import forget_thread
from ffai.core.memory.journal_knowledge import ThreadRow
from ffai.core.memory.knowledge_place import place_of
from ffai.core.scope_policy import Scope, scope_taken_now
from ffai.errors import ArgumentTypeError

if TYPE_CHECKING:
    from ffai.core.memory.recall import Recall

_ALL = -1


class Threads:
    """The threads of a memory. They are durable as soon as they are added to, and never searched.

    Args:
        memory: keeps them, and says what applies to scopes.

    Examples:
        >>> from ffai import Memory, MemoryScope
        >>> from ffai.testing import FakeEmbedder
        >>> threads, alice = Memory(FakeEmbedder()).threads, MemoryScope.user("alice", conversation="trip")
        >>> threads.add([("user", "Where to?"), ("assistant", "Lisbon.")], scope=alice)
        >>> [message.content for message in threads.history(1, scope=alice)]
        ['Lisbon.']
    """

    def __init__(self, memory: Recall) -> None:
        self._memory = memory

    def add(self, messages: Sequence[tuple[str, str]], *, scope: Scope | None = None, keep: int = 40) -> None:
        """Add messages, all or none, and drop the oldest beyond those that are kept.

        Args:
            messages: role and content of each.
            scope: whose thread it is.
            keep: how many messages are kept at the most.

        Raises:
            ScopeValidationError, ArgumentTypeError: an argument can't be used.
            StoreError: it can't be written just now; nothing is kept.
            ClosedError: the memory was closed.
        """
        check_whole("keep", keep, least=0)
        redact = self._memory.redact or (lambda text: text)
        kept = [(role, redact(content)) for role, content in map(_checked, messages)]
        place = place_of(self._memory.kept_scope(scope))
        with self._memory._shared.keeping:
            collection = self._memory._open
            collection.journal.in_file(lambda journal: journal.add_to_thread(place, kept, keep))
            collection.knowledge.changed()

    @scope_taken_now
    async def aadd(self, messages: Sequence[tuple[str, str]], *, scope: Scope | None = None, keep: int = 40) -> None:
        """Await :meth:`add`."""
        await asyncio.to_thread(self.add, messages, scope=scope, keep=keep)

    def history(self, limit: int | None = None, *, scope: Scope | None = None) -> list[ThreadRow]:
        """Return the last messages, oldest first.

        Args:
            limit: how many at the most; ``None`` for all.
            scope: whose thread it is.

        Raises:
            ScopeValidationError, ArgumentTypeError, InvalidArgumentError: an argument can't be used.
            StoreError: it can't be read just now.
        """
        count = _ALL if limit is None else check_whole("limit", limit, least=0)
        place = place_of(self._memory.kept_scope(scope))
        return self._memory._collection.journal.look(lambda journal: journal.thread(place, count))

    @scope_taken_now
    async def ahistory(self, limit: int | None = None, *, scope: Scope | None = None) -> list[ThreadRow]:
        """Await :meth:`history`."""
        return await asyncio.to_thread(self.history, limit, scope=scope)

    def clear(self, *, scope: Scope | None = None) -> int:
        """Forget a thread for good; returns how many messages it had.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
            StoreError: the files can't be written just now.
        """
        return forget_thread(self._memory._open, place_of(self._memory.kept_scope(scope)))

    @scope_taken_now
    async def aclear(self, *, scope: Scope | None = None) -> int:
        """Await :meth:`clear`."""
        return await asyncio.to_thread(self.clear, scope=scope)


def _checked(message: tuple[str, str]) -> tuple[str, str]:
    if isinstance(message, str) or not isinstance(message, Sequence) or len(message) != 2:
        raise ArgumentTypeError(f"messages must be pairs of a role and a content, not {message!r:.100}.")
    role, content = message
    check_str("role", role)
    check_str("content", content)
    return clean_text(role), clean_text(content)
