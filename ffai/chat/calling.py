"""Calling a client, whatever it is: the one place that knows which methods it may have.

Optional methods count where the client has them. A mock invents any attribute that it is asked for, so with a mock only
those count that were set on it.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ffai.chat.reply import ChatReply, as_reply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.errors import ArgumentTypeError, ClientError
from ffai.typing import Prompt


def check_client(client: object) -> None:
    """Check that an object is a chat client.

    Raises:
        ArgumentTypeError: it has no ``generate_response``.

    Examples:
        >>> check_client("gpt-4o")
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: `client` must have a generate_response(prompt, **kwargs) method; str has none.
    """
    if not callable(getattr(client, "generate_response", None)):
        raise ArgumentTypeError(
            f"`client` must have a generate_response(prompt, **kwargs) method; {type(client).__name__} has none."
        )


def method(client: object, name: str) -> Callable[..., Any] | None:
    """Return an optional method of a client, or ``None``.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> method(FakeClient(), "no_such_method") is None
        True
    """
    found: Any = getattr(client, name, None)
    invented = type(found).__module__ == "unittest.mock" and inspect.getattr_static(client, name, None) is None
    return found if callable(found) and not invented else None


def takes_messages(client: Any) -> bool:
    """Tell whether a client can be told a conversation: one that keeps its own, and a chain whose members all do.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> takes_messages(FakeClient())
        True
    """
    chain: Any = getattr(client, "takes_messages", None)
    return method(client, "set_conversation_history") is not None and chain is not False


def cloned(client: Any) -> Any:
    """Return a client with the same settings and no conversation; one that keeps none is its own clone.

    Raises:
        ArgumentTypeError: it keeps a conversation and has no ``clone()``: two who use it would hear each other.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = FakeClient()
        >>> _ = client.generate_response("Where is the key?")
        >>> len(client.get_conversation_history()), len(cloned(client).get_conversation_history())
        (2, 0)
    """
    if clone := method(client, "clone"):
        return clone()
    if method(client, "get_conversation_history") or method(client, "set_conversation_history"):
        raise ArgumentTypeError(
            f"{type(client).__name__} keeps a conversation and has no clone(): people with scopes of their own would "
            "hear each other. Give it a clone() that returns a client with the same settings and no conversation."
        )
    return client


def call(client: Any, prompt: Prompt, **kwargs: Any) -> ChatReply:
    """Ask a client and wait.

    Args:
        client: any chat client.
        prompt: a checked prompt.
        kwargs: handed to the client's ``generate_response``.

    Raises:
        ArgumentTypeError: the client is asynchronous; names the async method.
        ClientError: the answer is not a reply.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> call(FakeClient(["Under the mat."]), "Where is the key?").text
        'Under the mat.'
    """
    return as_reply(client.generate_response(prompt, **kwargs), client, kwargs.get("model"))


async def acall(client: Any, prompt: Prompt, **kwargs: Any) -> ChatReply:
    """Ask a client and await its reply: its own async method, else a coroutine one, else the sync one in a thread.

    Examples:
        >>> import asyncio
        >>> from ffai.testing import FakeClient
        >>> asyncio.run(acall(FakeClient(["Under the mat."]), "Where is the key?")).text
        'Under the mat.'
    """
    own = method(client, "agenerate_response")
    if own is not None:
        answer = own(prompt, **kwargs)
    elif _is_async(client):
        answer = client.generate_response(prompt, **kwargs)
    else:
        answer = await _beside(partial(client.generate_response, prompt, **kwargs))
    return as_reply(await answer if inspect.isawaitable(answer) else answer, client, kwargs.get("model"))


def stream(client: Any, prompt: Prompt, **kwargs: Any) -> ReplyStream:
    """Ask a client for its reply in pieces; the whole reply is one piece where it has no stream.

    Raises:
        ArgumentTypeError: the client only streams asynchronously; names the async method.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> pieces = stream(FakeClient(["Under the mat."]), "Where is the key?")
        >>> list(pieces), pieces.reply.text
        (['Under ', 'the ', 'mat.'], 'Under the mat.')
    """
    own = method(client, "stream_response")
    if own is None:
        if _is_async(client):
            raise _only_async(client)
        whole = _Whole(lambda: call(client, prompt, **kwargs))
        return ReplyStream(whole.pieces(), whole.finish)
    source = own(prompt, **kwargs)
    if isinstance(source, AsyncIterable) or inspect.isawaitable(source):
        if inspect.iscoroutine(source):
            source.close()
        raise _only_async(client)
    if not isinstance(source, Iterable) or isinstance(source, str):
        raise _odd(source)
    return ReplyStream(iter(source), lambda text: _streamed(source, text, client, kwargs.get("model")))


def astream(client: Any, prompt: Prompt, **kwargs: Any) -> AsyncReplyStream:
    """Ask a client for its reply in pieces, as `stream` does, without blocking the loop.

    Examples:
        >>> import asyncio
        >>> from ffai.testing import FakeClient
        >>> async def read():
        ...     return [piece async for piece in astream(FakeClient(["Under the mat."]), "Where is the key?")]
        >>> asyncio.run(read())
        ['Under ', 'the ', 'mat.']
    """
    own, sync = method(client, "astream_response"), False
    if own is None:
        own, sync = method(client, "stream_response"), not _is_async(client)
    if own is None:
        whole = _Whole(lambda: acall(client, prompt, **kwargs))
        return AsyncReplyStream(whole.apieces(), whole.finish)
    opened = _Opened(partial(own, prompt, **kwargs), in_thread=sync)
    return AsyncReplyStream(opened.pieces(), lambda text: _streamed(opened.source, text, client, kwargs.get("model")))


class _Whole:
    """A reply that comes as one piece."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask
        self._reply: ChatReply | None = None

    def pieces(self) -> Iterator[str]:
        self._reply = self._ask()
        yield self._reply.text

    async def apieces(self) -> AsyncIterator[str]:
        self._reply = reply = await self._ask()
        yield reply.text

    def finish(self, text: str) -> ChatReply:
        return self._reply or ChatReply(text=text)


class _Opened:
    """A client's stream of either kind, read without blocking the loop."""

    def __init__(self, ask: Callable[[], Any], *, in_thread: bool) -> None:
        self._ask, self._in_thread = ask, in_thread
        self.source: Any = None

    async def pieces(self) -> AsyncIterator[Any]:
        source = await _beside(self._ask) if self._in_thread else self._ask()
        self.source = source = await source if inspect.isawaitable(source) else source
        if isinstance(source, AsyncIterable):
            pieces = aiter(source)
        elif isinstance(source, Iterable) and not isinstance(source, str):
            pieces = _from_thread(iter(source))
        else:
            raise _odd(source)
        try:
            async for piece in pieces:
                yield piece
        finally:
            close = getattr(pieces, "aclose", None)
            if callable(close):
                await close()


async def _from_thread(pieces: Iterator[Any]) -> AsyncIterator[Any]:
    """Take pieces in a thread, one at a time; when the reader goes, end the source after the piece under way."""
    end = object()
    lock = threading.Lock()  # a generator that runs can't be closed

    def take() -> Any:
        with lock:
            return next(pieces, end)

    def close() -> None:
        with lock:
            shut = getattr(pieces, "close", None)
            if callable(shut):
                shut()

    try:
        while (piece := await _beside(take)) is not end:
            yield piece
    finally:
        from asyncio import get_running_loop

        get_running_loop().run_in_executor(None, close)


async def _beside(work: Callable[[], Any]) -> Any:
    """Do blocking work in a thread, beside the loop."""
    from asyncio import to_thread  # here, so that `import ffai` need not load asyncio

    return await to_thread(work)


def _streamed(source: object, text: str, client: object, asked: object) -> ChatReply:
    """Return the whole reply of a stream: its own where it has one, else its text and the client's last usage."""
    own = getattr(source, "reply", None)
    return own if isinstance(own, ChatReply) else as_reply(text, client, asked)


def _is_async(client: Any) -> bool:
    return inspect.iscoroutinefunction(client.generate_response)


def _only_async(client: object) -> ArgumentTypeError:
    return ArgumentTypeError(f"{type(client).__name__} answers asynchronously. Use astream_response instead.")


def _odd(source: object) -> ClientError:
    return ClientError(f"stream_response must give an iterator of text pieces, not {type(source).__name__}.")
