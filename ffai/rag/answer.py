"""Answering a question from memory: looking up, then asking a model, then recording, in this order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ffai.chat.flow import Failed, Flow
from ffai.chat.message import member
from ffai.chat.reply import ChatReply, TokenUsage
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.core.memory.halving import told
from ffai.core.memory.retrieving import NOTHING, Retrieved
from ffai.core.scope import MemoryScope
from ffai.errors import ClientError, ClosedError, StoreError
from ffai.rag.ask_options import AskOptions, ContextOptions
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.backing import Backing
from ffai.rag.chat_options import ChatOptions, system_for
from ffai.rag.context import MemoryContext, fitted, pieces_of
from ffai.rag.entry import Source
from ffai.rag.events import ANSWER, RETRIEVE, emit
from ffai.rag.format import build_rag_prompt, format_thread_lines, with_memory_block
from ffai.rag.prompts import ANSWER_SYSTEM, ANSWER_SYSTEM_WITH_HISTORY
from ffai.rag.roles import Role
from ffai.rag.step import Step, is_the_callers, taken
from ffai.rag.tokens import count_tokens

if TYPE_CHECKING:
    from ffai.rag.thread import ChatMessage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult:
    """An answer and what it rests on.

    Examples:
        >>> result = AskResult(answer="Five days.", prompt="How long?", response=ChatReply(text="Five days."))
        >>> result["answer"], result.grounded
        ('Five days.', False)
    """

    answer: str
    """What the model said, unaltered."""
    sources: tuple[Source, ...] = ()
    """One for each entry of the context, in its order."""
    prompt: str
    """What the model was sent. It is never remembered."""
    response: ChatReply
    """The reply, with what it used and cost."""
    left_out: tuple[Source, ...] = ()
    """What was found and did not fit into the budget, best first."""
    duration_ms: float = 0.0
    """From the call to the whole answer."""
    turn_id: str | None = None
    """The turn's id in memory, where question and answer were to be remembered."""
    context_error: str | None = None
    """Why nothing could be looked up; ``None`` where that worked."""

    @property
    def grounded(self) -> bool:
        """Whether something in memory was found that the answer can rest on."""
        return bool(self.sources)

    @property
    def usage(self) -> TokenUsage | None:
        """Tokens used; ``None`` where the provider did not say."""
        return self.response.usage

    @property
    def cost_usd(self) -> float | None:
        """What it cost; ``None`` where the price is unknown."""
        return self.response.cost_usd

    @property
    def model(self) -> str:
        """The model that answered."""
        return self.response.model

    def __str__(self) -> str:
        return self.answer

    def __getitem__(self, name: str) -> Any:
        """Return ``"answer"``, ``"sources"`` and the others as from a dict."""
        if not isinstance(name, str) or name.startswith("_") or not hasattr(self, name):
            raise KeyError(name)
        if callable(getattr(type(self), name)):
            raise KeyError(name)
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Return answer, sources and whether it is grounded, as a dict that JSON can hold."""
        sources = [source.to_dict() for source in self.sources]
        return {"answer": self.answer, "sources": sources, "grounded": self.grounded, "model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A question with its context, ready to be sent."""

    question: str
    options: AskOptions
    context: MemoryContext
    request: ChatRequest
    asker: Asker
    context_error: str | None
    scope: Mapping[str, Any]
    """What was looked up, as events tell it: a guard is not asked again once the model has answered."""
    kept: MemoryScope | None
    """The scope that question and answer are recorded with; ``None`` where they are not."""
    started: float


def answered(backing: Backing, question: str, options: AskOptions) -> Flow[Step, AskResult]:
    """Answer a question; see :meth:`AgentMemory.ask`."""
    ready = yield from prepared(backing, question, options)
    reply = taken((yield Step(partial(ready.asker.ask, ready.request), partial(ready.asker.aask, ready.request))))
    return (yield from finished(backing, ready, reply))


def prepared(backing: Backing, question: str, options: AskOptions) -> Flow[Step, Prepared]:
    """Look up what a question needs, and make a prompt of it."""
    started = time.perf_counter()
    chat = ChatOptions.of(options.chat)
    history: Sequence[ChatMessage] = ()
    errors: list[str] = []
    if options.thread is not None:
        history = _or((yield Step(options.thread.history, options.thread.ahistory)), (), options, errors)
    found: Retrieved = _or((yield backing.retrieving(question, options, options.whose)), NOTHING, options, errors)
    count = partial(count_tokens, model=backing.model_of(chat))
    make = partial(fitted, pieces_of(found, options.limits), options.limits, count, as_data=options.framed)
    context = taken((yield Step(make, partial(asyncio.to_thread, make))))
    request, asker = _asked(backing, question, history, context, options)
    backing.note(context.text, context.sources, options.whose)
    backing.note_prompt(request.prompt, question, options.whose)
    scope = backing.told(options.whose)
    emit(
        options.on_event,
        RETRIEVE,
        query=question,
        results=[source.to_dict() for source in context.sources],
        scores=[source.score for source in context.sources],
        scope=scope,
    )
    return Prepared(
        question=question,
        options=options,
        context=context,
        request=request,
        asker=asker,
        context_error="; ".join(errors) or None,
        scope=scope,
        kept=backing.kept_scope(options.whose) if options.remember else None,
        started=started,
    )


def _asked(
    backing: Backing, question: str, history: Sequence[ChatMessage], context: MemoryContext, options: AskOptions
) -> tuple[ChatRequest, Asker]:
    """Put a question together, and say who is asked."""
    chat, lines = ChatOptions.of(options.chat), format_thread_lines(history)
    system = ANSWER_SYSTEM_WITH_HISTORY if history else ANSWER_SYSTEM
    if options.context_role == "user":
        return ChatRequest(build_rag_prompt(lines, context.text, question), system), Asker(backing.client, chat)
    base = system_for(system, chat.system, member(backing.client, "system_instructions"))
    whole = with_memory_block(base or "", context.text)
    return ChatRequest(build_rag_prompt(lines, "", question)), Asker(backing.client, replace(chat, system=whole))


def _or(outcome: Any, nothing: Any, options: AskOptions, errors: list[str]) -> Any:
    """Return what was looked up; nothing, where that failed and the caller can do without it."""
    if not isinstance(outcome, Failed):
        return outcome
    if options.on_context_error == "raise" or is_the_callers(outcome.error):
        raise outcome.error
    errors.append(told(outcome.error))
    logger.warning("Something can't be recalled just now; the answer has to do without it: %s", errors[-1])
    return nothing


def finished(backing: Backing, ready: Prepared, reply: ChatReply) -> Flow[Step, AskResult]:
    """Record what was answered, where it is to be recorded."""
    options, duration = ready.options, round((time.perf_counter() - ready.started) * 1000, 1)
    if options.thread is not None and reply.text.strip():
        said = [(Role.USER, ready.question), (Role.ASSISTANT, reply.text)]
        kept = yield Step(partial(options.thread.add_all, said), partial(options.thread.aadd_all, said))
        if isinstance(kept, Failed):
            if not isinstance(kept.error, (StoreError, ClosedError)):
                raise kept.error
            logger.warning("The thread can't be written just now; it lacks this answer: %s", told(kept.error))
    turn_id = None
    if ready.kept is not None:
        record: Callable[[], str | None] = partial(backing.record, ready.question, reply, ready.kept, duration)
        turn_id = taken((yield Step(record, partial(asyncio.to_thread, record))))
    sources = ready.context.sources
    emit(
        options.on_event,
        ANSWER,
        query=ready.question,
        answer=reply.text,
        sources=[source.to_dict() for source in sources],
        scope=ready.scope,
    )
    return AskResult(
        answer=reply.text,
        sources=sources,
        prompt=ready.request.prompt,
        response=reply,
        left_out=ready.context.left_out,
        duration_ms=duration,
        turn_id=turn_id,
        context_error=ready.context_error,
    )


class AnswerStream(Iterator[str]):
    """An answer in pieces of text; :attr:`result` has the whole once it has ended.

    It is recorded when the last piece has come. One that is not read to its end is recorded nowhere.
    """

    def __init__(self, pieces: ReplyStream, finish: Callable[[ChatReply], AskResult]) -> None:
        self._answer, self._finish = pieces, finish
        self._result: AskResult | None = None
        self._pieces = self._run()

    def __next__(self) -> str:
        piece: str = next(self._pieces)
        return piece

    @property
    def result(self) -> AskResult:
        """The whole answer.

        Raises:
            ClientError: the stream has not ended yet.
        """
        return _whole(self._result)

    def close(self) -> None:
        """End early."""
        self._pieces.close()

    def _run(self) -> Any:
        with closing(self._answer):
            yield from self._answer
            self._result = self._finish(self._answer.reply)


class AsyncAnswerStream(AsyncIterator[str]):
    """The async twin of :class:`AnswerStream`."""

    def __init__(self, begin: Callable[[], Any], finish: Callable[[Prepared, ChatReply], Any]) -> None:
        self._begin, self._finish = begin, finish
        self._result: AskResult | None = None
        self._pieces = self._run()

    async def __anext__(self) -> str:
        piece: str = await anext(self._pieces)
        return piece

    @property
    def result(self) -> AskResult:
        """The whole answer; a :class:`~ffai.errors.ClientError` before the stream has ended."""
        return _whole(self._result)

    async def aclose(self) -> None:
        """End early."""
        await self._pieces.aclose()

    async def _run(self) -> Any:
        ready: Prepared = await self._begin()
        answer: AsyncReplyStream = ready.asker.astream(ready.request)
        async with aclosing(answer):
            async for piece in answer:
                yield piece
            self._result = await self._finish(ready, answer.reply)


def _whole(result: AskResult | None) -> AskResult:
    if result is None:
        raise ClientError("The answer is not complete. Read the stream to its end first.")
    return result


def contexted(backing: Backing, query: str, options: ContextOptions) -> Flow[Step, MemoryContext]:
    """Look up a context; see :meth:`AgentMemory.build_context`."""
    found = taken((yield backing.retrieving(query, options, options.scope)))
    count = partial(count_tokens, model=backing.model_of(None))
    pieces = pieces_of(found, options.limits)
    make = partial(fitted, pieces, options.limits, count)
    context: MemoryContext = taken((yield Step(make, partial(asyncio.to_thread, make))))
    backing.note(context.text, context.sources, options.scope)
    return context
