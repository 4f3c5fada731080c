"""The litellm clients against a scripted server: what is sent, what is kept, what is known."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ffai.chat import ChatReply, TokenUsage, ToolCall
from ffai.clients import AsyncLiteLLMClient, LiteLLMClient, RetryPolicy
from ffai.errors import AllClientsFailedError, ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeClient
from tests.doubles.openai_server import Answer, OpenAIServer

Ask = Callable[..., ChatReply]

ONCE = RetryPolicy(max_attempts=1)
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
VARIABLES = ("API_KEY", "API_BASE", "API_VERSION", "BASE_URL")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "MISTRAL", "NVIDIA", "AZURE", "AZURE_GPT_4O", "HOSTED_VLLM"):
        for variable in VARIABLES:
            monkeypatch.delenv(f"{provider}_{variable}", raising=False)


@pytest.fixture
def dead_server() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.fixture
def other_server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Answer(text="From the other.")) as server:
        yield server


class Waits(list[float]):
    """The seconds a client would have waited."""

    def policy(self, **settings: Any) -> RetryPolicy:
        async def asleep(seconds: float) -> None:
            self.append(seconds)

        return RetryPolicy(sleep=self.append, asleep=asleep, **{"exponential_jitter": False, **settings})


@pytest.fixture
def waits() -> Waits:
    return Waits()


def client_of(server: OpenAIServer, model: str = "openai/tiny", **settings: Any) -> LiteLLMClient:
    return LiteLLMClient(model, **{"api_base": server.api_base, "api_key": "own key", "retry": ONCE, **settings})


def roles(client: Any) -> list[str]:
    return [message["role"] for message in client.get_conversation_history()]


# What is sent


def test_the_model_gets_instructions_conversation_prompt_and_options(openai_server: OpenAIServer, ask: Ask) -> None:
    client = client_of(openai_server, system_instructions="Be brief.", temperature=0.5, max_tokens=30, top_p=0.9)
    ask(client, "One?")
    ask(client, "Two?", temperature=0.1, stop=["."], system_instructions="Be long.")
    first, second = openai_server.requests
    assert first.messages == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "One?"}]
    assert second.messages == [
        {"role": "system", "content": "Be long."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Fine, thank you."},
        {"role": "user", "content": "Two?"},
    ]
    assert (first.body["model"], first.key) == ("tiny", "own key")
    assert [first.body[name] for name in ("temperature", "max_tokens", "top_p")] == [0.5, 30, 0.9]
    assert [second.body[name] for name in ("temperature", "max_tokens", "stop")] == [0.1, 30, ["."]]


def test_nothing_is_sent_that_was_not_set(openai_server: OpenAIServer) -> None:
    client_of(openai_server).generate_response("Hi")
    assert set(openai_server.requests[0].body) == {"model", "messages"}


def test_parts_are_sent_as_they_are(openai_server: OpenAIServer, ask: Ask) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    client = client_of(openai_server)
    ask(client, ["What is this?", image])
    parts = [{"type": "text", "text": "What is this?"}, image]
    assert openai_server.requests[0].messages == [{"role": "user", "content": parts}]
    assert client.get_conversation_history()[0]["content"] == parts


def test_half_a_character_does_not_break_the_call(openai_server: OpenAIServer, ask: Ask) -> None:
    ask(client_of(openai_server), "half \ud83d")
    assert openai_server.requests[0].messages[0]["content"] == "half \ufffd"


@pytest.mark.parametrize(
    ("given", "error"), [("", InvalidArgumentError), (None, ArgumentTypeError), ([], ArgumentTypeError)]
)
def test_a_wrong_prompt_is_refused_at_the_call(given: Any, error: type[Exception], openai_server: OpenAIServer) -> None:
    client = client_of(openai_server)
    for method in (client.generate_response, client.stream_response, client.astream_response):
        with pytest.raises(error, match="prompt"):
            method(given)
    with pytest.raises(error, match="prompt"):
        asyncio.run(client.agenerate_response(given))
    assert openai_server.requests == []


def test_a_call_can_name_another_model_of_the_provider(openai_server: OpenAIServer, ask: Ask) -> None:
    client = client_of(openai_server)
    answered = [ask(client, "Hi", model=name).model for name in ("large", "openai/larger", "tiny", "meta-llama/8b")]
    assert answered == ["large", "larger", "tiny", "meta-llama/8b"]
    assert [request.body["model"] for request in openai_server.requests] == answered
    assert client.model == "tiny"


def test_a_model_of_another_provider_gets_that_providers_key_and_address(
    openai_server: OpenAIServer, other_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", other_server.api_base)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "the other's key")
    client = client_of(openai_server, extra_headers={"x-secret": "s"}, temperature=0.5)
    assert client.generate_response("Hi", model="hosted_vllm/m").text == "From the other."
    request = other_server.requests[0]
    assert (request.key, request.body["model"], request.body["temperature"]) == ("the other's key", "m", 0.5)
    assert "x-secret" not in request.headers
    assert openai_server.requests == []


# Where keys come from


def test_key_and_address_come_from_the_environment_unless_they_are_given(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    monkeypatch.setenv("OPENAI_API_BASE", openai_server.api_base)
    LiteLLMClient("openai/tiny").generate_response("Hi")
    LiteLLMClient("openai/tiny", {"api_key": "from config"}).generate_response("Hi")
    LiteLLMClient("openai/tiny", {"api_key": "from config"}, api_key="given").generate_response("Hi")
    assert [request.key for request in openai_server.requests] == ["from the environment", "from config", "given"]


def test_a_key_is_in_no_text_about_the_client(openai_server: OpenAIServer) -> None:
    openai_server.script(Answer(status=500))
    client = client_of(
        openai_server, api_key="sk-very-secret", fallbacks=[{"model": "openai/b", "api_key": "sk-very-too"}]
    )
    with pytest.raises(AllClientsFailedError) as caught:
        client.generate_response("Hi")
    assert repr(client) == "LiteLLMClient('openai/tiny')"
    assert "sk-very" not in repr(caught.value)


def test_the_model_is_what_follows_the_first_slash() -> None:
    assert LiteLLMClient("openrouter/meta/llama").model == "meta/llama"
    assert LiteLLMClient("gpt-4o-mini").model == "gpt-4o-mini"
    assert LiteLLMClient("openrouter/meta/llama").model_string == "openrouter/meta/llama"


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (("",), InvalidArgumentError, "model_string"),
        ((None,), ArgumentTypeError, "model_string"),
        (("openai/a", {"fallbacks": "openai/b"}), ArgumentTypeError, "fallbacks"),
        (("openai/a", {"fallbacks": [3]}), ArgumentTypeError, "client"),
        (("openai/a", {"fallbacks": [{"api_key": "x"}]}), ArgumentTypeError, "model_string"),
        (("openai/a", {"retry": {"attempts": 3}}), InvalidArgumentError, "attempts"),
    ],
)
def test_wrong_settings_are_refused_by_name(arguments: Any, error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=named):
        LiteLLMClient(*arguments)


# What is known


def test_the_reply_says_what_it_used_and_how_it_ended(openai_server: OpenAIServer, ask: Ask) -> None:
    client = client_of(openai_server)
    assert ask(client, "Hi") == ChatReply(
        text="Fine, thank you.", usage=TokenUsage(7, 5, 12), model="tiny", finish_reason="stop"
    )
    assert (client.last_usage, client.last_cost_usd) == (TokenUsage(7, 5, 12), None)


def test_the_price_of_a_known_model_is_told(openai_server: OpenAIServer, ask: Ask) -> None:
    client = client_of(openai_server, "openai/gpt-4o-mini")
    reply = ask(client, "Hi")
    assert reply.cost_usd == client.last_cost_usd == pytest.approx(7 * 0.15e-6 + 5 * 0.6e-6)


def test_usage_and_price_that_nobody_told_are_unknown(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.script(Answer(), Answer(usage=None))
    client = client_of(openai_server, "openai/gpt-4o-mini")
    ask(client, "Hi")
    reply = ask(client, "Hi")
    assert (reply.usage, reply.cost_usd) == (None, None)
    assert (client.last_usage, client.last_cost_usd) == (None, None)


def test_each_thread_gets_its_own_usage(openai_server: OpenAIServer) -> None:
    client = client_of(openai_server)
    answers = [
        Answer(text=str(n), usage={"prompt_tokens": n, "completion_tokens": 1, "total_tokens": n + 1})
        for n in range(1, 21)
    ]
    openai_server.script(*answers)
    replies: list[ChatReply] = []
    threads = [threading.Thread(target=lambda: replies.append(client.generate_response("Hi"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(reply.usage and reply.usage.input_tokens == int(reply.text) for reply in replies)
    assert roles(client) == ["user", "assistant"] * 20


# Tools


def test_tool_calls_are_given_and_kept_and_their_results_sent(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.script(Answer(text=None, tool_calls=[CALL]), Answer(text="3"))
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    client = client_of(openai_server)
    reply = ask(client, "1 + 2?", tools=tools)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert reply.tool_calls == (ToolCall("call_1", "add", '{"a": 1, "b": 2}'),)
    client.add_tool_result("call_1", "3")
    assert ask(client, "Go on.", tools=tools).text == "3"
    assert openai_server.requests[0].body["tools"] == tools
    assert openai_server.requests[1].messages == [
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("one_index", [False, True])
def test_several_tool_calls_keep_their_order(one_index: bool, openai_server: OpenAIServer, ask: Ask) -> None:
    calls = [{**CALL, "id": f"call_{n}"} for n in range(3)]
    openai_server.script(Answer(text="Wait.", tool_calls=calls, one_index=one_index))
    reply = ask(client_of(openai_server), "Hi")
    assert (reply.text, [call.id for call in reply.tool_calls]) == ("Wait.", ["call_0", "call_1", "call_2"])
    assert {call.arguments for call in reply.tool_calls} == {'{"a": 1, "b": 2}'}


# Failing


def test_a_busy_server_is_asked_again_after_the_wait_it_tells(
    openai_server: OpenAIServer, ask: Ask, waits: Waits
) -> None:
    openai_server.script(Answer(status=429, headers={"retry-after": "7"}), Answer(status=503), Answer())
    client = client_of(openai_server, retry=waits.policy())
    assert ask(client, "Hi").text == "Fine, thank you."
    assert waits == [7.0, 2.0]
    assert roles(client) == ["user", "assistant"]


def test_a_server_error_is_tried_again(openai_server: OpenAIServer, waits: Waits) -> None:
    openai_server.script(Answer(status=500), Answer())
    client_of(openai_server, retry=waits.policy()).generate_response("Hi")
    assert waits == [1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_raised_at_once_and_nothing_is_kept(
    status: int, openai_server: OpenAIServer, ask: Ask, waits: Waits
) -> None:
    openai_server.script(Answer(status=status))
    client = client_of(openai_server, retry=waits.policy())
    with pytest.raises(Exception, match=f"scripted {status}"):
        ask(client, "Hi")
    assert (len(openai_server.requests), waits, roles(client)) == (1, [], [])


def test_a_refused_connection_is_tried_again(dead_server: str, ask: Ask, waits: Waits) -> None:
    client = LiteLLMClient("openai/tiny", api_base=dead_server, api_key="x", retry=waits.policy())
    with pytest.raises(Exception, match="Connection"):
        ask(client, "Hi")
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize("model", ["openai/tiny", "anthropic/claude-3-haiku-20240307"])
def test_a_missing_key_is_not_tried_again(model: str, ask: Ask, waits: Waits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(Exception, match=r"API_KEY"):
        ask(LiteLLMClient(model, retry=waits.policy()), "Hi")
    assert waits == []


def test_a_slow_server_times_out_and_is_tried_again(openai_server: OpenAIServer, ask: Ask, waits: Waits) -> None:
    gate = threading.Event()
    openai_server.script(Answer(gate=gate), Answer())
    try:
        reply = ask(client_of(openai_server, retry=waits.policy(), timeout=0.2), "Hi")
    finally:
        gate.set()
    assert reply.text == "Fine, thank you."
    assert waits == [1.0]


def test_a_stream_that_is_cut_raises_and_is_not_kept(openai_server: OpenAIServer, waits: Waits) -> None:
    openai_server.script(Answer(cut=True))
    client = client_of(openai_server, retry=waits.policy())
    pieces = client.stream_response("Hi")
    assert next(pieces) == "Fine, "
    with pytest.raises(Exception, match="Stream ended"):
        next(pieces)
    assert (pieces.text, roles(client), waits) == ("Fine, ", [], [])


def test_a_stream_that_is_left_early_is_not_kept(openai_server: OpenAIServer) -> None:
    client = client_of(openai_server)
    pieces = client.stream_response("Hi")
    next(pieces)
    pieces.close()

    async def leave() -> None:
        pieces = client.astream_response("Hi")
        await anext(pieces)
        await pieces.aclose()

    asyncio.run(leave())
    assert roles(client) == []


# Falling back


def test_fallbacks_have_their_own_keys_and_addresses(
    openai_server: OpenAIServer, other_server: OpenAIServer, ask: Ask
) -> None:
    openai_server.script(Answer(status=401))
    fallback = {"model": "hosted_vllm/other", "api_base": other_server.api_base, "api_key": "other key", "top_k": 3}
    client = client_of(openai_server, temperature=0.5, system_instructions="Be brief.", top_p=0.9, fallbacks=[fallback])
    reply = ask(client, "Hi", model="large", api_key="call key", stop=["."])
    assert (reply.text, reply.model) == ("From the other.", "other")
    assert [(request.key, request.body["model"]) for request in openai_server.requests] == [("call key", "large")]
    request = other_server.requests[0]
    assert (request.key, request.body["model"]) == ("other key", "other")
    assert (request.body["temperature"], request.body["stop"], request.body["top_k"]) == (0.5, ["."], 3)
    assert "top_p" not in request.body
    assert request.messages[0] == {"role": "system", "content": "Be brief."}
    assert roles(client) == ["user", "assistant"]


def test_a_named_fallback_of_another_provider_never_gets_the_first_ones_key(
    openai_server: OpenAIServer, other_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.script(Answer(status=401))
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", other_server.api_base)
    client_of(openai_server, fallbacks=["hosted_vllm/other"]).generate_response("Hi")
    assert "own key" not in str(other_server.requests[0].headers)


def test_a_named_fallback_of_the_same_provider_uses_the_same_key_and_address(openai_server: OpenAIServer) -> None:
    openai_server.script(Answer(status=404), Answer())
    assert client_of(openai_server, fallbacks=["openai/older"]).generate_response("Hi").model == "older"
    assert [request.key for request in openai_server.requests] == ["own key", "own key"]


def test_any_client_can_be_a_fallback_and_knows_the_conversation(openai_server: OpenAIServer, ask: Ask) -> None:
    other = FakeClient(["stand-in"], model="fake")
    client = client_of(openai_server, fallbacks=[other])
    ask(client, "One?")
    openai_server.script(Answer(status=401))
    assert ask(client, "Two?").model == "fake"
    assert other.get_conversation_history() == client.get_conversation_history()
    openai_server.script(Answer())
    ask(client, "Three?")
    assert [message["content"] for message in openai_server.requests[-1].messages][:4] == [
        "One?",
        "Fine, thank you.",
        "Two?",
        "stand-in",
    ]


def test_a_fallback_answers_at_once_and_only_all_failing_waits(
    openai_server: OpenAIServer, other_server: OpenAIServer, ask: Ask, waits: Waits
) -> None:
    busy = Answer(status=429, headers={"retry-after": "9"})
    openai_server.script(busy)
    other_server.script(Answer(), Answer(status=429, headers={"retry-after": "4"}), Answer())
    fallback = {"model": "openai/other", "api_base": other_server.api_base, "api_key": "k"}
    client = client_of(openai_server, fallbacks=[fallback], retry=waits.policy())
    ask(client, "One?")
    assert waits == []
    ask(client, "Two?")
    assert waits == [4.0]


def test_when_all_fail_the_first_error_is_the_cause(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.script(Answer(status=401), Answer(status=404))
    with pytest.raises(AllClientsFailedError, match=r"scripted 401.*scripted 404") as caught:
        ask(client_of(openai_server, fallbacks=["openai/b"]), "Hi")
    assert "scripted 401" in str(caught.value.__cause__)


# The conversation and copies


def test_the_conversation_can_be_read_set_and_cleared(openai_server: OpenAIServer) -> None:
    client = client_of(openai_server)
    client.set_conversation_history([{"role": "user", "content": "earlier"}, {"role": "assistant", "content": "yes"}])
    client.generate_response("Hi")
    assert [message["content"] for message in openai_server.requests[0].messages] == ["earlier", "yes", "Hi"]
    client.clear_conversation()
    client.generate_response("Again")
    assert openai_server.requests[1].messages == [{"role": "user", "content": "Again"}]


def test_a_clone_has_the_same_settings_and_no_conversation(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.script(Answer(), Answer(status=401), Answer())
    client = client_of(openai_server, temperature=0.5, fallbacks=["openai/b"])
    client.system_instructions = "Be brief."
    ask(client, "Hi")
    clone = client.clone()
    assert type(clone) is type(client)
    assert (clone.get_conversation_history(), clone.last_usage) == ([], None)
    assert ask(clone, "Other").model == "b"
    request = openai_server.requests[-1]
    assert (request.key, request.body["temperature"]) == ("own key", 0.5)
    assert request.messages == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Other"}]
    assert roles(client) == ["user", "assistant"]


# The async client


async def test_the_async_client_is_awaited_and_read_with_async_for(openai_server: OpenAIServer) -> None:
    client = AsyncLiteLLMClient("openai/tiny", api_base=openai_server.api_base, api_key="k")
    assert (await client.generate_response("One?")).text == "Fine, thank you."
    assert [piece async for piece in client.stream_response("Two?")] == ["Fine, ", "thank ", "you."]
    assert roles(client) == ["user", "assistant"] * 2


def test_both_clients_take_the_same_arguments() -> None:
    for name in ("generate_response", "stream_response"):
        signatures = {
            tuple(inspect.signature(method).parameters.values())
            for method in (
                getattr(LiteLLMClient, name),
                getattr(LiteLLMClient, f"a{name}"),
                getattr(AsyncLiteLLMClient, name),
                getattr(AsyncLiteLLMClient, f"a{name}"),
            )
        }
        assert len(signatures) == 1


async def test_a_cancelled_call_keeps_nothing(openai_server: OpenAIServer) -> None:
    gate = threading.Event()
    openai_server.script(Answer(gate=gate), Answer())
    client = AsyncLiteLLMClient("openai/tiny", api_base=openai_server.api_base, api_key="k")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.generate_response("Hi"), 0.2)
    gate.set()
    assert roles(client) == []
    assert (await client.generate_response("Hi")).text == "Fine, thank you."
