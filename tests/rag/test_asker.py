"""Asking a model for an answer: which model, with which system prompt, by whom, in four ways."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

from ffai.chat.reply import ChatReply, TokenUsage
from ffai.errors import ArgumentTypeError, ClientError, InvalidArgumentError
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.chat_options import ChatOptions, system_for
from ffai.testing import AsyncFakeClient, FakeClient
from tests.doubles.talker import SAID, Talker

REQUEST = ChatRequest("How long do refunds take?", "Answer from the context.")


async def all_four(asker: Asker, request: ChatRequest = REQUEST) -> list[ChatReply]:
    stream, astream = asker.stream(request), asker.astream(request)
    assert "".join(stream) == stream.text
    assert "".join([piece async for piece in astream]) == astream.text
    return [asker.ask(request), await asker.aask(request), stream.reply, astream.reply]


async def test_every_way_asks_the_same_and_tells_usage_and_cost() -> None:
    client = FakeClient(["Five days."] * 4, usage=TokenUsage(9, 3, 12), cost_usd=0.5)
    replies = await all_four(Asker(client, {"model": "large"}))

    assert {(reply.text, reply.usage, reply.cost_usd, reply.model) for reply in replies} == {
        ("Five days.", TokenUsage(9, 3, 12), 0.5, "large")
    }
    assert [(call.prompt, dict(call.options)) for call in client.calls] == [
        (REQUEST.prompt, {"model": "large", "system_instructions": REQUEST.system})
    ] * 4


async def test_no_way_leaves_a_trace_in_the_clients_conversation() -> None:
    client = FakeClient()
    client.set_conversation_history(SAID)
    await all_four(Asker(client))
    assert client.get_conversation_history() == SAID


async def test_no_way_is_heard_by_a_client_that_cannot_be_cloned() -> None:
    client = Talker()
    replies = await all_four(Asker(client))
    assert [reply.usage for reply in replies] == [TokenUsage(25, 1, 26)] * 4
    assert (client.heard, client.messages) == ([0] * 4, SAID)


async def test_a_call_that_is_cancelled_leaves_the_conversation_alone_though_its_thread_goes_on() -> None:
    client = Talker()
    client.gate.clear()
    asker = Asker(client)
    task = asyncio.create_task(asker.aask(REQUEST))
    await asyncio.to_thread(client.asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    client.gate.set()
    assert (await asker.aask(REQUEST)).text == "yes"  # it waits until the first one is out
    assert (client.heard, client.messages) == ([0, 0], SAID)


async def test_a_stream_that_is_left_leaves_the_conversation_alone() -> None:
    client = FakeClient(["one two three"] * 2)
    client.set_conversation_history(SAID)
    stream, astream = Asker(client).stream(REQUEST), Asker(client).astream(REQUEST)
    assert next(stream) == "one "
    assert await anext(astream) == "one "
    stream.close()
    await astream.aclose()
    with pytest.raises(ClientError, match="not complete"):
        _ = stream.reply
    assert client.get_conversation_history() == SAID


async def test_nothing_is_told_that_nobody_asked_for() -> None:
    client = FakeClient(system_instructions="Be kind.")
    await all_four(Asker(client), ChatRequest("hello"))
    assert [dict(call.options) for call in client.calls] == [{}] * 4


@pytest.mark.parametrize(
    ("default", "given", "own", "sent"),
    [
        ("Answer.", None, None, "Answer."),
        ("Answer.", None, "You are Ann.", "You are Ann.\n\nAnswer."),
        ("Answer.", None, "  ", "Answer."),
        ("Answer.", None, 3, "Answer."),
        ("Answer.", "Sing.", "You are Ann.", "Sing."),
        ("Answer.", "", "You are Ann.", ""),
        (None, None, "You are Ann.", None),
        (None, "Sing.", None, "Sing."),
    ],
)
async def test_the_callers_system_prompt_wins_and_the_clients_own_stands_in_front(
    default: str | None, given: str | None, own: Any, sent: str | None
) -> None:
    assert system_for(default, given, own) == sent
    client = FakeClient(system_instructions=own)
    await all_four(Asker(client, ChatOptions(system=given)), ChatRequest("hello", default))
    assert {call.options.get("system_instructions") for call in client.calls} == {sent}


async def test_a_function_is_asked_in_the_place_of_the_client() -> None:
    client, asked, threads = FakeClient(system_instructions="You are Ann."), [], set()

    def answer(model: str | None, prompt: str, system: str | None) -> str:
        asked.append((model, prompt, system))
        threads.add(threading.current_thread() is threading.main_thread())
        return "Five days."

    replies = await all_four(Asker(client, {"chat_fn": answer, "model": "large"}))

    assert [(reply.text, reply.model, reply.usage) for reply in replies] == [("Five days.", "large", None)] * 4
    assert asked == [("large", REQUEST.prompt, REQUEST.system)] * 4
    assert threads == {True, False}  # the loop is not blocked
    assert client.calls == []


async def test_a_function_may_give_a_whole_reply_and_needs_no_client() -> None:
    whole = ChatReply(text="Five days.", model="own", usage=TokenUsage(1, 2, 3), cost_usd=0.1)
    replies = await all_four(Asker(None, {"chat_fn": lambda *_: whole}))
    assert replies == [whole] * 4


async def _late(model: str | None, prompt: str, system: str | None) -> str:
    await asyncio.sleep(0)
    return "late"


class _Late:
    async def __call__(self, model: str | None, prompt: str, system: str | None) -> str:
        return "late"


@pytest.mark.parametrize(
    "function",
    [_late, functools.partial(_late), _Late(), lambda *told: _late(*told)],
    ids=["def", "part", "obj", "lam"],
)
async def test_a_coroutine_function_is_for_the_async_calls(function: Any) -> None:
    asker = Asker(None, {"chat_fn": function})
    assert (await asker.aask(REQUEST)).text == "late"
    assert [piece async for piece in asker.astream(REQUEST)] == ["late"]
    with pytest.raises(ArgumentTypeError, match="aask"):
        asker.ask(REQUEST)
    with pytest.raises(ArgumentTypeError, match="aask"):
        list(asker.stream(REQUEST))


async def test_an_async_client_is_for_the_async_calls() -> None:
    asker = Asker(AsyncFakeClient(["Five days."] * 2))
    assert (await asker.aask(REQUEST)).text == "Five days."
    assert "".join([piece async for piece in asker.astream(REQUEST)]) == "Five days."
    with pytest.raises(ArgumentTypeError, match="agenerate_response"):
        asker.ask(REQUEST)


async def test_what_the_client_raises_is_raised() -> None:
    for ask in (Asker.ask, Asker.stream):
        with pytest.raises(ConnectionError, match="down"):
            list(ask(Asker(FakeClient([ConnectionError("down")])), REQUEST))  # type: ignore[call-overload]
    with pytest.raises(ConnectionError, match="down"):
        await Asker(FakeClient([ConnectionError("down")])).aask(REQUEST)


def test_a_blank_prompt_is_refused_before_anybody_is_asked() -> None:
    client = FakeClient()
    for ask in (Asker.ask, Asker.stream, Asker.astream):
        with pytest.raises(InvalidArgumentError, match="Empty prompt"):
            ask(Asker(client), ChatRequest("  "))
    assert client.calls == []


def test_tools_that_the_model_asks_for_are_handed_on() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "add"}}]}
    reply = Asker(FakeClient([message])).ask(REQUEST)
    assert (reply.text, [call.name for call in reply.tool_calls]) == ("", ["add"])


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ("gpt-4o", ArgumentTypeError, "chat options must be ChatOptions or a mapping, not str"),
        ({"systen": "x"}, InvalidArgumentError, "chat options has no 'systen'; it has model, system, chat_fn"),
        ({"model": 3}, ArgumentTypeError, "model must be text, not int: 3"),
        ({"system": ["x"]}, ArgumentTypeError, "system must be text, not list"),
        ({"chat_fn": "gpt-4o"}, ArgumentTypeError, "chat_fn must be a function of model, prompt and system, not str"),
    ],
)
def test_options_that_cannot_be_used_are_refused_by_name(options: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        Asker(FakeClient(), options)


def test_somebody_must_be_there_to_ask() -> None:
    with pytest.raises(ArgumentTypeError, match="generate_response"):
        Asker(None)


def test_options_are_taken_as_they_are() -> None:
    options = ChatOptions(model="large")
    assert ChatOptions.of(options) is options
    assert ChatOptions.of(None) == ChatOptions.of({}) == ChatOptions()
