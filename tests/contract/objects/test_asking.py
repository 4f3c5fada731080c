"""Cases C01 to C12: a model is asked about a record."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ffai.chat.reply import ChatReply, TokenUsage, ToolCall
from ffai.errors import ConfigError, MalformedReply, ToolLoopLimit
from ffai.testing import FakeClient
from tests.contract.objects.world import World, added

ROW = {"id": "a-1", "title": "Refunds", "body": "They take five days.", "status": "draft"}


def opened(world: World, *replies: Any, **settings: Any) -> tuple[Any, FakeClient]:
    client = FakeClient(replies, **settings)
    store = world.open(llm=client)
    added(world, store, ROW)
    return store, client


def article(world: World, store: Any) -> Any:
    return world.call(store[world.Article], "get", "a-1")


def sent(client: FakeClient) -> str:
    """Return everything the client was sent: prompts, the messages before them, and options."""
    return "\n".join(f"{call.conversation} {call.prompt} {call.options}" for call in client.calls)


def asks_for(name: str, arguments: str, call_id: str = "call_1") -> ChatReply:
    return ChatReply(tool_calls=(ToolCall(call_id, name, arguments),), usage=TokenUsage(10, 5, 15))


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"result": true}', True),
        ('{"result": false}', False),
        (' \n{ "result" : true }\n', True),
        ('{"result": false, "why": "it is short"}', False),
        ('```json\n{"result": true}\n```', True),
        ('It is. {"result": true} I hope this helps.', True),
        ('{"result": true, "why": "it has ```code``` in it"}', True),
    ],
)
def test_c01_c03_a_verdict_is_read(world: World, reply: str, verdict: bool) -> None:
    store, client = opened(world, reply)
    assert world.call(article(world, store), "is_", "about money") is verdict
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "null",
        "true",
        "[]",
        '"x"',
        "{}",
        '{"result":"true"}',
        '{"result":1}',
        '{"result":null}',
        "Yes, it is.",
        '{"result": true} or rather {"result": false}',
    ],
)
def test_c02_c03_what_is_no_verdict_is_asked_for_once_more_and_then_an_error(world: World, reply: str) -> None:
    store, client = opened(world, reply, reply)
    with pytest.raises(MalformedReply) as error:
        world.call(article(world, store), "is_", "about money")
    assert error.value.reply == reply
    assert len(client.calls) == 2


def test_c02_the_second_answer_counts(world: World) -> None:
    store, client = opened(world, "Yes!", '{"result": true}')
    assert world.call(article(world, store), "is_", "about money") is True
    assert len(client.calls) == 2


def test_c04_no_secret_is_sent_however_deep_it_lies(world: World) -> None:
    store, client = opened(world, '{"result": true}', "A text.", "A text.")

    def connect(session: Any) -> None:
        author = world.Author(id="u-1", name="Ada Quill")
        session.add(author)
        record = session.get(world.Article, "a-1")
        record.author = author
        record.details = {"tags": ["money", {"deep": "yes"}]}

    world.within(store, connect)
    world.with_record(store, "a-1", "is_", "about money")
    world.with_record(store, "a-1", "do", "Sum it up")
    world.with_record(store, "a-1", "describe")
    everything = sent(client)
    for secret in ("sk-live-123", "source_token", "pw-of-author-77", "password"):
        assert secret not in everything
    for told in ("Refunds", "Ada Quill", "deep"):
        assert told in everything
    assert "tenant_id" not in everything


def data_in(client: FakeClient) -> str:
    """Return the record as it was sent: what stands between the two boundary lines."""
    told = [message["content"] for message in client.calls[-1].conversation if "=== record" in message["content"]]
    _, data, _ = re.split(r"^=== record \S+ ===$", told[0], flags=re.MULTILINE)
    return data.strip()


def test_c05_a_long_record_is_cut_into_valid_json(world: World) -> None:
    store, client = opened(world, *["A text."] * 3)
    world.within(store, lambda session: setattr(session.get(world.Article, "a-1"), "body", "long " * 24_000))
    world.call(article(world, store), "describe")
    told = json.loads(data_in(client))
    assert len(data_in(client)) <= 100_000
    assert (told["title"], told["status"]) == ("Refunds", "draft")
    assert "body" in json.dumps(told["_truncated"])
    world.call(article(world, store), "describe", max_data_length=100)
    assert len(data_in(client)) <= 100
    assert isinstance(json.loads(data_in(client)), dict)
    world.call(article(world, store), "describe", max_data_length=None)
    assert len(data_in(client)) > 120_000


@pytest.mark.parametrize("wrong", [0, -5])
def test_c05_no_room_at_all_is_refused(world: World, wrong: int) -> None:
    store, client = opened(world)
    with pytest.raises(ValueError, match="max_data_length"):
        world.call(article(world, store), "describe", max_data_length=wrong)
    assert client.calls == []


def test_c06_options_go_to_the_client_and_our_own_dont(world: World) -> None:
    store, client = opened(world, "A text.")
    world.call(
        article(world, store), "do", "Say it is fine", include_data=False, model="m2", temperature=0.1, max_tokens=9
    )
    [call] = client.calls
    assert "Say it is fine" in call.prompt
    assert "Refunds" not in sent(client)
    assert (call.options["model"], call.options["temperature"], call.options["max_tokens"]) == ("m2", 0.1, 9)
    assert not {"include_data", "max_data_length", "call_tools"} & set(call.options)


@pytest.mark.parametrize("option", ["response_format", "tools"])
def test_c06_what_a_verdict_needs_cant_be_overridden(world: World, option: str) -> None:
    store, client = opened(world)
    with pytest.raises(TypeError, match=option):
        world.call(article(world, store), "is_", "about money", **{option: None})
    assert client.calls == []


def test_c07_without_a_client_the_class_is_named(world: World) -> None:
    store = world.open()
    added(world, store, ROW)
    for name, asked in (("is_", ["about money"]), ("do", ["Sum it up"]), ("describe", [])):
        with pytest.raises(ConfigError, match=world.Article.__name__):
            world.call(article(world, store), name, *asked)


def test_c08_a_method_is_called_and_its_change_kept(world: World) -> None:
    last = ChatReply(text="Done.", usage=TokenUsage(20, 2, 22))
    store, client = opened(world, asks_for("flag_for_review", '{"reason": "spam"}'), last)
    answer = world.with_record(store, "a-1", "do", "Flag it if it is spam")
    assert answer == "Done."
    assert answer.usage == TokenUsage(30, 7, 37)
    changed = article(world, store)
    assert (changed.status, changed.body) == ("review", "spam")
    assert {tool["function"]["name"] for tool in client.calls[0].options["tools"]} == {
        "flag_for_review",
        "word_count",
        "nothing",
    }


def test_c09_a_question_changes_nothing(world: World) -> None:
    store, client = opened(world, asks_for("flag_for_review", '{"reason": "spam"}'), '{"result": true}')
    assert world.with_record(store, "a-1", "is_", "spam") is True
    assert article(world, store).status == "draft"
    assert "flag_for_review" not in {tool["function"]["name"] for tool in client.calls[0].options["tools"]}
    assert "error" in sent(client)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("archive", "{}"),
        ("_private", "{}"),
        ("__class__", "{}"),
        ("flag_for_review", "[1]"),
        ("flag_for_review", '"x"'),
        ("flag_for_review", "null"),
        ("flag_for_review", "{reason"),
        ("flag_for_review", '{"reason": {"a": 1}}'),
        ("flag_for_review", "{}"),
    ],
)
def test_c10_a_call_that_cant_be_made_is_told_to_the_model(world: World, name: str, arguments: str) -> None:
    store, client = opened(world, asks_for(name, arguments), "I could not.")
    assert world.with_record(store, "a-1", "do", "Do it") == "I could not."
    assert article(world, store).status == "draft"
    assert "error" in str(client.calls[1].conversation)


def test_c11_a_model_that_never_stops_calling_is_stopped(world: World) -> None:
    store, client = opened(world, *[asks_for("word_count", "{}")] * 20)
    with pytest.raises(ToolLoopLimit) as error:
        world.with_record(store, "a-1", "do", "Count")
    assert error.value.rounds == 5
    assert len(client.calls) <= 6


def test_c12_a_method_that_gives_nothing_gives_null(world: World) -> None:
    store, client = opened(world, asks_for("nothing", "{}"), "Done.")
    world.with_record(store, "a-1", "do", "Call it")
    [result] = [message for message in client.calls[1].conversation if message["role"] == "tool"]
    assert json.loads(result["content"]) is None
