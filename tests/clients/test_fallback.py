"""When one client fails, the next one answers, and the conversation goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ffai.chat import acall, call
from ffai.clients import FallbackClient, RetryClient, RetryPolicy
from ffai.errors import AllClientsFailedError, ArgumentTypeError, InvalidArgumentError
from ffai.testing import AsyncFakeClient, FakeClient

DOWN = ConnectionError("down")


def texts(client: Any) -> list[str]:
    return [message["content"] for message in client.get_conversation_history()]


def test_the_first_that_answers_wins_and_says_so() -> None:
    client = FallbackClient([FakeClient([DOWN], model="a"), FakeClient([DOWN], model="b"), FakeClient(model="c")])
    reply = call(client, "Hi")
    assert (reply.text, reply.model, client.model) == ("Reply to: Hi", "c", "a")


def test_the_next_call_knows_the_turn_whichever_answered() -> None:
    first, second = FakeClient(["one", DOWN, "three"]), FakeClient(["two"])
    client = FallbackClient([first, second])
    for prompt in ("1?", "2?", "3?"):
        client.generate_response(prompt)
    assert texts(client) == ["1?", "one", "2?", "two", "3?", "three"]
    assert texts(first) == texts(client)
    assert texts(second) == ["1?", "one", "2?", "two"]


def test_a_client_without_a_conversation_can_stand_in() -> None:
    class Plain:
        model = "plain"

        def generate_response(self, prompt: Any, **kwargs: Any) -> str:
            return "from plain"

    first = FakeClient([DOWN, "back"])
    client = FallbackClient([first, Plain()])
    client.generate_response("1?")
    client.generate_response("2?")
    assert texts(first) == ["1?", "from plain", "2?", "back"]


def test_the_first_clients_conversation_is_continued() -> None:
    first = FakeClient(["one", DOWN])
    first.generate_response("1?")
    second = FakeClient(["two"])
    FallbackClient([first, second]).generate_response("2?")
    assert texts(second) == ["1?", "one", "2?", "two"]


def test_all_failing_raises_the_first_error_and_keeps_no_half_turn() -> None:
    client = FallbackClient([FakeClient([DOWN], model="a"), FakeClient([KeyError("b")], model="b")])
    with pytest.raises(
        AllClientsFailedError, match=r"All 2 models failed\. a: ConnectionError: down; b: KeyError"
    ) as caught:
        client.generate_response("Hi")
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.__cause__ is DOWN
    assert texts(client) == []


def test_one_client_alone_raises_its_own_error() -> None:
    with pytest.raises(ConnectionError):
        FallbackClient([FakeClient([DOWN])]).generate_response("Hi")


def test_keys_addresses_and_the_models_name_stay_with_the_first() -> None:
    first, second = FakeClient([DOWN], model="a"), FakeClient(model="b")
    secrets = {"api_key": "k", "api_base": "http://a", "extra_headers": {"x": "y"}, "aws_secret_access_key": "s"}
    options = {"temperature": 0.2, "max_tokens": 10, "tools": [{"type": "function"}]}
    FallbackClient([first, second]).generate_response("Hi", model="a", **secrets, **options)
    assert first.calls[0].options == {"model": "a", **secrets, **options}
    assert second.calls[0].options == options


def test_a_stream_falls_back_before_its_first_piece_only() -> None:
    def broken() -> Iterator[str]:
        yield "half "
        raise DOWN

    client = FallbackClient([FakeClient([DOWN, broken()]), FakeClient(["from the second"])])
    pieces = client.stream_response("1?")
    assert list(pieces) == ["from ", "the ", "second"]
    assert texts(client) == ["1?", "from the second"]
    pieces = client.stream_response("2?")
    assert next(pieces) == "half "
    with pytest.raises(ConnectionError):
        next(pieces)
    assert texts(client) == ["1?", "from the second"]


async def test_async_calls_and_streams_fall_back_the_same_way() -> None:
    client = FallbackClient([AsyncFakeClient([DOWN, DOWN]), FakeClient(["one", "two"])])
    assert (await acall(client, "1?")).text == "one"
    assert [piece async for piece in client.astream_response("2?")] == ["two"]
    assert texts(client) == ["1?", "one", "2?", "two"]


def test_a_sync_call_on_async_clients_names_the_async_one() -> None:
    client = FallbackClient([AsyncFakeClient(), AsyncFakeClient()])
    with pytest.raises(TypeError, match="agenerate_response"):
        client.generate_response("Hi")
    with pytest.raises(TypeError, match="astream_response"):
        list(client.stream_response("Hi"))


def test_a_wrong_prompt_is_refused_before_any_call() -> None:
    first = FakeClient()
    client = FallbackClient([first, FakeClient()])
    for ask in (client.generate_response, client.stream_response, client.astream_response):
        with pytest.raises(InvalidArgumentError, match="`prompt`"):
            ask("")
    assert first.calls == []


def test_the_conversation_is_the_chains_to_set_and_clear() -> None:
    first = FakeClient()
    client = FallbackClient([first, FakeClient()])
    client.set_conversation_history([{"role": "user", "content": "earlier"}])
    client.add_tool_result("call_1", "3")
    client.generate_response("Hi")
    assert texts(first) == ["earlier", "3", "Hi", "Reply to: Hi"]
    client.clear_conversation()
    client.generate_response("Again")
    assert texts(first) == texts(client) == ["Again", "Reply to: Again"]


def test_a_clone_has_clones_and_no_conversation() -> None:
    client = FallbackClient([FakeClient(model="a"), FakeClient(model="b")])
    client.generate_response("Hi")
    clone = client.clone()
    clone.generate_response("Other")
    assert texts(clone) == ["Other", "Reply to: Other"]
    assert texts(client) == ["Hi", "Reply to: Hi"]


def test_calls_of_many_threads_lose_no_turn() -> None:
    flaky = FakeClient([DOWN if number % 3 == 0 else f"a{number}" for number in range(400)])
    client = FallbackClient([flaky, FakeClient()])
    threads = [
        threading.Thread(target=lambda: [client.generate_response(f"{n}") for n in range(100)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    messages = client.get_conversation_history()
    assert len(messages) == 800
    assert [message["role"] for message in messages] == ["user", "assistant"] * 400
    client.generate_response("last")
    assert len(client.get_conversation_history()) == 802


def test_retrying_a_chain_asks_all_again_and_waits_only_when_none_answers() -> None:
    waited: list[float] = []
    chain = FallbackClient([FakeClient([DOWN, DOWN]), FakeClient([DOWN, "at last"])])
    client = RetryClient(chain, RetryPolicy(sleep=waited.append, exponential_jitter=False))
    assert client.generate_response("Hi").text == "at last"
    assert waited == [1.0]
    assert texts(client) == ["Hi", "at last"]


def test_the_cost_of_the_last_call_can_be_asked() -> None:
    from ffai.chat import TokenUsage

    client = FallbackClient([FakeClient([DOWN]), FakeClient(usage=TokenUsage(7, 5, 12), cost_usd=0.25)])
    assert (client.last_usage, client.last_cost_usd) == (None, None)
    asyncio.run(client.agenerate_response("Hi"))
    assert (client.last_usage, client.last_cost_usd) == (TokenUsage(7, 5, 12), 0.25)


def test_an_empty_chain_and_what_is_no_client_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="`clients` is empty"):
        FallbackClient([])
    with pytest.raises(ArgumentTypeError, match="`client`"):
        FallbackClient([FakeClient(), "openai/gpt-4o"])
