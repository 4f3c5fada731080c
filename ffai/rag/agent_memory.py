"""Answers that rest on memory: what ``ffai.rag`` is."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from ffai.chat.calling import check_client
from ffai.chat.flow import Flow
from ffai.core.arguments import check_text
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.memory.halving import told
from ffai.core.memory.memory import Memory
from ffai.core.scope import MemoryScope, check_actor_id
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy
from ffai.rag.answer import AnswerStream, AskResult, AsyncAnswerStream, answered, contexted, finished, prepared
from ffai.rag.ask_options import AskKeywords, AskOptions, ContextKeywords, ContextOptions
from ffai.rag.asker import Asker
from ffai.rag.backing import Backing
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.chat_options import ChatOptions
from ffai.rag.compaction import CompactKeywords, CompactOptions, CompactResult, compacted, safely, summarised
from ffai.rag.context import MemoryContext
from ffai.rag.entry import MemoryEntry
from ffai.rag.explaining import Explanation, explained
from ffai.rag.format import bullet
from ffai.rag.graph_search import HybridContext, Seeds, hybrid
from ffai.rag.knowledge import KnowledgeBase
from ffai.rag.prompts import SUMMARY_INSTRUCTION
from ffai.rag.step import Step, ado, do, is_the_callers, taken
from ffai.rag.thread import MAX_TURNS, Thread
from ffai.rag.window import Window

logger = logging.getLogger(__name__)


class AgentMemory:
    r"""A memory and a client that answers from it.

    Nothing is kept in it: it is a view on the memory, and as cheap as one. What is asked does not enter the
    conversation that the client keeps, and what is recalled is never remembered as something new.

    Args:
        client: any chat client.
        memory: what is looked up; ``None`` where memory is off: answers then rest on nothing.
        recorder: records what is to be remembered; the memory alone if left out.
        policy: what applies to the scope of each call; the memory's.
        agent_actor_id: who answers.
        is_closed: tells whether nothing can be asked any more.

    Examples:
        >>> from ffai import Memory
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> _ = memory.remember("Where is the key?", "Under the mat.")
        >>> rag = AgentMemory(FakeClient(["It is under the mat."]), memory)
        >>> result = rag.ask("Where did we put the key?")
        >>> result.answer, [source.excerpt for source in result.sources]
        ('It is under the mat.', ['Where is the key?\nUnder the mat.'])
    """

    def __init__(
        self,
        client: Any,
        memory: Memory | None,
        *,
        recorder: HistoryRecorder | None = None,
        policy: ScopePolicy = OPEN,
        agent_actor_id: str | None = None,
        is_closed: Callable[[], bool] = lambda: False,
    ) -> None:
        check_client(client)
        agent = check_actor_id("agent_actor_id", agent_actor_id)
        self._backing = Backing(
            client=client, memory=memory, recorder=recorder, policy=policy, agent_actor_id=agent, is_closed=is_closed
        )

    def scoped(self, scope: Scope) -> AgentMemory:
        """Return the same for one person, one conversation, or both: with a scope under that of each call.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
        """
        view, backing = copy.copy(self), self._backing
        policy = backing.policy.narrowed(scope)
        memory = None if backing.memory is None else backing.memory.scoped(scope)
        view._backing = replace(backing, policy=policy, memory=memory)
        return view

    # Asking

    def ask(self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]) -> AskResult:
        """Answer a question from memory: look up, ask the model, then record.

        Args:
            question: what is asked.
            thread: its messages stand in front of the question; question and answer are added to it.
            options: see :class:`~ffai.rag.ask_options.AskOptions`.

        Returns:
            The answer, with its sources in the order of the lines of the context.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; the model is not asked.
            TypeError: there is no such option.
            ClosedError: after ``close()``.
            Exception: whatever memory raises, unless ``on_context_error="ignore"``; whatever the client raises. Nothing
                is recorded, and a thread is as it was.
        """
        return do(answered(self._backing, *self._checked(question, thread, options)))

    def aask(
        self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]
    ) -> Coroutine[Any, Any, AskResult]:
        """Await :meth:`ask`. Arguments are checked, and the scope is taken, when it is called."""
        return ado(answered(self._backing, *self._checked(question, thread, options)))

    def ask_with_thread(self, thread: Thread, question: str, **options: Unpack[AskKeywords]) -> AskResult:
        """Answer a question with a thread in front of it; the same as ``ask(question, thread=thread)``."""
        return self.ask(question, thread=thread, **options)

    def aask_with_thread(
        self, thread: Thread, question: str, **options: Unpack[AskKeywords]
    ) -> Coroutine[Any, Any, AskResult]:
        """Await :meth:`ask_with_thread`."""
        return self.aask(question, thread=thread, **options)

    def stream_ask(
        self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]
    ) -> AnswerStream:
        """Answer in pieces of text. It is looked up now, and the model is asked with the first piece.

        Returns:
            An iterator; its ``result`` is what :meth:`ask` gives, once the last piece has come.

        Raises: as for :meth:`ask`.

        Examples:
            >>> from ffai.testing import FakeClient
            >>> pieces = AgentMemory(FakeClient(["Under the mat."]), None).stream_ask("Where is the key?")
            >>> list(pieces), pieces.result.grounded
            (['Under ', 'the ', 'mat.'], False)
        """
        ready = do(prepared(self._backing, *self._checked(question, thread, options)))
        return AnswerStream(ready.asker.stream(ready.request), lambda reply: do(finished(self._backing, ready, reply)))

    def astream_ask(
        self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]
    ) -> AsyncAnswerStream:
        """Iterate asynchronously; see :meth:`stream_ask`. It is looked up with the first piece."""
        asked = self._checked(question, thread, options)
        return AsyncAnswerStream(
            lambda: ado(prepared(self._backing, *asked)),
            lambda ready, reply: ado(finished(self._backing, ready, reply)),
        )

    def _checked(self, question: str, thread: Thread | None, options: Mapping[str, Any]) -> tuple[str, AskOptions]:
        self._backing.check_open()
        checked = AskOptions(thread=thread, **options)
        self._backing.asked_scope(checked.whose)
        if checked.remember:
            self._backing.kept_scope(checked.whose)
        return check_text("question", question), checked

    # Contexts

    def build_context(self, query: str, **options: Unpack[ContextKeywords]) -> str:
        """Return what is known about something as lines for a prompt: messages, then knowledge.

        Args:
            query: what to look for, in words.
            options: see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            ``[name]: text`` for each message and ``[KB] text`` for each entry of knowledge; ``""`` where nothing is
            found, or memory is off.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            TypeError: there is no such option.
            Exception: whatever memory raises.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> print(AgentMemory(FakeClient(), memory).build_context("the key"))
            [user]: Where is the key?
            [assistant]: Under the mat.
        """
        return self.context(query, **options).text

    def abuild_context(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, str]:
        """Await :meth:`build_context`."""
        return ado(_text_of(contexted(self._backing, *self._looking_up(query, options))))

    def context(self, query: str, **options: Unpack[ContextKeywords]) -> MemoryContext:
        """Return the context of :meth:`build_context` with its sources, and what did not fit into the budget."""
        return do(contexted(self._backing, *self._looking_up(query, options)))

    def acontext(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, MemoryContext]:
        """Await :meth:`context`."""
        return ado(contexted(self._backing, *self._looking_up(query, options)))

    def build_context_safe(self, query: str, **options: Unpack[ContextKeywords]) -> str:
        """Return :meth:`build_context`; ``""`` where memory can't be looked up just now, which is logged.

        Raises:
            InvalidArgumentError, ArgumentTypeError, TypeError: the arguments are wrong.
        """
        return do(_or_nothing("context", _text_of(contexted(self._backing, *self._looking_up(query, options)))))

    def abuild_context_safe(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, str]:
        """Await :meth:`build_context_safe`."""
        return ado(_or_nothing("context", _text_of(contexted(self._backing, *self._looking_up(query, options)))))

    def build_hybrid_context(
        self,
        query: str,
        seed_node_ids: Iterable[str] = (),
        *,
        auto_seed: bool = True,
        max_hops: int = 1,
        **options: Unpack[ContextKeywords],
    ) -> HybridContext:
        """Look up by meaning, and along the edges of the graph, with a citation for each line.

        Args:
            query: what to look for, in words.
            seed_node_ids: ids of nodes whose edges are looked at.
            auto_seed: whether those of the nodes that are found by meaning are, too.
            max_hops: how far along the edges, from 1 to 3.
            options: see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            Lines ``[what it is cited by] text``: turns, knowledge, then edges in the order of their seeds; each once.
            Where memory can't be looked up by meaning just now, the edges of the seeds that were given.

        Raises: as for :meth:`build_context`.
        """
        seeds = Seeds(ids=seed_node_ids, auto=auto_seed, max_hops=max_hops)
        return do(hybrid(self._backing, *self._looking_up(query, options), seeds))

    def abuild_hybrid_context(
        self,
        query: str,
        seed_node_ids: Iterable[str] = (),
        *,
        auto_seed: bool = True,
        max_hops: int = 1,
        **options: Unpack[ContextKeywords],
    ) -> Coroutine[Any, Any, HybridContext]:
        """Await :meth:`build_hybrid_context`."""
        seeds = Seeds(ids=seed_node_ids, auto=auto_seed, max_hops=max_hops)
        return ado(hybrid(self._backing, *self._looking_up(query, options), seeds))

    def explain(self, query: str, turn_id: str | None = None, **options: Unpack[ContextKeywords]) -> Explanation:
        """Tell why a question finds what it finds, and why it does not find something else.

        Args:
            query: what to look for, in words.
            turn_id: a turn that is expected; the nearest misses are told of if left out.
            options: those of the call that is to be explained; see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            What is found and missed, with scores, thresholds and parts, and the state of the memory. ``print`` shows a
            report.

        Raises:
            InvalidArgumentError, ArgumentTypeError, TypeError: the arguments are wrong. An outage is told, not raised.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> expected = memory.remember("Where is the key?", "Under the mat.")
            >>> AgentMemory(FakeClient(), memory).explain("a boat", expected).missed[0].state
            'too far'
        """
        if turn_id is not None:
            check_text("turn_id", turn_id)
        return do(explained(self._backing, *self._looking_up(query, options), turn_id))

    def aexplain(
        self, query: str, turn_id: str | None = None, **options: Unpack[ContextKeywords]
    ) -> Coroutine[Any, Any, Explanation]:
        """Await :meth:`explain`."""
        if turn_id is not None:
            check_text("turn_id", turn_id)
        return ado(explained(self._backing, *self._looking_up(query, options), turn_id))

    def _looking_up(self, query: str, options: Mapping[str, Any]) -> tuple[str, ContextOptions]:
        checked = ContextOptions(**options)
        self._backing.asked_scope(checked.scope)
        return check_text("query", query), checked

    # What was said lately

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
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> print(AgentMemory(FakeClient(), memory).recent_text(exclude_roles=["assistant"]))
            - Where is the key?
        """
        window, whose = self._window(hours, limit, include_roles, exclude_roles, scope)
        return do(_or_nothing("list of recent messages", _bullets(self._backing, window, whose)))

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
        return ado(_or_nothing("list of recent messages", _bullets(self._backing, window, whose)))

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
        checked = CompactOptions(**options)
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

    # Parts

    @property
    def kb(self) -> KnowledgeBase:
        """What the application taught: facts under keys, capsules, nodes and edges.

        Raises:
            MemoryDisabledError: memory is off.
        """
        return KnowledgeBase(self._backing.knowledge)

    def thread(
        self,
        session_id: str | None = None,
        actor_id: str | None = None,
        max_turns: int = MAX_TURNS,
        *,
        scope: Scope | None = None,
    ) -> Thread:
        """Return the thread of one person in one conversation; the same one each time.

        Args:
            session_id: the conversation.
            actor_id: the user; the scope's actor if left out.
            max_turns: how many questions with their answers are kept.
            scope: whose it is, in place of the two, or under them.

        Raises:
            ScopeValidationError, ArgumentTypeError, InvalidArgumentError: an argument can't be used; names it.
            MemoryDisabledError: memory is off.
        """
        named = {} if actor_id is None else {"actor_id": actor_id, "actor_type": "user"}
        given = MemoryScope.of(scope).merged(MemoryScope.of({**named, "conversation_id": session_id}))
        memory = self._backing.needed
        return Thread(self, memory.threads, memory.kept_scope(given), max_turns)


def _or_nothing(what: str, flow: Flow[Step, str]) -> Flow[Step, str]:
    try:
        return (yield from flow)
    except Exception as error:
        if is_the_callers(error):
            raise
        logger.warning("There is no %s just now: %s", what, told(error))
        return ""


def _text_of(flow: Flow[Step, MemoryContext]) -> Flow[Step, str]:
    return (yield from flow).text


def _bullets(backing: Backing, window: Window, scope: Scope | None) -> Flow[Step, str]:
    said: Sequence[MemoryEntry] = ()
    if backing.memory is not None:
        said = taken((yield backing.reading(window, scope)))
    text = "\n".join(bullet(record.value["content"]) for record in said)
    backing.note(text, (), scope)
    return text
