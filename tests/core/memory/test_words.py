"""Texts are cut into words the same way on both sides, whatever their script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory.words import LONGEST, words_of


def kept(text: str) -> set[str]:
    return set(words_of(text).kept)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Where did the CATS run?", "my cat is running"),
        ("cafe", "We met in the CAFÉ."),
        ("ＷＩＤＥ", "wide"),
        ("straße", "STRASSE 12"),
        ("елка", "Ёлка в углу"),
        ("किताब", "हिन्दी में किताब"),
        ("كتاب", "كِتَاب"),
        ("猫", "我的猫很可爱"),
        ("東京タワー", "昨日、東京タワーに行った"),
        ("서울", "서울에서 만나요"),
        ("ครับ", "สวัสดีครับผมชื่อนิด"),
        ("l'ami", "un ami"),
        ("user-7", "the id is user_7."),
    ],
)
def test_a_question_shares_words_with_a_text_that_says_the_same(question: str, text: str) -> None:
    assert kept(question) & kept(text)


@pytest.mark.parametrize(("one", "other"), [("cat", "catalogue"), ("猫が好き", "犬は嫌い"), ("cafe", "cafeteria")])
def test_texts_about_different_things_share_none(one: str, other: str) -> None:
    assert not kept(one) & kept(other)


def test_words_that_only_build_a_sentence_are_counted_and_not_kept() -> None:
    assert words_of("What is it that you would have been?") == ([], 8)


def test_repeated_words_stay_repeated() -> None:
    assert words_of("Key, keys and a key").kept == ["key", "key", "key"]


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    words = words_of(text)
    assert all(0 < len(word) <= LONGEST for word in words.kept)
    assert bool(words.kept) <= bool(words.said)
    assert words_of(text) == words


@given(st.text(), st.text())
def test_words_do_not_depend_on_what_stands_beyond_a_line_end(before: str, after: str) -> None:
    one, other = words_of(before), words_of(after)
    both = words_of(f"{before}\n{after}")
    assert sorted(both.kept) == sorted(one.kept + other.kept)
    assert both.said == one.said + other.said
