import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.turn import content_of, make_turn, plain_copy, text_of, turn_text
from ffai.errors import InvalidArgumentError

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Hello", "Hello"),
        ("", ""),
        ([], ""),
        (["Hello", "again"], "Hello\nagain"),
        ([{"type": "text", "text": "Look:"}, PICTURE], "Look:\n[image_url]"),
        ([PICTURE, {"type": "text", "text": "What is it?"}], "[image_url]\nWhat is it?"),
        ([{"type": "output_text", "text": "Paris"}], "Paris"),
        ([{"text": "no type"}, {"type": 7}, {"type": "text", "text": None}], "no type\n[part]\n[text]"),
        ([b"\x89PNG"], "[bytes]"),
    ],
)
def test_every_text_part_is_read_and_other_parts_are_named(prompt, text):
    assert text_of(prompt) == text


def test_the_bytes_of_a_picture_are_never_kept():
    assert "base64" not in str(content_of([PICTURE, "What is it?"]))


@given(st.text())
def test_a_turn_gives_back_its_text(text):
    turn = make_turn("user", text, timestamp=1.5)
    assert turn == {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1.5, "metadata": {}}
    assert turn_text(turn) == text


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ({"role": "user", "content": "plain"}, "plain"),
        ({"role": "user", "content": {"type": "text", "text": "one part"}}, "one part"),
    ],
)
def test_turns_of_other_shapes_are_understood(turn, text):
    assert turn_text(turn) == text


@given(plain_values)
def test_a_copy_equals_what_it_was_made_of(value):
    assert plain_copy(value) == value


def test_a_copy_shares_no_container():
    value = {"tags": ["a"], "seen": {1}, "pair": ([],)}
    copy = plain_copy(value)
    copy["tags"].append("b")
    copy["seen"].add(2)
    copy["pair"][0].append(3)
    assert value == {"tags": ["a"], "seen": {1}, "pair": ([],)}


def test_what_cannot_be_copied_is_shared():
    lock, now = threading.Lock(), datetime.now(UTC)
    assert plain_copy({"lock": lock, "at": now}) == {"lock": lock, "at": now}


def test_a_value_that_contains_itself_is_refused():
    value: dict = {}
    value["self"] = value
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        plain_copy(value)
