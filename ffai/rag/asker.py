"""Asking a model for an answer, a summary or a capsule: beside the client's conversation, in four ways."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any

from ffai.chat.apart import aapart, apart
from ffai.chat.calling import acall, astream, call, check_client, stream
from ffai.chat.message import check_prompt, member
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.errors import ArgumentTypeError
from ffai.rag.chat_options import ChatFn, ChatOptions, system_for


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked.

    Examples:
        >>> ChatRequest("How long do refunds take?", "Answer from the context.").prompt
        'How long do refunds take?'
    """

    prompt: str
    system: str | None = None
    """The system prompt that the function which asks would use; see `system_for`."""


class Asker:
    """Asks a client beside its conversation, or the function that the options name, in four ways.

    Args:
        client: any chat client; not needed where the options have a ``chat_fn``.
        options: see `ChatOptions`.

    Raises:
        ArgumentTypeError, InvalidArgumentError: the options can't be used, or there is nobody to ask.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> Asker(FakeClient(["Five days."]), {"system": "Be brief."}).ask(ChatRequest("How long?")).text
        'Five days.'
        >>> Asker(None, {"chat_fn": lambda model, prompt, system: prompt.upper()}).ask(ChatRequest("How long?")).text
        'HOW LONG?'
    """

    def __init__(self, client: Any, options: ChatOptions | Mapping[str, Any] | None = None) -> None:
        self.options = ChatOptions.of(options)
        self._function = self.options.chat_fn
        self._client = client if self._function is None else _FunctionClient(self._function)
        check_client(self._client)

    def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Tools that the model asks for are not called.

        Raises:
            InvalidArgumentError: the prompt is blank.
            ArgumentTypeError: the client or ``chat_fn`` only answers asynchronously; names the async way.
            ClientError: the answer is not a reply.
            Exception: whatever the client raises.
        """
        prompt, told = self._told(request)
        self._check_sync()
        with apart(self._client) as asked:
            return call(asked, prompt, **told)

    async def aask(self, request: ChatRequest) -> ChatReply:
        """The async twin of `ask`."""
        prompt, told = self._told(request)
        async with aapart(self._client) as asked:
            return await acall(asked, prompt, **told)

    def stream(self, request: ChatRequest) -> ReplyStream:
        """Return the reply in pieces. The prompt is checked now, the client is asked with the first piece.

        Raises: as for `ask`.
        """
        prompt, told = self._told(request)
        self._check_sync()
        begun: list[ReplyStream] = []

        def pieces() -> Iterator[str]:
            with apart(self._client) as asked, closing(stream(asked, prompt, **told)) as answer:
                begun.append(answer)
                yield from answer

        return ReplyStream(pieces(), lambda _: begun[0].reply)

    def astream(self, request: ChatRequest) -> AsyncReplyStream:
        """The async twin of `stream`."""
        prompt, told = self._told(request)
        begun: list[AsyncReplyStream] = []

        async def pieces() -> AsyncIterator[str]:
            async with aapart(self._client) as asked, aclosing(astream(asked, prompt, **told)) as answer:
                begun.append(answer)
                async for piece in answer:
                    yield piece

        return AsyncReplyStream(pieces(), lambda _: begun[0].reply)

    def _told(self, request: ChatRequest) -> tuple[Any, dict[str, Any]]:
        system = system_for(request.system, self.options.system, member(self._client, "system_instructions"))
        told = {"model": self.options.model, "system_instructions": system}
        return check_prompt(request.prompt), {name: value for name, value in told.items() if value is not None}

    def _check_sync(self) -> None:
        if self._function is not None and _is_async(self._function):
            raise _only_async()


class _FunctionClient:
    """A ``chat_fn`` as a client."""

    model = ""

    def __init__(self, function: ChatFn) -> None:
        self._function = function

    def generate_response(self, prompt: str, **told: str) -> Any:
        answer = self._function(told.get("model"), prompt, told.get("system_instructions"))
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise _only_async()
        return answer

    async def agenerate_response(self, prompt: str, **told: str) -> Any:
        model, system = told.get("model"), told.get("system_instructions")
        if _is_async(self._function):
            answer: Any = self._function(model, prompt, system)
        else:
            answer = await asyncio.to_thread(self._function, model, prompt, system)
        return await answer if inspect.isawaitable(answer) else answer


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _only_async() -> ArgumentTypeError:
    return ArgumentTypeError("chat_fn answers asynchronously. Use the async call, the one with an a in front: aask.")
