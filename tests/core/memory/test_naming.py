"""A question names speakers by their first names, or by all of an id."""

from __future__ import annotations

import pytest

from ffai.core.memory.naming import Speakers


def speakers(*names: str) -> Speakers:
    known = Speakers()
    for name in names:
        known.number(name)
    return known


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Caroline", "What did Caroline say?"),
        ("Caroline", "what about caroline's dog"),
        ("Caroline", "Caroline’s dog?"),
        ("Caroline Smith", "Where does Caroline live?"),
        ("Caroline Smith", "Where does Caroline Smith live?"),
        ("Jo-Ann", "Where is Jo-Ann now?"),
        ("user-7", "What did user-7 ask?"),
        ("alice@example.com", "Mails of alice@example.com?"),
        ("assistant", "What did the assistant recommend?"),
        ("Will", "What did Will say?"),
        ("花子", "花子は何と言いましたか"),
        ("Zoë", "Where is Zoë?"),
    ],
)
def test_a_speaker_is_named(name: str, question: str) -> None:
    assert speakers("Somebody", name).named_in(question) == {1}
    assert name.casefold() not in speakers(name).without_names(question).casefold()


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Ann", "What about Annabel?"),
        ("user-7", "What did the user ask user-71?"),
        ("Will", "When will it rain?"),
        ("", "Who is it?"),
        ("!!!", "What!!!"),
        ("Caroline Smith", "Is there a smith?"),
    ],
)
def test_a_speaker_is_not_named(name: str, question: str) -> None:
    assert not speakers(name).named_in(question)
    assert speakers(name).without_names(question) == question


def test_what_is_left_of_a_question_reads_as_one() -> None:
    assert speakers("Ann Lee", "Bob").without_names("Did Ann Lee meet Bob's sister, Eve?") == "Did meet sister, Eve?"


def test_a_question_that_is_only_a_name_stays() -> None:
    assert speakers("Ann").without_names("Ann?") == "Ann?"


def test_a_name_keeps_its_number() -> None:
    known = speakers("Ann", "Bob")
    assert [known.number(name) for name in ("Bob", "Eve", "Ann")] == [1, 2, 0]
