"""What was said lately: as text, as a summary, and as a capsule that is kept."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Unpack

from ffai.chat.flow import Flow
from ffai.core.arguments import check_text, from_keywords
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.rag.asker import Asker
from ffai.rag.backing import Backing
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.chat_options import ChatOptions
from ffai.rag.compaction import CompactKeywords, CompactOptions, CompactResult, compacted, safely, summarised
from ffai.rag.entry import MemoryEntry
from ffai.rag.format import bullet
from ffai.rag.prompts import SUMMARY_INSTRUCTION
from ffai.rag.step import Step, ado, do, or_nothing, taken
from ffai.rag.window import Window


class Lately:
    """The side of an :class:`~ffai.rag.agent_memory.AgentMemory` that looks at the last hours or days."""

    _backing: Backing

    def recent_text(
        self,
        hours: float = 24.0,
        limit: int = 100,
        include_roles: Iterable[str] | None = None,
        exclude_roles: Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
    ) -> str:
        """Return the last messages as lines ``- text``, oldest first. No embedder is needed.

        Args:
            hours: how far to look back.
            limit: how many messages at the most, before roles are looked at: the last ones.
            include_roles: only messages of these roles; a turn has two, of ``"user"`` and ``"assistant"``.
            exclude_roles: no messages of these roles.
            scope: whose.

        Returns:
            The lines; ``""`` where nothing was said, memory is off, or it can't be read just now, which is logged.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.rag import AgentMemory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> print(AgentMemory(FakeClient(), memory).recent_text(exclude_roles=["assistant"]))
            - Where is the key?
        """
        window, whose = self._window(hours, limit, include_roles, exclude_roles, scope)
        return do(or_nothing("list of recent messages", _bullets(self._backing, window, whose)))

    def arecent_text(
        self,
        hours: float = 24.0,
        limit: int = 100,
        include_roles: Iterable[str] | None = None,
        exclude_roles: Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
    ) -> Coroutine[Any, Any, str]:
        """Await :meth:`recent_text`."""
        window, whose = self._window(hours, limit, include_roles, exclude_roles, scope)
        return ado(or_nothing("list of recent messages", _bullets(self._backing, window, whose)))

    def summarize(
        self,
        hours: float = 24.0,
        limit: int = 100,
        instruction: str = SUMMARY_INSTRUCTION,
        include_roles: Iterable[str] | None = None,
        exclude_roles: Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
        chat: ChatOptions | Mapping[str, Any] | None = None,
    ) -> str:
        """Let the model summarise what was said lately. Nothing is kept.

        Args:
            hours: how far to look back.
            limit: how many messages at the most: the last ones.
            instruction: what is asked for.
            include_roles: only messages of these roles.
            exclude_roles: no messages of these roles.
            scope: whose.
            chat: which model is asked, and how.

        Returns:
            The summary; a fixed sentence where nothing was said, and no model is asked.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            MemoryDisabledError: memory is off.
            ClosedError: after ``close()``.
            Exception: whatever memory or the client raises.
        """
        return do(self._summary(self._window(hours, limit, include_roles, exclude_roles, scope), instruction, chat))

    def asummarize(
        self,
        hours: float = 24.0,
        limit: int = 100,
        instruction: str = SUMMARY_INSTRUCTION,
        include_roles: Iterable[str] | None = None,
        exclude_roles: Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
        chat: ChatOptions | Mapping[str, Any] | None = None,
    ) -> Coroutine[Any, Any, str]:
        """Await :meth:`summarize`."""
        return ado(self._summary(self._window(hours, limit, include_roles, exclude_roles, scope), instruction, chat))

    def _summary(
        self, read: tuple[Window, MemoryScope | None], instruction: str, chat: ChatOptions | Mapping[str, Any] | None
    ) -> Flow[Step, str]:
        self._backing.check_open()
        window, whose = read
        asker = Asker(self._backing.client, chat)
        return summarised(self._backing, window, asker, whose, check_text("instruction", instruction))

    def compact_window(self, **options: Unpack[CompactKeywords]) -> MemoryCapsule:
        """Summarise what was said lately, and keep that as knowledge of the same scope.

        The messages stay. The capsule is found by :meth:`ask`; the same id again replaces it, and it is forgotten with
        the turns it was made from. Where no scope is given and the messages are somebody's, only one who asks without a
        scope sees it.

        Args:
            options: see :class:`~ffai.rag.compaction.CompactOptions`.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            TypeError: there is no such option.
            MemoryDisabledError: memory is off.
            ClosedError: after ``close()``.
            EmptyWindowError, EmptySummaryError: there is nothing to be kept.
            Exception: whatever memory or the client raises. Nothing is kept.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.rag import AgentMemory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> rag = AgentMemory(FakeClient(["The key is under the mat."]), memory)
            >>> rag.compact_window(id="monday").summary, [capsule.id for capsule in rag.kb.capsules()]
            ('The key is under the mat.', ['monday'])
        """
        return do(compacted(self._backing, *self._compaction(options)))

    def acompact_window(self, **options: Unpack[CompactKeywords]) -> Coroutine[Any, Any, MemoryCapsule]:
        """Await :meth:`compact_window`."""
        return ado(compacted(self._backing, *self._compaction(options)))

    def compact_window_safe(self, **options: Unpack[CompactKeywords]) -> CompactResult:
        """Do as :meth:`compact_window`, and tell what became of it.

        Raises:
            InvalidArgumentError, ArgumentTypeError, TypeError: the arguments are wrong.
            ClosedError: after ``close()``.
        """
        return do(safely(compacted(self._backing, *self._compaction(options))))

    def acompact_window_safe(self, **options: Unpack[CompactKeywords]) -> Coroutine[Any, Any, CompactResult]:
        """Await :meth:`compact_window_safe`."""
        return ado(safely(compacted(self._backing, *self._compaction(options))))

    def _compaction(self, options: Mapping[str, Any]) -> tuple[CompactOptions, Asker]:
        self._backing.check_open()
        checked = from_keywords(CompactOptions, options)
        self._backing.asked_scope(checked.scope)
        if self._backing.memory is not None:
            self._backing.memory.kept_scope(checked.scope)
        return checked, Asker(self._backing.client, checked.chat)

    def _window(
        self,
        hours: float,
        limit: int,
        include_roles: Iterable[str] | None,
        exclude_roles: Iterable[str] | None,
        scope: Scope | None,
    ) -> tuple[Window, MemoryScope | None]:
        whose = None if scope is None else MemoryScope.of(scope)  # a mapping may change before an awaited call begins
        self._backing.asked_scope(whose)
        return Window(hours, limit, include_roles, exclude_roles), whose


def _bullets(backing: Backing, window: Window, scope: Scope | None) -> Flow[Step, str]:
    said: Sequence[MemoryEntry] = ()
    if backing.memory is not None:
        said = taken((yield backing.reading(window, scope)))
    text = "\n".join(bullet(record.value["content"]) for record in said)
    backing.note(text, (), scope)
    return text
