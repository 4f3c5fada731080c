"""A verdict is one boolean, or an error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.errors import MalformedReply
from ffai.objects.asking.verdict import read_verdict


@pytest.mark.parametrize("verdict", [True, False])
@pytest.mark.parametrize(
    "reply",
    [
        '{{"result": {}}}',
        '  {{ "result" :  {} }}\n',
        '{{"result": {}, "why": "it says so", "result_of": null}}',
        '```json\n{{"result": {}}}\n```',
        'I looked at it. {{"result": {}}} That is all.',
        '<think>{{"result": null}}</think>{{"result": {}}}',
        '{{"result": {0}}} Again: {{"result": {0}}}',
        '{{"why": "the text says ```{{\\"result\\": 1}}```", "result": {}}}',
        'For {{"status": "draft"}} it is {{"result": {}}}',
        'Given {{curly}} braces: {{"result": {}}}',
    ],
)
def test_one_boolean_is_found(reply: str, verdict: bool) -> None:
    assert read_verdict(reply.format(json.dumps(verdict))) is verdict


MALFORMED = [
    "",
    "  ",
    "null",
    "true",
    "[]",
    '"x"',
    "{}",
    '{"result":"true"}',
    '{"result":1}',
    '{"result":0}',
    '{"result":null}',
    '{"result":[true]}',
    '{"result":{"a":1}}',
    "Yes, it is.",
    '{"result": true} or {"result": false}',
    '{"result": true, "result": false}',
    '{"result": true} {"result": "false"}',
    '{"answer": {"result": true}}',
    '{"result": true',
    "{" * 5000,
    '{"a":' * 5000,
]


@pytest.mark.parametrize("reply", MALFORMED, ids=lambda reply: reply[:30])
def test_anything_else_is_malformed(reply: str) -> None:
    with pytest.raises(MalformedReply) as raised:
        read_verdict(reply)
    assert raised.value.reply == reply
    assert raised.value.reason


@given(st.text())
def test_a_text_never_gives_anything_but_a_boolean_or_the_error(reply: str) -> None:
    try:
        verdict = read_verdict(reply)
    except MalformedReply:
        return
    assert verdict is True or verdict is False
