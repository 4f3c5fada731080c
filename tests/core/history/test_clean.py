import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.history.clean import clean_response, clean_text

CODE = "Use this:\n```python\nprint({'a': 1})\n```\nand run it."
prose = st.text(st.characters(exclude_characters="<`", exclude_categories=["Cs"]))


@pytest.mark.parametrize("answer", [CODE, "[1] According to the manual ...", '{"a": 1}', "``` unclosed", "a <b> c"])
def test_an_ordinary_answer_is_left_as_it_is(answer):
    assert clean_response(answer) == answer


@given(prose, prose)
def test_thoughts_are_removed_and_nothing_else(thought, answer):
    assert clean_response(f"<think>{thought}</think>{answer}") == answer.strip()


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>a</think>one<think>b</think> two", "one two"),
        ('<think mode="deep">a\n`b`\n```c</think >answer', "answer"),
        ("  <think>cut off while thinking", ""),
        ("<think>a</think><think>cut off", ""),
        ("Write <think> before it.", "Write <think> before it."),
        ("Write `<think>x</think>` before it.", "Write `<think>x</think>` before it."),
        ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```"),
        ("<thinking>kept</thinking>", "<thinking>kept</thinking>"),
        ("", ""),
    ],
)
def test_only_what_is_a_thought_is_removed(reply, answer):
    assert clean_response(reply) == answer


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"result": true}', {"result": True}),
        ("{'result': True}", {"result": True}),
        ('```json\n{"result": true}\n```', {"result": True}),
        ('Sure! {"result": true}', {"result": True}),
        ("Here:\n```\n[1, 2]\n```\nDone.", [1, 2]),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('<think>{"no": 1}</think>{"yes": 1}', {"yes": 1}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ("[]", []),
        ("Nothing: {}", {}),
    ],
)
def test_json_that_was_asked_for_is_parsed(reply, value):
    assert clean_response(reply, expects_json=True) == value


@pytest.mark.parametrize("reply", ["I can't.", "", "yes", "5", "```python\nprint(1)\n```"])
def test_a_reply_without_an_object_or_array_stays_text(reply):
    assert clean_response(reply, expects_json=True) == reply


@pytest.mark.parametrize("reply", ["[" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000])
def test_json_nested_too_deep_to_copy_stays_text(reply):
    assert clean_response(reply, expects_json=True) == reply


@pytest.mark.parametrize("loop", ["<think>", "<think ", "`", "```", "[1] see {x} ", '{"a" ', "</think>", "<think>`"])
def test_a_model_that_repeats_itself_for_ever_costs_no_time(loop):
    reply = (loop * 200_000)[:200_000]
    started = time.process_time()
    clean_response(reply, expects_json=True)
    assert time.process_time() - started < 2.0


def test_nothing_stays_nothing():
    assert clean_response(None) is None
    assert clean_text(None) == ""


def test_a_parsed_value_is_shown_as_json():
    assert clean_text({"city": "Köln", "ok": True}) == '{"city": "Köln", "ok": true}'
