"""What was taught to a memory under keys, as one person sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ffai._text import clean_text
from ffai.core.arguments import check_dict, check_ids, check_search, check_text
from ffai.core.memory.forgetting import forget_entry
from ffai.core.memory.jsontext import to_json
from ffai.core.memory.knowledge_place import UNSCOPED, place_of, width_of
from ffai.core.memory.known import Known, known_of
from ffai.core.memory.question import Mode, Question
from ffai.core.memory.retrieving import find_knowledge
from ffai.core.redact import redact_strings
from ffai.core.scope import NO_SCOPE, MemoryScope
from ffai.core.scope_policy import Scope, scope_taken_now

if TYPE_CHECKING:
    from ffai.core.memory.recall import Recall


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
        shared: bool = True,
    ) -> None:
        """Keep something under a key, in the place of what the key has in this scope.

        Args:
            key: what it is found under.
            content: text, or a mapping; one without a text under ``"content"`` is not found by searches.
            metadata: is kept with it, under ``"metadata"``.
            scope: whose it is; everybody's if left out.
            cites: ids of the turns that it was made from: when one of these is forgotten, it is too.
            shared: where it belongs to no scope: whether everybody sees it, or only one who asks without a scope.

        Raises:
            ArgumentTypeError: an argument has a wrong type, or holds what JSON can't.
            InvalidArgumentError: the key or the text is blank.
            ScopeValidationError: it can't be stored with the scope.
            StoreError: it can't be written just now, or was made from a turn that has been forgotten meanwhile; nothing
                is kept.
            ClosedError: the memory was closed.
        """
        self._key(key)
        value = _value_of(content, metadata)
        cited, whose = sorted(check_ids("cites", cites)), self._memory.kept_scope(scope)
        if (redact := self._memory.redact) is not None:
            value = redact_strings(value, redact)
        text = value.get("content")
        embedded = clean_text(text) if isinstance(text, str) and text.strip() else None
        with self._memory._shared.keeping:
            self._memory._open.knowledge.teach(
                self._place(whose, shared=shared), self._key(key), to_json(value, "content"), embedded, cited
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
        shared: bool = True,
    ) -> None:
        """Await :meth:`learn`."""
        await asyncio.to_thread(self.learn, key, content, metadata, scope=scope, cites=cites, shared=shared)

    def _key(self, key: str) -> str:
        """Return a key as it is kept: a secret in it is replaced, as in what it stands for."""
        redact = self._memory.redact or (lambda text: text)
        return redact(clean_text(check_text("key", key)))

    @staticmethod
    def _place(whose: MemoryScope, *, shared: bool) -> str:
        place = place_of(whose)
        return UNSCOPED if place == place_of(NO_SCOPE) and not shared else place

    def get(self, key: str, *, scope: Scope | None = None) -> Known | None:
        """Return what a key has: in just this scope, else in the next wider one that has it.

        What is known of one person in no conversation goes before what is known in a conversation of nobody in
        particular, and that before what is everybody's.

        Raises:
            ScopeValidationError, ArgumentTypeError: an argument can't be used.
            StoreError: it can't be read just now.
        """
        kept, asked = self._key(key), self._memory._asked_scope(scope)
        rows = self._memory._collection.knowledge.all_known(kept)
        found = {width: row for row in rows if (width := width_of(row.place, asked)) is not None}
        return known_of(found[min(found)]) if found else None

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
        kept, whose = self._key(key), self._memory.kept_scope(scope)
        places = dict.fromkeys(self._place(whose, shared=shared) for shared in (True, False))
        collection = self._memory._open
        self._memory._shared.recalled.clear()
        return forget_entry(collection, places, kept)

    @scope_taken_now
    async def aforget(self, key: str, *, scope: Scope | None = None) -> bool:
        """Await :meth:`forget`."""
        return await asyncio.to_thread(self.forget, key, scope=scope)

    def search(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
        wait: float | None = 2.0,
    ) -> Sequence[Known]:
        """Find what fits a question best, of what is seen.

        Args:
            query: what to look for, in words.
            top_k: how many at the most; none for 0 or less.
            threshold: keeps cosines of at least this; ``None`` keeps all.
            scope: whose.
            mode: ``"hybrid"``, ``"vector"`` or ``"keyword"``.
            wait: seconds to wait, at the most, until what was taught before this call can be found.

        Returns:
            Best first, with scores, and what the places are made of.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            Exception: whatever the embedder raises.
        """
        question = self._question(query, top_k, threshold, mode, wait)
        return self._memory._ask(question, None, wait, partial(find_knowledge, seen=self._memory._sees(scope))) or ()

    @scope_taken_now
    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
        wait: float | None = 2.0,
    ) -> Sequence[Known]:
        """Await :meth:`search`."""
        question = self._question(query, top_k, threshold, mode, wait)
        find = partial(find_knowledge, seen=self._memory._sees(scope))
        return await self._memory._aask(question, None, wait, find) or ()

    @staticmethod
    def _question(query: str, top_k: int, threshold: float | None, mode: Mode, wait: float | None) -> Question:
        check_search(query, top_k, threshold, wait)
        return Question.of(query, top_k, threshold, mode=mode, explain=True)

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
