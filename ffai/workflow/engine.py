"""Asking a client, with names and references, and recording what came of it."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import Any

from ffai.chat.calling import acall, astream, call, stream
from ffai.chat.message import check_prompt
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.core.arguments import check_ids
from ffai.core.history.histories import Histories
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.scope import MemoryScope, check_actor_id
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy
from ffai.core.turn import text_of
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError, UnknownReferenceError
from ffai.typing import Prompt, Status
from ffai.workflow.conversation import with_history
from ffai.workflow.line import Line, Switchboard
from ffai.workflow.options import ResponseOptions
from ffai.workflow.result import ResponseResult
from ffai.workflow.template import has_references, resolve

logger = logging.getLogger(__name__)

Options = ResponseOptions | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Question:
    """A checked call, ready to be sent."""

    sent: Prompt
    """What the client gets: with earlier turns in front."""
    asked: str
    """The prompt as it was given, as text."""
    resolved: str
    """The prompt with its references replaced, as text."""
    name: str | None
    history: list[str] | None
    brings_history: bool
    model: str
    scope: MemoryScope
    line: Line
    kwargs: dict[str, Any]
    started: float

    @property
    def expects_json(self) -> bool:
        """Whether the caller asked for JSON."""
        wanted = self.kwargs.get("response_format")
        return wanted is not None and wanted != {"type": "text"}


class _Watched:
    """A call while it is made. If it raises, or is broken off, that is recorded, and the error goes on."""

    def __init__(
        self,
        record: Callable[[_Question, BaseException, str | None], None],
        question: _Question,
        answer: ReplyStream | AsyncReplyStream | None = None,
    ) -> None:
        self._record, self._question, self._answer = record, question, answer

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._record(self._question, error, None if self._answer is None else self._answer.text)


class WorkflowEngine:
    """Named prompts over one client.

    Args:
        client: any chat client.
        recorder: writes the histories and hands successes to memory.
        agent_actor_id: who answers: takes part in each conversation that it answers in.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> engine = WorkflowEngine(FakeClient(["Blue.", "Because of the air."]), HistoryRecorder())
        >>> _ = engine.generate_response("Which colour is the sky?", prompt_name="sky")
        >>> engine.generate_response("Why {{sky.response}}").resolved_prompt
        'Why Blue.'
    """

    def __init__(self, client: Any, recorder: HistoryRecorder, *, agent_actor_id: str | None = None) -> None:
        self._recorder, self._agent = recorder, check_actor_id("agent_actor_id", agent_actor_id)
        self._board, self._policy = Switchboard(client), OPEN

    @property
    def client(self) -> Any:
        """The client that is asked; for one person, the one that keeps this person's conversation."""
        default = self._policy.default
        return self._board.line(default.validate("search")).client

    @client.setter
    def client(self, client: Any) -> None:
        self._board.client = client

    @property
    def closed(self) -> bool:
        """Whether it takes no calls any more."""
        return self._board.closed

    def close(self) -> None:
        """Take no more calls, here and in every view."""
        self._board.closed = True

    def forget(self, turn_ids: Iterable[str]) -> dict[str, int]:
        """Let go of the conversations that clients keep with people who said one of some turns.

        Returns:
            ``client_conversations``: how many there were. The conversation of calls without a scope stays.
        """
        return {"client_conversations": self._board.forget(check_ids("turn_ids", turn_ids))}

    def scoped(self, scope: Scope) -> WorkflowEngine:
        """Return the same engine for one person: with a scope under that of each call.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.
        """
        return self.under(self._policy.narrowed(scope))

    def under(self, policy: ScopePolicy) -> WorkflowEngine:
        """Return the same engine with what applies to the scopes of its calls."""
        view = copy.copy(self)
        view._policy = policy
        return view

    def generate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> ResponseResult:
        """Ask the client and record the turn.

        Args:
            prompt: text, or message parts. ``{{name.response}}`` stands for the latest response of that name.
            prompt_name: a name for later references.
            history: names of earlier prompts that are put in front of this one; wins over ``options.history``.
            options: see :class:`ResponseOptions`; they win over ``kwargs``.
            scope: whose call it is; wins over ``options.scope``. References and ``history`` see the calls of the same
                person in the same conversation, and so does the client, as far as it keeps a conversation.
            kwargs: handed to the client: ``temperature``, ``max_tokens``, ``tools``, ``response_format`` and others.

        Returns:
            The answer, with what it used and cost.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; the client is not called.
            UnknownReferenceError: ``options.strict``, and a name has no response yet.
            ClosedError: after ``close()``.
            Exception: whatever the client raises; the call is recorded as failed.
        """
        question = self._question(prompt, prompt_name, history, options, scope, kwargs)
        with question.line.conversation.put_away(question.brings_history), _Watched(self._record_failure, question):
            reply = call(question.line.client, question.sent, **question.kwargs)
        return self._record(question, reply)

    def agenerate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, ResponseResult]:
        """Await :meth:`generate_response`. The scope is taken now, whenever the call begins."""
        chosen = ResponseOptions.of(options)
        taken = MemoryScope.of(chosen.scope if scope is None else scope)
        return self._agenerate(prompt, prompt_name, history, chosen, taken, kwargs)

    async def _agenerate(
        self,
        prompt: Prompt,
        prompt_name: str | None,
        history: Sequence[str] | None,
        options: ResponseOptions,
        scope: MemoryScope,
        kwargs: dict[str, Any],
    ) -> ResponseResult:
        question = self._question(prompt, prompt_name, history, options, scope, kwargs)
        with question.line.conversation.put_away(question.brings_history), _Watched(self._record_failure, question):
            reply = await acall(question.line.client, question.sent, **question.kwargs)
        return self._record(question, reply)

    def stream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> Iterator[str]:
        """Ask the client for its answer in pieces of text; the turn is recorded once, when the last one has come.

        Arguments are checked now, the client is called with the first piece. A stream that is not read to its end is
        recorded as aborted. Arguments and errors as for :meth:`generate_response`.
        """
        return self._pieces(self._question(prompt, prompt_name, history, options, scope, kwargs))

    def astream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[str]:
        """Iterate asynchronously; see :meth:`stream_response`."""
        return self._apieces(self._question(prompt, prompt_name, history, options, scope, kwargs))

    def _pieces(self, question: _Question) -> Iterator[str]:
        with question.line.conversation.put_away(question.brings_history):
            # Opened with the first piece, inside the block: some clients ask their server as soon as they are called.
            answer = ReplyStream.opened_by(lambda: stream(question.line.client, question.sent, **question.kwargs))
            with closing(answer), _Watched(self._record_failure, question, answer):
                yield from answer
                reply = answer.reply
        self._record(question, reply)

    async def _apieces(self, question: _Question) -> AsyncIterator[str]:
        with question.line.conversation.put_away(question.brings_history):
            answer = astream(question.line.client, question.sent, **question.kwargs)
            async with aclosing(answer):
                with _Watched(self._record_failure, question, answer):
                    async for piece in answer:
                        yield piece
                    reply = answer.reply
        self._record(question, reply)

    def _question(
        self,
        prompt: Prompt,
        prompt_name: str | None,
        history: Sequence[str] | None,
        options: Options,
        scope: Scope | None,
        kwargs: dict[str, Any],
    ) -> _Question:
        """Check the arguments of a call and make of them what is sent."""
        if self.closed:
            raise ClosedError("This FFAI is closed. Make a new one to go on; what was recorded can still be read.")
        chosen = ResponseOptions.of(options)
        checked = check_prompt(prompt)
        _check_name(prompt_name)
        names = _checked_names(chosen.history if history is None else history)
        whose, earlier = self._scopes(chosen.scope if scope is None else scope)
        line, brings_history = self._board.line(earlier), names is not None or has_references(checked)
        seen = self._recorder.seen_by(earlier) if brings_history else self._recorder
        resolved = resolve(checked, seen.latest_response, seen.response_names, strict=chosen.strict)
        given = {"model": chosen.model, "system_instructions": chosen.system_instructions}
        kwargs = {**kwargs, **{name: value for name, value in given.items() if value is not None}}
        return _Question(
            sent=with_history(resolved, _turns_of(names or [], seen, strict=chosen.strict)),
            asked=text_of(checked),
            resolved=text_of(resolved),
            name=prompt_name,
            history=names,
            brings_history=brings_history,
            model=str(kwargs.get("model") or getattr(line.client, "model", "")),
            scope=whose,
            line=line,
            kwargs=kwargs,
            started=time.perf_counter(),
        )

    def _scopes(self, given: Scope | None) -> tuple[MemoryScope, MemoryScope]:
        """Return the scope that a call is recorded with, and that of the earlier calls that it builds on."""
        whose, earlier = self._recorder.accepted_scope(self._policy.adding(given)), self._policy.seeing(given)
        if earlier.conversation_id != whose.conversation_id:  # given in its internal form
            earlier = replace(earlier, conversation_id=whose.conversation_id)
        return whose, earlier

    def _record(self, question: _Question, reply: ChatReply) -> ResponseResult:
        duration = round((time.perf_counter() - question.started) * 1000, 1)
        model = reply.model or question.model
        interaction = self._recorder.record(
            question.asked,
            reply.text,
            model,
            question.name,
            question.history,
            resolved_prompt=question.resolved,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            duration_ms=duration,
            tool_calls=reply.tool_calls,
            expects_json=question.expects_json,
            scope=question.scope,
            agent_actor_id=self._agent,
        )
        if interaction.turn_id is not None:
            question.line.turn_ids.add(interaction.turn_id)
        return ResponseResult(
            response=reply.text,
            resolved_prompt=question.resolved,
            tool_calls=reply.tool_calls,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            model=model,
            duration_ms=duration,
            turn_id=interaction.turn_id,
        )

    def _record_failure(self, question: _Question, error: BaseException, text: str | None) -> None:
        """Record a call that raised, or was broken off: what came of it is kept, and not remembered."""
        broken_off = isinstance(error, (GeneratorExit, KeyboardInterrupt, asyncio.CancelledError))
        status: Status = "aborted" if broken_off else "failed"
        self._recorder.record(
            question.asked,
            text or None,
            question.model,
            question.name,
            question.history,
            status,
            question.resolved,
            error=f"{type(error).__name__}: {error}".rstrip(": "),
            scope=question.scope,
            agent_actor_id=self._agent,
            duration_ms=round((time.perf_counter() - question.started) * 1000, 1),
        )


def _turns_of(names: Sequence[str], seen: Histories, *, strict: bool) -> list[tuple[str, str, str]]:
    """Return name, prompt and response of the latest success of each name."""
    turns = []
    for name in names:
        answered = seen.log.answered(name)
        if answered is not None:
            turns.append((name, answered.said, seen.latest_response(name) or ""))
        elif strict:
            raise UnknownReferenceError([name], seen.response_names())
        else:
            logger.warning("history: no prompt named %r has been answered; it is left out.", name)
    return turns


def _check_name(name: object) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        raise ArgumentTypeError(f"prompt_name must be text, not {type(name).__name__}: {name!r}.")
    if not name.strip():
        raise InvalidArgumentError("prompt_name is blank. Leave it out, or give a name.")


def _checked_names(history: Sequence[str] | None) -> list[str] | None:
    if history is None:
        return None
    if isinstance(history, str) or not isinstance(history, Sequence) or not all(isinstance(n, str) for n in history):
        raise ArgumentTypeError(f"history must be a list of prompt names, not {history!r:.100}.")
    return list(history)
