"""Whatever a client answers becomes a reply, or an error that says what came."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from ffai.chat import ChatReply, TokenUsage, ToolCall, as_reply
from ffai.errors import ArgumentTypeError, ClientError

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


class City(BaseModel):
    city: str


class Quiz(BaseModel):
    choices: list[str]
    content: str


def made_object(**members: Any) -> SimpleNamespace:
    return SimpleNamespace(**members)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Under the mat.", "Under the mat."),
        ("", ""),
        (None, ""),
        ({"city": "Zürich"}, '{"city": "Zürich"}'),
        ([1, 2], "[1, 2]"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image_url", "image_url": {"url": "data:..."}}], "[image_url]"),
        ([made_object(type="text", text="a block")], "a block"),
        ({"role": "assistant", "content": "a message"}, "a message"),
        ({"role": "assistant", "content": [{"type": "text", "text": "parts"}]}, "parts"),
        (made_object(role="assistant", content=None, tool_calls=None), ""),
        (City(city="Paris"), '{"city":"Paris"}'),
        (Quiz(choices=["a"], content="pick one"), '{"choices":["a"],"content":"pick one"}'),
        ({"choices": [], "title": "data"}, '{"choices": [], "title": "data"}'),
    ],
)
def test_each_shape_has_its_text(value: Any, text: str) -> None:
    assert as_reply(value, None).text == text


@pytest.mark.parametrize("value", [object(), 3, 4.5, True, b"bytes", {1, 2}, MagicMock(), iter(["a"]), City])
def test_an_unknown_object_is_an_error_that_names_its_type(value: Any) -> None:
    with pytest.raises(ClientError, match=type(value).__name__) as caught:
        as_reply(value, None)
    assert "0x" not in str(caught.value)


def test_a_dict_that_json_cannot_hold_is_an_error() -> None:
    with pytest.raises(ClientError, match="JSON"):
        as_reply({"when": object()}, None)


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        made_object(id="call_1", function=made_object(name="add", arguments='{"a": 1}')),
        {"id": "call_1", "name": "add", "args": {"a": 1}},
        {"id": "call_1", "name": "add", "input": {"a": 1}},
        ToolCall("call_1", "add", '{"a": 1}'),
    ],
)
def test_tool_calls_are_read_in_each_shape(call: Any) -> None:
    reply = as_reply(made_object(role="assistant", content=None, tool_calls=[call]), None)
    assert (reply.text, reply.tool_calls) == ("", (ToolCall("call_1", "add", '{"a": 1}'),))


def test_a_tool_call_without_a_name_is_an_error() -> None:
    with pytest.raises(ClientError, match="tool call"):
        as_reply({"role": "assistant", "content": "", "tool_calls": [{}]}, None)


def test_a_whole_completion_is_read_with_its_usage_model_and_end() -> None:
    completion = {
        "model": "gpt-4o-mini-2024",
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5},
    }
    assert as_reply(completion, None) == ChatReply(
        text="Hi", usage=TokenUsage(7, 5, 12), model="gpt-4o-mini-2024", finish_reason="length"
    )


def test_a_completion_without_choices_is_an_error() -> None:
    with pytest.raises(ClientError, match="no choices"):
        as_reply({"object": "chat.completion", "choices": []}, None)


@pytest.mark.parametrize(
    ("last_usage", "known"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}, TokenUsage(7, 5, 12)),
        ({"input_tokens": 7, "output_tokens": 5}, TokenUsage(7, 5, 12)),
        (made_object(input_tokens=7), TokenUsage(7, None, None)),
        (TokenUsage(1, 2, 3), TokenUsage(1, 2, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": "many", "completion_tokens": -1}, None),
        ({}, None),
        (None, None),
        (MagicMock(), None),
    ],
)
def test_usage_comes_from_the_client_and_what_is_no_number_is_unknown(last_usage: Any, known: Any) -> None:
    assert as_reply("Hi", made_object(last_usage=last_usage)).usage == known


@pytest.mark.parametrize(
    ("cost", "usage", "known"),
    [
        (0.25, None, 0.25),
        (0.0, {"prompt_tokens": 7}, 0.0),  # a model that costs nothing
        (0.0, None, None),
        (None, None, None),
        (float("nan"), None, None),
        (-1.0, None, None),
        (True, None, None),
        (MagicMock(), None, None),
    ],
)
def test_cost_is_unknown_rather_than_zero(cost: Any, usage: Any, known: float | None) -> None:
    assert as_reply("Hi", made_object(last_usage=usage, last_cost_usd=cost)).cost_usd == known


def test_the_model_is_the_clients_unless_the_reply_names_another() -> None:
    client = made_object(model="asked")
    assert as_reply("Hi", client).model == "asked"
    assert as_reply(ChatReply(text="Hi", model="answered"), client).model == "answered"
    assert as_reply("Hi", MagicMock()).model == ""


def test_a_reply_that_leaves_usage_open_does_not_get_another_calls() -> None:
    assert as_reply(ChatReply(text="Hi"), made_object(last_usage={"prompt_tokens": 7})).usage is None


async def an_answer() -> str:
    return "late"


def test_a_coroutine_is_closed_and_the_async_method_named(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(TypeError, match="agenerate_response"):
        as_reply(an_answer(), None)
    assert not recwarn.list


async def test_a_task_is_cancelled() -> None:
    task = asyncio.ensure_future(an_answer())
    with pytest.raises(ArgumentTypeError):
        as_reply(task, None)
    with pytest.raises(asyncio.CancelledError):
        await task


def test_half_a_character_in_a_reply_is_replaced() -> None:
    assert as_reply("half \ud83d", None).text == "half \ufffd"


def test_the_message_of_a_reply_can_be_sent_again() -> None:
    reply = ChatReply(tool_calls=(ToolCall("call_1", "add", '{"a": 1}'),))
    assert reply.as_message() == {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert as_reply(json.loads(json.dumps(reply.as_message())), None) == reply


def test_a_sum_with_something_unknown_is_unknown() -> None:
    assert TokenUsage(1, 2, 3) + TokenUsage(4, 5, 9) == TokenUsage(5, 7, 12)
    assert TokenUsage(1, 2, 3) + TokenUsage(4, None, None) == TokenUsage(5, None, None)
