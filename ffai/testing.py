"""Doubles for tests of code that uses ffai: no network, no model, the same answers each time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ffai.chat.conversation import Conversation
from ffai.chat.message import check_prompt
from ffai.chat.reply import TokenUsage, as_reply
from ffai.core.turn import text_of
from ffai.errors import ClientError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ffai.typing import Prompt


class FakeEmbedder:
    """An embedder whose vectors are hashed words: texts that share words are close.

    Args:
        dimensions: length of the vectors, in numbers.
        model: the name it goes by.
        delay: seconds that each call takes.
        max_words: words of a text that it reads; the rest is ignored, as real models do.
        fail: called with each text; an exception that it returns is raised for the whole call.

    Attributes:
        calls: the lists of texts it was given, in order.
        gate: an event each call waits for; set at the start.

    Examples:
        >>> embedder = FakeEmbedder()
        >>> a, b, c = embedder.embed(["red house", "the house is red", "blue boat"])
        >>> bool(a @ b > a @ c)
        True
    """

    concurrent = True
    """Any number of threads may call it at once."""

    def __init__(
        self,
        dimensions: int = 64,
        *,
        model: str = "fake/hashed-words",
        delay: float = 0.0,
        max_words: int | None = None,
        fail: Callable[[str], Exception | None] | None = None,
    ) -> None:
        self.dimensions, self.model, self.delay = dimensions, model, delay
        self.max_words, self.fail = max_words, fail
        self.calls: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one unit vector per text: shape ``(len(texts), dimensions)``."""
        import numpy as np

        self.calls.append(list(texts))
        self.gate.wait()
        if self.delay:
            time.sleep(self.delay)
        for error in map(self.fail, texts) if self.fail else ():
            if error is not None:
                raise error
        return np.stack([self._vector(_words(text)[: self.max_words]) for text in texts])

    def _vector(self, words: Iterable[str]) -> NDArray[np.float32]:
        import numpy as np

        vector = np.full(self.dimensions, 1e-3, dtype=np.float32)  # a text without words is not a zero vector
        for word in words:
            digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(self.dimensions // 8 + 1)
            bits = np.unpackbits(np.frombuffer(digest, np.uint8))[: self.dimensions]
            vector += 2.0 * bits - 1.0
        return vector / np.linalg.norm(vector)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@dataclass(frozen=True, slots=True)
class FakeCall:
    """One call of a `FakeClient`."""

    prompt: Prompt
    options: Mapping[str, Any]
    """The keyword arguments it came with."""
    so_far: Callable[[], Sequence[dict[str, Any]]] = field(default=tuple, repr=False, compare=False)
    """Reads the conversation: ten thousand calls that each hold a copy of it would be fifty million messages."""

    @property
    def conversation(self) -> tuple[dict[str, Any], ...]:
        """The messages that went along with the prompt, oldest first."""
        return tuple(self.so_far())


class FakeClient:
    """A chat client whose replies are written down: no network, no model, the same cost at every call.

    With no replies left it answers ``"Reply to: "`` and the text of the prompt.

    Args:
        replies: given one a call, in order. Text or a `ChatReply` is returned; an exception is raised; a callable is
            called with the prompt, and what it gives counts. An iterator of text is a stream's pieces; it may raise
            midway. Anything else is returned as it is, reply or not.
        model: the name it goes by.
        delay: seconds that each call takes.
        usage: tokens that it says each call used.
        cost_usd: price that it says each call has.
        system_instructions: kept, and not used.

    Attributes:
        calls: the prompts it was given and their options, in order, also those of calls that failed.

    Examples:
        >>> client = FakeClient(["Under the mat.", TimeoutError("too slow")])
        >>> client.generate_response("Where is the key?")
        'Under the mat.'
        >>> client.generate_response("And the cat?")
        Traceback (most recent call last):
        TimeoutError: too slow
        >>> client.generate_response("And the dog?")
        'Reply to: And the dog?'
        >>> list(client.stream_response("Hello you"))
        ['Reply ', 'to: ', 'Hello ', 'you']
    """

    def __init__(
        self,
        replies: Iterable[Any] = (),
        *,
        model: str = "fake-model",
        delay: float = 0.0,
        usage: TokenUsage | None = None,
        cost_usd: float | None = None,
        system_instructions: str | None = None,
    ) -> None:
        self.model, self.delay, self.system_instructions = model, delay, system_instructions
        self.last_usage, self.last_cost_usd = usage, cost_usd
        self.calls: list[FakeCall] = []
        self._replies = deque(replies)
        self._conversation = Conversation()

    def add_replies(self, *replies: Any) -> None:
        """Write down more replies, after those that are left."""
        self._replies.extend(replies)

    def generate_response(self, prompt: Prompt, **options: Any) -> Any:
        """Give the next reply, as it was written down."""
        reply = self._next(prompt, options)
        self._sleep()
        return self._answer(prompt, reply)

    async def agenerate_response(self, prompt: Prompt, **options: Any) -> Any:
        """The async twin of `generate_response`."""
        reply = self._next(prompt, options)
        await asyncio.sleep(self.delay)
        return self._answer(prompt, reply)

    def stream_response(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        """Give the next reply word by word."""
        check_prompt(prompt)
        return self._stream(prompt, options)

    def astream_response(self, prompt: Prompt, **options: Any) -> AsyncIterator[str]:
        """The async twin of `stream_response`."""
        check_prompt(prompt)
        return self._astream(prompt, options)

    def get_conversation_history(self) -> list[dict[str, Any]]:
        """Return a copy of the messages exchanged so far."""
        return self._conversation.messages()

    def set_conversation_history(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Put other messages in the place of those exchanged so far."""
        self._conversation.replace(messages)

    def clear_conversation(self) -> None:
        """Forget the messages exchanged so far."""
        self._conversation.replace(())

    def add_tool_result(self, tool_call_id: str, content: str) -> None:
        """Note what a tool gave."""
        self._conversation.add_tool_result(tool_call_id, content)

    def clone(self) -> FakeClient:
        """Return a client with no conversation; the replies that are left and the calls are those of both."""
        clone = FakeClient(
            model=self.model,
            delay=self.delay,
            usage=self.last_usage,
            cost_usd=self.last_cost_usd,
            system_instructions=self.system_instructions,
        )
        clone._replies, clone.calls = self._replies, self.calls
        return clone

    def _next(self, prompt: Prompt, options: Mapping[str, Any]) -> Any:
        checked = check_prompt(prompt)
        self.calls.append(FakeCall(checked, options, self._conversation.so_far()))
        try:
            reply = self._replies.popleft()
        except IndexError:
            reply = f"Reply to: {text_of(checked)}"
        if callable(reply) and not isinstance(reply, type):
            reply = reply(prompt)
        return reply

    def _answer(self, prompt: Prompt, reply: Any) -> Any:
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, Iterator):
            reply = "".join(reply)
        with contextlib.suppress(ClientError):  # what is no reply leaves no turn
            if not inspect.isawaitable(reply):
                self._conversation.add_turn(prompt, as_reply(reply, self))
        return reply

    def _stream(self, prompt: Prompt, options: Mapping[str, Any]) -> Iterator[str]:
        reply = self._next(prompt, options)
        self._sleep()
        yield from self._pieces(prompt, reply)

    async def _astream(self, prompt: Prompt, options: Mapping[str, Any]) -> AsyncIterator[str]:
        reply = self._next(prompt, options)
        await asyncio.sleep(self.delay)
        for piece in self._pieces(prompt, reply):
            yield piece

    def _pieces(self, prompt: Prompt, reply: Any) -> Iterator[str]:
        if isinstance(reply, Iterator):
            pieces = []
            for piece in reply:
                pieces.append(piece)
                yield piece
            self._answer(prompt, "".join(pieces))
        else:
            text = as_reply(self._answer(prompt, reply), self).text
            yield from re.findall(r"\S+\s*|\s+", text)

    def _sleep(self) -> None:
        if self.delay:
            time.sleep(self.delay)


class AsyncFakeClient:
    """A `FakeClient` that only answers asynchronously: its ``generate_response`` is a coroutine.

    Examples:
        >>> asyncio.run(AsyncFakeClient(["Under the mat."]).generate_response("Where is the key?"))
        'Under the mat.'
    """

    def __init__(self, replies: Iterable[Any] = (), **settings: Any) -> None:
        self._fake = FakeClient(replies, **settings)

    async def generate_response(self, prompt: Prompt, **options: Any) -> Any:
        """Give the next reply, as it was written down."""
        return await self._fake.agenerate_response(prompt, **options)

    def stream_response(self, prompt: Prompt, **options: Any) -> AsyncIterator[str]:
        """Give the next reply word by word, for ``async for``."""
        return self._fake.astream_response(prompt, **options)

    def clone(self) -> AsyncFakeClient:
        """Return a client with no conversation; the replies that are left and the calls are those of both."""
        copy = AsyncFakeClient()
        copy._fake = self._fake.clone()
        return copy

    def __getattr__(self, name: str) -> Any:
        if name in ("_fake", "agenerate_response", "astream_response"):
            raise AttributeError(name)
        return getattr(self._fake, name)
