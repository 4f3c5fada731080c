"""Asking a client, with names and references, and recording what came of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ffai.chat.calling import acall, astream, call, check_client, stream
from ffai.chat.message import check_prompt
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import ReplyStream
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.turn import text_of
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError, UnknownReferenceError
from ffai.typing import Prompt, Status
from ffai.workflow.conversation import ClientConversation, with_history
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
    kwargs: dict[str, Any]
    started: float

    @property
    def expects_json(self) -> bool:
        """Whether the caller asked for JSON."""
        wanted = self.kwargs.get("response_format")
        return wanted is not None and wanted != {"type": "text"}


class WorkflowEngine:
    """Named prompts over one client.

    Args:
        client: any chat client.
        recorder: writes the histories and hands successes to memory.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> engine = WorkflowEngine(FakeClient(["Blue.", "Because of the air."]), HistoryRecorder())
        >>> _ = engine.generate_response("Which colour is the sky?", prompt_name="sky")
        >>> engine.generate_response("Why {{sky.response}}").resolved_prompt
        'Why Blue.'
    """

    def __init__(self, client: Any, recorder: HistoryRecorder) -> None:
        self._recorder = recorder
        self.closed = False
        self.client = client

    @property
    def client(self) -> Any:
        """The client that is asked."""
        return self._client

    @client.setter
    def client(self, client: Any) -> None:
        check_client(client)
        self._client, self._conversation = client, ClientConversation(client)

    def generate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        **kwargs: Any,
    ) -> ResponseResult:
        """Ask the client and record the turn.

        Args:
            prompt: text, or message parts. ``{{name.response}}`` stands for the latest response of that name.
            prompt_name: a name for later references.
            history: names of earlier prompts that are put in front of this one; wins over ``options.history``.
            options: see :class:`ResponseOptions`; they win over ``kwargs``.
            kwargs: handed to the client: ``temperature``, ``max_tokens``, ``tools``, ``response_format`` and others.

        Returns:
            The answer, with what it used and cost.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; the client is not called.
            UnknownReferenceError: ``options.strict``, and a name has no response yet.
            ClosedError: after ``close()``.
            Exception: whatever the client raises; the call is recorded as failed.
        """
        question = self._question(prompt, prompt_name, history, options, kwargs)
        with self._conversation.put_away(question.brings_history):
            try:
                reply = call(self._client, question.sent, **question.kwargs)
            except BaseException as error:
                self._record_failure(question, error)
                raise
        return self._record(question, reply)

    async def agenerate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        **kwargs: Any,
    ) -> ResponseResult:
        """Await :meth:`generate_response`."""
        question = self._question(prompt, prompt_name, history, options, kwargs)
        with self._conversation.put_away(question.brings_history):
            try:
                reply = await acall(self._client, question.sent, **question.kwargs)
            except BaseException as error:
                self._record_failure(question, error)
                raise
        return self._record(question, reply)

    def stream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        **kwargs: Any,
    ) -> Iterator[str]:
        """Ask the client for its answer in pieces of text; the turn is recorded once, when the last one has come.

        Arguments are checked now, the client is called with the first piece. A stream that is not read to its end is
        recorded as aborted. Arguments and errors as for :meth:`generate_response`.
        """
        return self._pieces(self._question(prompt, prompt_name, history, options, kwargs))

    def astream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: Options = None,
        **kwargs: Any,
    ) -> AsyncIterator[str]:
        """Iterate asynchronously; see :meth:`stream_response`."""
        return self._apieces(self._question(prompt, prompt_name, history, options, kwargs))

    def _pieces(self, question: _Question) -> Iterator[str]:
        with self._conversation.put_away(question.brings_history):
            # Opened with the first piece, inside the block: some clients ask their server as soon as they are called.
            answer = ReplyStream.opened_by(lambda: stream(self._client, question.sent, **question.kwargs))
            try:
                yield from answer
                reply = answer.reply
            except BaseException as error:
                self._record_failure(question, error, answer.text)
                answer.close()
                raise
        self._record(question, reply)

    async def _apieces(self, question: _Question) -> AsyncIterator[str]:
        with self._conversation.put_away(question.brings_history):
            answer = astream(self._client, question.sent, **question.kwargs)
            try:
                async for piece in answer:
                    yield piece
                reply = answer.reply
            except BaseException as error:
                self._record_failure(question, error, answer.text)
                await answer.aclose()
                raise
        self._record(question, reply)

    def _question(
        self,
        prompt: Prompt,
        prompt_name: str | None,
        history: Sequence[str] | None,
        options: Options,
        kwargs: dict[str, Any],
    ) -> _Question:
        """Check the arguments of a call and make of them what is sent."""
        if self.closed:
            raise ClosedError("This FFAI is closed. Make a new one to go on; what was recorded can still be read.")
        chosen = ResponseOptions.of(options)
        checked = check_prompt(prompt)
        _check_name(prompt_name)
        names = _checked_names(chosen.history if history is None else history)
        resolved = resolve(checked, self._recorder.latest_response, self._recorder.response_names, strict=chosen.strict)
        given = {"model": chosen.model, "system_instructions": chosen.system_instructions}
        kwargs = {**kwargs, **{name: value for name, value in given.items() if value is not None}}
        return _Question(
            sent=with_history(resolved, self._turns_of(names or [], strict=chosen.strict)),
            asked=text_of(checked),
            resolved=text_of(resolved),
            name=prompt_name,
            history=names,
            brings_history=names is not None or has_references(checked),
            model=str(kwargs.get("model") or getattr(self._client, "model", "")),
            kwargs=kwargs,
            started=time.perf_counter(),
        )

    def _turns_of(self, names: Sequence[str], *, strict: bool) -> list[tuple[str, str, str]]:
        """Return name, prompt and response of the latest success of each name."""
        turns = []
        for name in names:
            answered = self._recorder.log.answered(name)
            if answered is not None:
                turns.append((name, answered.said, self._recorder.latest_response(name) or ""))
            elif strict:
                raise UnknownReferenceError([name], self._recorder.response_names())
            else:
                logger.warning("history: no prompt named %r has been answered; it is left out.", name)
        return turns

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
        )
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

    def _record_failure(self, question: _Question, error: BaseException, text: str | None = None) -> None:
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
            duration_ms=round((time.perf_counter() - question.started) * 1000, 1),
        )


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
