"""The shipped double of a chat client behaves as a real one, on request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ffai.chat import ChatReply, TokenUsage
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import AsyncFakeClient, FakeClient


def test_replies_come_in_order_then_the_prompt_is_repeated() -> None:
    client = FakeClient(["one", ChatReply(text="two")])
    client.add_replies(None)
    assert client.generate_response("1?") == "one"
    assert client.generate_response("2?") == ChatReply(text="two")
    assert client.generate_response("3?") is None
    assert client.generate_response("Hello") == "Reply to: Hello"


@pytest.mark.parametrize("odd", [{"a": 1}, [1, 2], 3, object()])
def test_what_is_no_reply_is_returned_as_it_is(odd: Any) -> None:
    assert FakeClient([odd]).generate_response("Hi") is odd


def test_an_error_is_raised_and_the_call_is_noted() -> None:
    client = FakeClient([TimeoutError("slow"), "fine"])
    with pytest.raises(TimeoutError):
        client.generate_response("Hi", temperature=0)
    assert [(call.prompt, call.options) for call in client.calls] == [("Hi", {"temperature": 0})]
    assert client.get_conversation_history() == []
    assert client.generate_response("Hi") == "fine"


def test_a_callable_sees_the_prompt_and_may_raise() -> None:
    def angry(prompt: Any) -> str:
        raise PermissionError(prompt)

    client = FakeClient([lambda prompt: prompt.upper(), angry])
    assert client.generate_response("hi") == "HI"
    with pytest.raises(PermissionError, match="hi"):
        client.generate_response("hi")


def test_a_stream_gives_words_and_keeps_the_turn_at_its_end() -> None:
    client = FakeClient(["  two words\n"])
    pieces = client.stream_response("Hi")
    assert "".join(pieces) == "  two words\n"
    assert client.get_conversation_history()[1]["content"] == "  two words\n"


def test_pieces_can_be_written_down_and_break() -> None:
    def broken() -> Iterator[str]:
        yield "half"
        raise ConnectionError

    client = FakeClient([iter(["a", "b c"]), broken()])
    assert list(client.stream_response("Hi")) == ["a", "b c"]
    pieces = client.stream_response("Hi")
    assert next(pieces) == "half"
    with pytest.raises(ConnectionError):
        next(pieces)
    assert len(client.get_conversation_history()) == 2


def test_a_stream_checks_its_prompt_at_once_and_takes_a_reply_late() -> None:
    client = FakeClient(["one"])
    for ask in (client.stream_response, client.astream_response, client.generate_response):
        with pytest.raises(InvalidArgumentError):
            ask(" ")
        with pytest.raises(ArgumentTypeError):
            ask(3)  # type: ignore[arg-type]
    client.stream_response("unread")
    assert client.generate_response("Hi") == "one"


def test_the_conversation_can_be_read_set_cleared_and_cloned() -> None:
    client = FakeClient(["one", "two", "three"], model="m", usage=TokenUsage(1, 2, 3))
    client.generate_response("1?")
    client.add_tool_result("call_1", "3")
    clone = client.clone()
    assert [message["role"] for message in client.get_conversation_history()] == ["user", "assistant", "tool"]
    assert (clone.get_conversation_history(), clone.model, clone.last_usage) == ([], "m", TokenUsage(1, 2, 3))
    assert (clone.generate_response("2?"), client.generate_response("3?")) == ("two", "three")
    assert [call.prompt for call in clone.calls] == [call.prompt for call in client.calls] == ["1?", "2?", "3?"]
    client.set_conversation_history([{"role": "user", "content": "Hi"}])
    assert len(client.get_conversation_history()) == 1
    client.clear_conversation()
    assert client.get_conversation_history() == []


def test_the_async_client_answers_only_when_awaited() -> None:
    async def talk() -> list[Any]:
        client = AsyncFakeClient(["one", "two words"], model="m")
        first = await client.generate_response("1?", top_p=1)
        pieces = [piece async for piece in client.stream_response("2?")]
        assert not hasattr(client, "agenerate_response")
        return [first, pieces, client.model, client.calls[0].options, len(client.clone().get_conversation_history())]

    assert asyncio.run(talk()) == ["one", ["two ", "words"], "m", {"top_p": 1}, 0]
