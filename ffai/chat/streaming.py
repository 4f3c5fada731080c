"""A reply that arrives in pieces of text, and is whole at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from ffai._text import clean_text
from ffai.chat.reply import ChatReply
from ffai.errors import ClientError

Finish = Callable[[str], ChatReply]
"""Makes the whole reply from the text of all pieces, once they have come."""


class Transcript:
    """What has arrived of a reply.

    Args:
        finish: makes the reply at the end.

    Examples:
        >>> transcript = Transcript(lambda text: ChatReply(text=text))
        >>> transcript.take("Under "), transcript.take("the mat.")
        ('Under ', 'the mat.')
        >>> transcript.complete()
        >>> transcript.reply.text
        'Under the mat.'
    """

    def __init__(self, finish: Finish) -> None:
        self._finish = finish
        self._pieces: list[str] = []
        self._half = ""
        self._reply: ChatReply | None = None

    def take(self, piece: object) -> str:
        """Note a piece; return the text to hand on, which may be empty.

        Raises:
            ClientError: the piece is not text.
        """
        if piece is None:
            return ""
        if not isinstance(piece, str):
            raise ClientError(f"A stream must give pieces of text, not {type(piece).__name__}.")
        text = self._half + piece
        # A character cut in two: its second half comes with the next piece.
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return self._keep(clean_text(text[:-1] if self._half else text))

    def rest(self) -> str:
        """Return what is left to hand on when no more pieces come."""
        half, self._half = self._half, ""
        return self._keep(clean_text(half))

    def complete(self) -> None:
        """Make the reply: all pieces have come."""
        self._reply = self._finish(self.text)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    @property
    def reply(self) -> ChatReply:
        """The whole reply.

        Raises:
            ClientError: the stream has not ended yet, or was cut.
        """
        if self._reply is None:
            raise ClientError(
                f"The reply is not complete: {len(self.text)} characters have come. Read the stream to its end first."
            )
        return self._reply

    def _keep(self, text: str) -> str:
        if text:
            self._pieces.append(text)
        return text


class ReplyStream(Iterator[str]):
    """A reply as an iterator over pieces of text; ``reply`` has the whole once it has ended.

    Nothing is asked of the model before the first piece is.

    Args:
        pieces: the pieces as they come; those without text are left out.
        finish: makes the reply at the end; it sees all text.

    Examples:
        >>> stream = ReplyStream(iter(["Under ", "the mat."]), lambda text: ChatReply(text=text, model="fake"))
        >>> list(stream), stream.reply.model
        (['Under ', 'the mat.'], 'fake')
    """

    def __init__(self, pieces: Iterator[Any], finish: Finish) -> None:
        self._transcript = Transcript(finish)
        self._source = pieces
        self._started: list[str] = []
        self._pieces = self._run()

    @classmethod
    def opened_by(cls, begin: Callable[[], ReplyStream]) -> ReplyStream:
        """Return a stream that is another one, begun when the first piece is asked for.

        Examples:
            >>> stream = ReplyStream.opened_by(lambda: ReplyStream(iter(["hello"]), lambda text: ChatReply(text=text)))
            >>> list(stream), stream.reply.text
            (['hello'], 'hello')
        """
        begun: list[ReplyStream] = []

        def pieces() -> Iterator[str]:
            begun.append(begin())
            yield from begun[0]

        return cls(pieces(), lambda _: begun[0].reply)

    def __iter__(self) -> ReplyStream:
        return self

    def __next__(self) -> str:
        return self._started.pop() if self._started else next(self._pieces)

    def start(self) -> ReplyStream:
        """Wait for the first piece and keep it, so that a call which fails, fails here."""
        if not self._started and not self._transcript.text:
            self._started = [piece for piece in (next(self._pieces, None),) if piece is not None]
        return self

    def close(self) -> None:
        """End the stream early; the reply stays incomplete."""
        self._pieces.close()
        _end(self._source, "close")

    @property
    def text(self) -> str:
        """The text so far."""
        return self._transcript.text

    @property
    def reply(self) -> ChatReply:
        """The whole reply; a `ClientError` before the stream has ended."""
        return self._transcript.reply

    def _run(self) -> Any:
        for piece in self._source:
            if text := self._transcript.take(piece):
                yield text
        if text := self._transcript.rest():
            yield text
        self._transcript.complete()


class AsyncReplyStream(AsyncIterator[str]):
    """The async twin of `ReplyStream`.

    Examples:
        >>> import asyncio
        >>> async def pieces():
        ...     yield "Under "
        ...     yield "the mat."
        >>> async def read():
        ...     stream = AsyncReplyStream(pieces(), lambda text: ChatReply(text=text))
        ...     return [piece async for piece in stream], stream.reply.text
        >>> asyncio.run(read())
        (['Under ', 'the mat.'], 'Under the mat.')
    """

    def __init__(self, pieces: AsyncIterator[Any], finish: Finish) -> None:
        self._transcript = Transcript(finish)
        self._source = pieces
        self._started: list[str] = []
        self._pieces = self._run()

    @classmethod
    def opened_by(cls, begin: Callable[[], Awaitable[AsyncReplyStream]]) -> AsyncReplyStream:
        """Return a stream that is another one, begun when the first piece is asked for."""
        begun: list[AsyncReplyStream] = []

        async def pieces() -> AsyncIterator[str]:
            begun.append(await begin())
            try:
                async for piece in begun[0]:
                    yield piece
            finally:
                await begun[0].aclose()

        return cls(pieces(), lambda _: begun[0].reply)

    def __aiter__(self) -> AsyncReplyStream:
        return self

    async def __anext__(self) -> str:
        return self._started.pop() if self._started else await anext(self._pieces)

    async def start(self) -> AsyncReplyStream:
        """Wait for the first piece and keep it, so that a call which fails, fails here."""
        if not self._started and not self._transcript.text:
            self._started = [piece for piece in (await anext(self._pieces, None),) if piece is not None]
        return self

    async def aclose(self) -> None:
        """End the stream early; the reply stays incomplete."""
        await self._pieces.aclose()
        ending = _end(self._source, "aclose")
        if ending is not None:
            await ending

    @property
    def text(self) -> str:
        """The text so far."""
        return self._transcript.text

    @property
    def reply(self) -> ChatReply:
        """The whole reply; a `ClientError` before the stream has ended."""
        return self._transcript.reply

    async def _run(self) -> Any:
        async for piece in self._source:
            if text := self._transcript.take(piece):
                yield text
        if text := self._transcript.rest():
            yield text
        self._transcript.complete()


def _end(source: object, method: str) -> Awaitable[None] | None:
    """Tell a source that has a way to end early that nobody reads on."""
    end = getattr(source, method, None)
    return end() if callable(end) else None
