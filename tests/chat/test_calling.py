"""Any object with generate_response is a client, whichever way it answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from ffai.chat import ChatReply, TokenUsage, ToolCall, acall, astream, call, check_client, stream
from ffai.errors import ArgumentTypeError, ClientError
from ffai.testing import AsyncFakeClient, FakeClient


class Plain:
    """The least a client is."""

    model = "plain"

    def generate_response(self, prompt: Any, **kwargs: Any) -> Any:
        return f"{prompt} {sorted(kwargs)} {threading.current_thread() is threading.main_thread()}"


class OnlyAsync:
    model = "async"

    async def generate_response(self, prompt: Any, **kwargs: Any) -> str:
        return f"late {prompt}"


class AsyncStreamer(OnlyAsync):
    async def stream_response(self, prompt: Any, **kwargs: Any) -> AsyncIterator[str]:
        yield "late "
        yield str(prompt)


async def read(pieces: Any) -> list[str]:
    return [piece async for piece in pieces]


@pytest.mark.parametrize("wrong", [None, "gpt-4o", 3, SimpleNamespace(generate_response="text"), Plain().model])
def test_what_cannot_generate_is_no_client(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="`client` must have a generate_response"):
        check_client(wrong)


def test_options_reach_the_client() -> None:
    assert call(Plain(), "Hi", temperature=0, tools=[]).text == "Hi ['temperature', 'tools'] True"


def test_a_sync_call_on_a_coroutine_client_names_the_async_one(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(TypeError, match="agenerate_response"):
        call(OnlyAsync(), "Hi")
    with pytest.raises(TypeError, match="agenerate_response"):
        call(AsyncFakeClient(), "Hi")
    assert not recwarn.list


async def test_an_async_call_uses_the_clients_own_then_a_coroutine_then_a_thread() -> None:
    own = FakeClient(["own"])
    assert (await acall(own, "Hi", top_p=1)).text == "own"
    assert own.calls[0].options == {"top_p": 1}
    assert (await acall(OnlyAsync(), "Hi")).text == "late Hi"
    assert (await acall(Plain(), "Hi")).text == "Hi [] False"


async def test_a_blocking_client_does_not_block_the_loop() -> None:
    answered = threading.Event()
    client = Plain()
    client.generate_response = lambda prompt: answered.wait(10) and "done"  # type: ignore[method-assign]
    waiting = asyncio.create_task(acall(client, "Hi"))
    await asyncio.sleep(0)
    answered.set()
    assert (await waiting).text == "done"


def test_a_stream_is_read_piece_by_piece_and_whole_at_the_end() -> None:
    pieces = stream(FakeClient(["Under the mat."], usage=TokenUsage(7, 5, 12), cost_usd=0.5), "Where?")
    with pytest.raises(ClientError, match="not complete"):
        _ = pieces.reply
    assert next(pieces) == "Under "
    assert pieces.text == "Under "
    assert list(pieces) == ["the ", "mat."]
    assert pieces.reply == ChatReply(
        text="Under the mat.", usage=TokenUsage(7, 5, 12), cost_usd=0.5, model="fake-model"
    )


def test_without_a_stream_the_reply_is_one_piece_and_asked_for_late() -> None:
    tools = (ToolCall("call_1", "add", "{}"),)
    client = MagicMock()
    client.generate_response.return_value = ChatReply(text="whole", tool_calls=tools)
    pieces = stream(client, "Hi")
    client.generate_response.assert_not_called()
    assert list(pieces) == ["whole"]
    assert pieces.reply.tool_calls == tools


async def test_an_async_stream_takes_every_kind_of_client() -> None:
    assert await read(astream(FakeClient(["Under the mat."]), "Hi")) == ["Under ", "the ", "mat."]
    assert await read(astream(AsyncFakeClient(["Under the mat."]), "Hi")) == ["Under ", "the ", "mat."]
    assert await read(astream(AsyncStreamer(), "Hi")) == ["late ", "Hi"]
    assert await read(astream(OnlyAsync(), "Hi")) == ["late Hi"]
    assert await read(astream(Plain(), "Hi")) == ["Hi [] False"]


async def test_a_sync_stream_is_read_beside_the_loop() -> None:
    may_go_on = threading.Event()

    class SyncStreamer(Plain):
        def stream_response(self, prompt: Any) -> Iterator[str]:
            yield "one"
            may_go_on.wait(10)
            yield "two"

    reading = asyncio.create_task(read(astream(SyncStreamer(), "Hi")))
    await asyncio.sleep(0)
    may_go_on.set()
    assert await reading == ["one", "two"]


async def test_leaving_a_sync_stream_early_ends_it() -> None:
    ended = threading.Event()

    class SyncStreamer(Plain):
        def stream_response(self, prompt: Any) -> Iterator[str]:
            try:
                yield "one"
                yield "two"
            finally:
                ended.set()

    pieces = astream(SyncStreamer(), "Hi")
    assert await anext(pieces) == "one"
    await pieces.aclose()
    assert await asyncio.to_thread(ended.wait, 10)
    with pytest.raises(ClientError, match="not complete: 3 characters"):
        _ = pieces.reply


def test_leaving_a_stream_early_ends_it() -> None:
    pieces = stream(FakeClient(["Under the mat."]), "Hi")
    next(pieces)
    pieces.close()
    assert list(pieces) == []
    assert pieces.text == "Under "


@pytest.mark.parametrize("client", [OnlyAsync(), AsyncStreamer(), AsyncFakeClient()])
def test_a_sync_stream_of_an_async_client_names_the_async_one(client: Any) -> None:
    with pytest.raises(TypeError, match="astream_response"):
        stream(client, "Hi")


def test_a_piece_that_is_no_text_is_an_error() -> None:
    with pytest.raises(ClientError, match="pieces of text, not dict"):
        list(stream(FakeClient([iter([{"delta": "x"}])]), "Hi"))


def test_a_stream_that_is_no_iterator_is_an_error() -> None:
    client = SimpleNamespace(model="m", generate_response=str, stream_response=lambda prompt: "text")
    with pytest.raises(ClientError, match="iterator of text pieces, not str"):
        stream(client, "Hi")


def test_a_stream_that_breaks_keeps_what_came_and_has_no_reply() -> None:
    def broken() -> Iterator[str]:
        yield "half a "
        raise ConnectionResetError("gone")

    pieces = stream(FakeClient([broken()]), "Hi")
    with pytest.raises(ConnectionResetError):
        list(pieces)
    assert pieces.text == "half a "
    with pytest.raises(ClientError):
        _ = pieces.reply


def test_a_character_cut_in_two_between_pieces_arrives_whole() -> None:
    pieces = stream(FakeClient([iter(["smile \ud83d", "\ude00", " and half \ud83d"])]), "Hi")
    assert "".join(pieces) == "smile 😀 and half \ufffd" == pieces.reply.text


async def test_empty_pieces_are_left_out_and_an_empty_stream_is_an_empty_reply() -> None:
    assert list(stream(FakeClient([iter(["", "a", "", "b"])]), "Hi")) == ["a", "b"]
    empty = astream(FakeClient([iter([])]), "Hi")
    assert await read(empty) == []
    assert empty.reply.text == ""


def test_a_mock_is_a_client_without_the_methods_that_it_invents() -> None:
    client = MagicMock()
    client.generate_response.return_value = "from the mock"
    assert call(client, "Hi").text == "from the mock"
    assert list(stream(client, "Hi")) == ["from the mock"]
    assert asyncio.run(acall(client, "Hi")).text == "from the mock"
    client.agenerate_response = AsyncMock(return_value="set on it")
    assert asyncio.run(acall(client, "Hi")).text == "set on it"


def test_what_a_client_raises_comes_through() -> None:
    with pytest.raises(KeyError):
        call(FakeClient([KeyError("x")]), "Hi")
