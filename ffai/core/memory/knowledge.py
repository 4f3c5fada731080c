"""What was taught to a memory under keys, as one person sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ffai._text import clean_text
from ffai.core.arguments import check_dict, check_ids, check_text
from ffai.core.memory.forgetting import forget_entry
from ffai.core.memory.journal_knowledge import KnowledgeRow
from ffai.core.memory.jsontext import to_json
from ffai.core.memory.knowledge_place import place_of, scope_at
from ffai.core.redact import redact_strings
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope, scope_taken_now

if TYPE_CHECKING:
    from ffai.core.memory.recall import Recall


@dataclass(frozen=True, slots=True)
class Known:
    """Something that was taught."""

    key: str
    value: Mapping[str, Any]
    """A copy."""
    scope: MemoryScope
    """Whose it is: the empty scope where it is everybody's."""
    created_at: float
    """When it was first taught, in seconds since the epoch."""
    updated_at: float
    """When it was last taught."""
    cites: tuple[str, ...] = ()
    """Ids of the turns that it was made from."""
    score: float | None = None
    """Cosine similarity to the query, in ``[-1, 1]``; ``None`` where it was not searched for."""
    explained: Mapping[str, Any] = field(default_factory=dict)
    """What its place among those that were found is made of, where a search was asked to explain."""


class Knowledge:
    """Facts under keys. They are durable when they are taught, embedded in the background, and seen by scope.

    A key is one in each scope: what Alice is taught under a key does not replace what Bob is. One who asks sees what
    is of the scope that is asked for, and what has a wider one: what is known of the person in no conversation in
    particular, and what is everybody's.

    Args:
        memory: keeps them, and says what applies to scopes.

    Examples:
        >>> from ffai import Memory, MemoryScope
        >>> from ffai.testing import FakeEmbedder
        >>> knowledge = Memory(FakeEmbedder()).knowledge
        >>> knowledge.learn("refunds", "Refunds take five working days.")
        >>> knowledge.learn("diet", "No nuts.", scope=MemoryScope.user("alice"))
        >>> [known.key for known in knowledge.list(scope=MemoryScope.user("alice"))]
        ['refunds', 'diet']
        >>> [known.key for known in knowledge.list(scope=MemoryScope.user("bob"))]
        ['refunds']
    """

    def __init__(self, memory: Recall) -> None:
        self._memory = memory

    def learn(
        self,
        key: str,
        content: str | Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        cites: Sequence[str] = (),
    ) -> None:
        """Keep something under a key, in the place of what the key has in this scope.

        Args:
            key: what it is found under.
            content: text, or a mapping; one without a text under ``"content"`` is not found by searches.
            metadata: is kept with it, under ``"metadata"``.
            scope: whose it is; everybody's if left out.
            cites: ids of the turns that it was made from: when one of these is forgotten, it is too.

        Raises:
            ArgumentTypeError: an argument has a wrong type, or holds what JSON can't.
            InvalidArgumentError: the key or the text is blank.
            ScopeValidationError: it can't be stored with the scope.
            StoreError: it can't be written just now; nothing is kept.
            ClosedError: the memory was closed.
        """
        check_text("key", key)
        value = _value_of(content, metadata)
        cited, whose = sorted(check_ids("cites", cites)), self._memory.accepted_scope(scope)
        if (redact := self._memory.redact) is not None:
            value = redact_strings(value, redact)
        text = value.get("content")
        with self._memory._shared.entering:
            self._memory._open.knowledge.teach(
                place_of(whose),
                clean_text(key),
                to_json(value, "content"),
                clean_text(text) if isinstance(text, str) and text.strip() else None,
                cited,
            )

    @scope_taken_now
    async def alearn(
        self,
        key: str,
        content: str | Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        cites: Sequence[str] = (),
    ) -> None:
        """Await :meth:`learn`."""
        await asyncio.to_thread(self.learn, key, content, metadata, scope=scope, cites=cites)

    def get(self, key: str, *, scope: Scope | None = None) -> Known | None:
        """Return what a key has: in just this scope, else in the next wider one that has it.

        What is known of one person in no conversation goes before what is known in a conversation of nobody in
        particular, and that before what is everybody's.

        Raises:
            ScopeValidationError, ArgumentTypeError: an argument can't be used.
            StoreError: it can't be read just now.
        """
        check_text("key", key)
        asked, store = self._memory._asked_scope(scope), self._memory._collection.knowledge
        for whose in _from_narrow_to_wide(asked):
            if (row := store.known(place_of(whose), clean_text(key))) is not None:
                return known_of(row)
        return None

    @scope_taken_now
    async def aget(self, key: str, *, scope: Scope | None = None) -> Known | None:
        """Await :meth:`get`."""
        return await asyncio.to_thread(self.get, key, scope=scope)

    def forget(self, key: str, *, scope: Scope | None = None) -> bool:
        """Forget what a key has in just this scope, for good; tells whether there was something.

        Raises:
            ScopeValidationError, ArgumentTypeError: an argument can't be used.
            StoreError: the files can't be written just now.
        """
        check_text("key", key)
        place = place_of(self._memory.accepted_scope(scope))
        return forget_entry(self._memory._open, place, clean_text(key))

    @scope_taken_now
    async def aforget(self, key: str, *, scope: Scope | None = None) -> bool:
        """Await :meth:`forget`."""
        return await asyncio.to_thread(self.forget, key, scope=scope)

    def list(self, *, scope: Scope | None = None) -> list[Known]:
        """Return all that is seen, in the order in which it was first taught.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
            StoreError: it can't be read just now.
        """
        seen = self._memory._sees(scope)
        rows = self._memory._collection.knowledge.all_known()
        return [known_of(row) for row in rows if seen(row.place)]

    @scope_taken_now
    async def alist(self, *, scope: Scope | None = None) -> Sequence[Known]:
        """Await :meth:`list`."""
        return await asyncio.to_thread(partial(self.list, scope=scope))

    def refused(self, *, scope: Scope | None = None) -> dict[str, str]:
        """Tell what could not be embedded, and why, by key. ``memory.retry_failed()`` tries again.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
            StoreError: it can't be read just now.
        """
        seen = self._memory._sees(scope)
        rows = self._memory._collection.knowledge.refused()
        return {row.key: row.reason or "" for row in rows if seen(row.place)}


def known_of(row: KnowledgeRow, score: float | None = None, explained: Mapping[str, Any] | None = None) -> Known:
    """Return a row as what was taught.

    Args:
        row: as it is kept.
        score: its cosine, where it was found by a search.
        explained: what its place is made of.
    """
    return Known(
        key=row.key,
        value=json.loads(row.value),
        scope=scope_at(row.place),
        created_at=row.created_at,
        updated_at=row.updated_at,
        cites=tuple(json.loads(row.cites)),
        score=score,
        explained=explained or {},
    )


def _value_of(content: Any, metadata: Any) -> dict[str, Any]:
    if isinstance(content, str):
        value: dict[str, Any] = {"content": check_text("content", content)}
    else:
        check_dict("content", content)
        value = dict(content)
    if metadata is not None:
        check_dict("metadata", metadata)
        value["metadata"] = dict(metadata)
    return value


def _from_narrow_to_wide(asked: MemoryScope) -> list[MemoryScope]:
    person = MemoryScope(actor_id=asked.actor_id, actor_type=asked.actor_type)
    conversation = MemoryScope(conversation_id=asked.conversation_id)
    return list(dict.fromkeys((asked.place, person, conversation, MemoryScope())))
