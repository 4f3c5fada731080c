"""A model is asked for an object: read with patience, asked twice, and never taken for what it is not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from ffai.chat.flow import arun, run
from ffai.chat.structured import read_as, structured
from ffai.errors import ArgumentTypeError, StructuredReplyError


class Verdict(BaseModel):
    result: bool


class Book(BaseModel):
    title: str
    pages: int | None = None
    parts: tuple[str, ...] = ()
    printed: date | None = None


class Shelf(BaseModel):
    books: list[Book]


class Names(RootModel[list[str]]):
    pass


def asking(replies: list[Any], kind: type[BaseModel]) -> tuple[Any, list[str]]:
    left: Iterator[Any] = iter(replies)
    prompts: list[str] = []

    def take(prompt: str) -> str:
        prompts.append(prompt)
        reply = next(left)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return run(structured("Is the sky blue?", kind), take), prompts


@pytest.mark.parametrize(
    "reply",
    [
        '{"result": true}',
        '```json\n{"result": true}\n```',
        '```\n{"result": true}```',
        "{'result': True}",
        'Sure! {"result": true}',
        'Sure! Here it is:\n\n```json\n{"result": true}\n```\nAnything else?',
        '{"result": true,}',
        "{result: true}",
        '{"result": true',
        '```json\n{"result": true',
        '\ufeff{"result": true}',
        '<think>maybe {"result": false}?</think>{"result": true}',
        '[{"result": true}]',
        'As [1] says: {"result": true}',
        'Not {"answer": 1} but {"result": true}',
        '{"result": true, "why": "it is \\ud83d"}',
        '{"result": true} // as asked',
    ],
)
def test_a_reply_is_read_with_patience(reply: str) -> None:
    found, prompts = asking([reply], Verdict)
    assert found == Verdict(result=True)
    assert len(prompts) == 1


@pytest.mark.parametrize(
    "reply",
    ["", "  \n", "[]", "{}", '"yes"', "yes", '{"result": "yes"}', '{"result": 1}', '{"result": null}', "null", "true",
     '{"result": tr', "[1, 2]", '{"verdict": {"result": true}}', "<think>{}", "[" * 5000, "{" * 5000],
)  # fmt: skip
def test_what_is_no_such_object_is_an_error_that_has_the_reply(reply: str) -> None:
    with pytest.raises(StructuredReplyError) as caught:
        asking(["nonsense", reply], Verdict)
    assert caught.value.reply == reply
    assert caught.value.kind == "Verdict"
    assert caught.value.reason
    assert isinstance(caught.value, ValueError)


def test_the_model_is_told_what_was_wrong_and_asked_once_more() -> None:
    found, prompts = asking(['{"result": "yes"}', '{"result": false}'], Verdict)
    assert found == Verdict(result=False)
    first, second = prompts
    assert second.startswith(first)
    assert 'result: Input should be a valid boolean, not "yes"' in second
    assert second.count('{"result": "yes"}') == 1


def test_the_model_is_not_asked_a_third_time() -> None:
    left = iter(["yes", "yes"])
    with pytest.raises(StructuredReplyError, match="The model's reply is no Verdict: no JSON is in it"):
        run(structured("Is the sky blue?", Verdict), lambda prompt: next(left))
    assert next(left, None) is None


def test_an_error_of_the_client_is_raised_as_it_is() -> None:
    for replies in ([ConnectionError("down")], ["yes", ConnectionError("down")]):
        with pytest.raises(ConnectionError, match="down"):
            asking(replies, Verdict)


async def test_the_same_is_awaited() -> None:
    replies = iter(["yes", '{"result": true}'])

    async def take(prompt: str) -> str:
        return next(replies)

    assert await arun(structured("Is the sky blue?", Verdict), take) == Verdict(result=True)


def test_the_schema_is_put_behind_the_question() -> None:
    _, (prompt,) = asking(['{"result": true}'], Verdict)
    question, _, demand = prompt.partition("\n\n")
    assert question == "Is the sky blue?"
    assert json.loads(demand[demand.index("{") :]) == {
        "properties": {"result": {"type": "boolean"}},
        "required": ["result"],
        "type": "object",
    }


def test_values_are_of_their_types_as_json_has_them() -> None:
    reply = '{"title": "Emma", "pages": 474, "parts": ["one", "two"], "printed": "1815-12-23"}'
    assert read_as(Book, reply) == Book(title="Emma", pages=474, parts=("one", "two"), printed=date(1815, 12, 23))
    with pytest.raises(StructuredReplyError, match="pages"):
        read_as(Book, '{"title": "Emma", "pages": "474"}')


def test_an_array_may_be_what_is_asked_for() -> None:
    assert read_as(Names, '["Ann", "Ben"]').root == ["Ann", "Ben"]
    assert read_as(Names, "[]").root == []


def test_many_faults_are_told_in_short() -> None:
    books = ", ".join('{"title": 1}' for _ in range(30))
    with pytest.raises(StructuredReplyError, match=r"books\.0\.title: .*; and 20 more") as caught:
        read_as(Shelf, f'{{"books": [{books}]}}')
    assert len(caught.value.reason) < 1000


def test_a_long_reply_is_quoted_in_part() -> None:
    _, prompts = asking(["word " * 10_000, '{"result": true}'], Verdict)
    assert len(prompts[1]) < 4_000


@pytest.mark.parametrize("kind", [dict, "Verdict", Verdict(result=True), list[Verdict]])
def test_the_kind_must_be_a_pydantic_class(kind: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="kind must be a class of pydantic's BaseModel"):
        structured("Is the sky blue?", kind)


@given(st.text(), st.text(), st.booleans())
def test_words_before_and_after_do_not_matter(before: str, after: str, result: bool) -> None:
    before = before.translate({ord(mark): None for mark in "{}[]`<"})
    after = after.translate({ord("{"): None, ord("`"): None})
    assert read_as(Verdict, f"{before}{json.dumps({'result': result})}{after}").result is result


@given(st.text(max_size=200))
def test_any_text_is_an_object_or_an_error_of_ours(reply: str) -> None:
    with contextlib.suppress(StructuredReplyError):
        assert isinstance(read_as(Verdict, reply), Verdict)
