"""Answers that rest on memory: what ``ffai.rag`` is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Unpack

from ffai.chat.calling import check_client
from ffai.core.arguments import check_text, from_keywords
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.memory.memory import Memory
from ffai.core.scope import MemoryScope, check_actor_id
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy
from ffai.errors import ArgumentTypeError
from ffai.rag.answer import AnswerStream, AskResult, AsyncAnswerStream, answered, finished, prepared
from ffai.rag.ask_options import AskKeywords, AskOptions
from ffai.rag.backing import Backing
from ffai.rag.contexts import Contexts
from ffai.rag.knowledge import KnowledgeBase
from ffai.rag.lately import Lately
from ffai.rag.step import ado, do
from ffai.rag.thread import MAX_TURNS, Thread


class AgentMemory(Contexts, Lately):
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

    Raises:
        ArgumentTypeError: the client can't be asked, or the memory can't be looked up.
        ScopeValidationError: the agent's id can't be used.

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
        if memory is not None and not callable(getattr(memory, "retrieve", None)):
            raise ArgumentTypeError(f"Answers need a Memory; {memory!r} has no method retrieve.")
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
        checked = from_keywords(AskOptions, {"thread": thread, **options})
        self._backing.asked_scope(checked.whose)
        if checked.thread is not None:
            self._backing.asked_scope(checked.thread.scope)  # another one than what is looked up, where both are given
        if checked.remember:
            self._backing.kept_scope(checked.whose)
        return check_text("question", question), checked

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
