"""Prompts are checked and cleaned once, on the way in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.chat import check_prompt
from ffai.errors import ArgumentTypeError, InvalidArgumentError

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", [""], [{"type": "text", "text": " "}]])
def test_a_blank_prompt_is_refused_by_name(blank: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"Empty prompt.*`prompt`"):
        check_prompt(blank)


@pytest.mark.parametrize("wrong", [None, 5, b"text", {"type": "text", "text": "x"}, [], (), object()])
def test_what_is_neither_text_nor_parts_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="`prompt` must be text or a list of message parts"):
        check_prompt(wrong)


@pytest.mark.parametrize("wrong", [None, 5, {}, {"type": 3}, {"text": "no type"}, ["nested"]])
def test_a_wrong_part_is_refused_by_its_place(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"`prompt\[1\]`"):
        check_prompt(["first", wrong])


def test_a_text_part_must_have_text() -> None:
    with pytest.raises(ArgumentTypeError, match=r'`prompt\[0\]`.*"text" is None'):
        check_prompt([{"type": "text", "text": None}])


def test_text_among_parts_becomes_a_text_part() -> None:
    assert check_prompt(["What is this?", IMAGE]) == [{"type": "text", "text": "What is this?"}, IMAGE]


def test_the_parts_given_are_not_shared() -> None:
    given = [{"type": "image_url", "image_url": {"url": "data:..."}}]
    check_prompt(given)[0]["image_url"]["url"] = "other"
    assert given[0]["image_url"]["url"] == "data:..."


def test_an_image_alone_is_a_prompt() -> None:
    assert check_prompt([IMAGE]) == [IMAGE]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ude00 half", "\ufffd half"),
        ("whole \ud83d\ude00", "whole 😀"),
        ("nul\x00 and שלום and é", "nul\x00 and שלום and é"),
    ],
)
def test_unencodable_characters_are_replaced(given: str, kept: str) -> None:
    assert check_prompt(given) == kept
    assert check_prompt([{"type": "text", "text": given, "nested": [{"deep": given}]}]) == [
        {"type": "text", "text": kept, "nested": [{"deep": kept}]}
    ]


@given(st.text(alphabet=st.characters(), min_size=1).filter(lambda text: bool(text.strip())))
def test_cleaned_text_can_be_encoded_and_is_cleaned_only_once(text: str) -> None:
    once = check_prompt(text)
    assert isinstance(once, str)
    once.encode()
    assert check_prompt(once) == once


def test_a_megabyte_passes() -> None:
    assert check_prompt("x" * 1_000_000) == "x" * 1_000_000
