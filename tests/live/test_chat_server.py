"""The clients against a real chat model behind a real server."""

from __future__ import annotations

import asyncio

import pytest

from ffai.clients import AsyncLiteLLMClient, FallbackClient, LiteLLMClient, RetryPolicy
from ffai.errors import AllClientsFailedError
from tests.doubles.chat_server import ChatServer

pytestmark = pytest.mark.live

QUESTION = "What is the capital of France? Answer in one short sentence."
ONCE = RetryPolicy(max_attempts=1)


@pytest.fixture
def settings(chat_server: ChatServer) -> dict[str, object]:
    return {"api_base": chat_server.api_base, "api_key": chat_server.api_key, "temperature": 0, "max_tokens": 24}


def test_a_question_is_answered_and_usage_recorded(chat_server: ChatServer, settings: dict[str, object]) -> None:
    client = LiteLLMClient(chat_server.model, settings)
    reply = client.generate_response(QUESTION)
    assert "Paris" in reply.text
    assert (reply.model, reply.finish_reason) == ("smollm2", "stop")
    assert reply.usage is not None
    assert reply.usage.input_tokens > 10
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens
    assert client.last_usage == reply.usage
    assert client.last_cost_usd is None  # nobody knows the price of this model


def test_the_model_sees_the_conversation(chat_server: ChatServer, settings: dict[str, object]) -> None:
    client = LiteLLMClient(chat_server.model, settings)
    first = client.generate_response(QUESTION)
    second = client.generate_response("Say that again.")
    assert second.usage.input_tokens > first.usage.total_tokens
    assert [message["role"] for message in client.get_conversation_history()] == ["user", "assistant"] * 2


def test_a_stream_gives_pieces_then_the_whole_with_its_usage(
    chat_server: ChatServer, settings: dict[str, object]
) -> None:
    client = LiteLLMClient(chat_server.model, settings)
    stream = client.stream_response(QUESTION)
    pieces = list(stream)
    assert len(pieces) > 3
    assert "".join(pieces) == stream.reply.text
    assert "Paris" in stream.reply.text
    assert stream.reply.usage == client.last_usage
    assert stream.reply.usage.output_tokens >= len(pieces) - 1
    assert client.get_conversation_history()[-1]["content"] == stream.reply.text


async def test_calls_run_side_by_side_in_one_loop(chat_server: ChatServer, settings: dict[str, object]) -> None:
    client = AsyncLiteLLMClient(chat_server.model, settings)
    replies = await asyncio.gather(*(client.clone().generate_response(QUESTION) for _ in range(3)))
    assert all("Paris" in reply.text and reply.usage for reply in replies)


async def test_an_async_stream_gives_the_same_as_a_sync_one(
    chat_server: ChatServer, settings: dict[str, object]
) -> None:
    stream = AsyncLiteLLMClient(chat_server.model, settings).stream_response(QUESTION)
    text = "".join([piece async for piece in stream])
    assert text == stream.reply.text == LiteLLMClient(chat_server.model, settings).generate_response(QUESTION).text
    assert stream.reply.usage is not None


def test_one_client_serves_several_event_loops_and_sync_calls(
    chat_server: ChatServer, settings: dict[str, object]
) -> None:
    client = LiteLLMClient(chat_server.model, {**settings, "max_tokens": 4})
    for _ in range(2):
        assert asyncio.run(client.agenerate_response("Hello")).text
        assert client.generate_response("Hello").text
    assert len(client.get_conversation_history()) == 8


def test_a_dead_server_falls_back_to_a_living_one(
    chat_server: ChatServer, settings: dict[str, object], dead_server: str
) -> None:
    client = LiteLLMClient(
        "openai/gone",
        api_base=dead_server,
        api_key="the key of the dead one",
        fallbacks=[{"model": chat_server.model, **settings}],
    )
    reply = client.generate_response(QUESTION)
    assert "Paris" in reply.text
    assert (client.model, reply.model) == ("gone", "smollm2")
    assert reply.usage is not None
    assert [message["role"] for message in client.get_conversation_history()] == ["user", "assistant"]


def test_a_stream_and_an_async_call_fall_back_too(
    chat_server: ChatServer, settings: dict[str, object], dead_server: str
) -> None:
    dead = LiteLLMClient("openai/gone", api_base=dead_server, api_key="x", retry=ONCE)
    client = FallbackClient([dead, LiteLLMClient(chat_server.model, settings)])
    assert "Paris" in "".join(client.stream_response(QUESTION))
    assert asyncio.run(client.agenerate_response("Say that again.")).text

    async def read() -> str:
        return "".join([piece async for piece in client.astream_response("And again.")])

    assert asyncio.run(read())
    assert len(client.get_conversation_history()) == 6


def test_when_all_servers_are_dead_the_error_names_each(dead_server: str) -> None:
    client = LiteLLMClient("openai/a", api_base=dead_server, api_key="x", fallbacks=["openai/b"], retry=ONCE)
    with pytest.raises(AllClientsFailedError, match=r"All 2 models failed\. a: .*; b: ") as caught:
        client.generate_response(QUESTION)
    assert caught.value.__cause__ is caught.value.errors[0][1]
    assert client.get_conversation_history() == []


def test_a_json_schema_is_kept_to(chat_server: ChatServer, settings: dict[str, object]) -> None:
    import json

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    reply = LiteLLMClient(chat_server.model, {**settings, "max_tokens": 60}).generate_response(
        QUESTION, response_format={"type": "json_schema", "json_schema": {"name": "city", "schema": schema}}
    )
    assert set(json.loads(reply.text)) >= {"city"}
