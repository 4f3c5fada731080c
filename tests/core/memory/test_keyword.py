"""The keyword index scores messages as BM25 says, alone and with the words around them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai.core.memory.keyword import KeywordIndex
from ffai.core.memory.keyword_scores import MOST_STEPS, SPAN, KeywordScores
from ffai.core.memory.words import Words, words_of

VOCABULARY = ["ant", "bee", "cow", "dog", "elk"]

spoken_words = st.builds(
    lambda kept, more: Words(kept, len(kept) + more),
    st.lists(st.sampled_from(VOCABULARY), max_size=6),
    st.integers(0, 90),
)
talks = st.lists(st.tuples(spoken_words, spoken_words, st.integers(0, 2)), max_size=12)
"""What was asked, what was answered, and in which conversation."""
questions = st.lists(st.sampled_from([*VOCABULARY, "fox"]), min_size=1, max_size=4)
Talk = Sequence[tuple[Words, Words, int]]


def index_of(talk: Talk, batch: int = 100) -> KeywordIndex:
    index = KeywordIndex()
    for first in range(0, len(talk), batch):
        some = talk[first : first + batch]
        index.extend([(asked, answered) for asked, answered, _ in some], [conversation for *_, conversation in some])
    return index


def all_of(scores: KeywordScores) -> list[list[float]]:
    return [scores.alone.tolist(), scores.around(np.arange(len(scores.alone))).tolist(), [scores.ideal]]


def close(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> bool:
    return all(a == pytest.approx(b, rel=1e-4, abs=1e-5) for a, b in zip(one, other, strict=True))


class Plain:
    """The same, word by word and message by message."""

    def __init__(self, talk: Talk) -> None:
        self.messages = [words for asked, answered, _ in talk for words in (asked, answered)]
        self.conversations = [conversation for *_, conversation in talk for _ in range(2)]
        self.number = sum(words.said > 0 for words in self.messages)
        kept = max(1, sum(len(words.kept) for words in self.messages))
        self.common = kept / max(1, self.number)
        self.margins = 2 * SPAN * kept / max(1, sum(words.said for words in self.messages))

    def rarity(self, word: str) -> float:
        having = sum(word in words.kept for words in self.messages)
        return math.log(1 + (self.number - having + 0.5) / (having + 0.5))

    def bm25(self, counts: Counter[str], asked: Sequence[str], length: float, common: float) -> float:
        norm = 1.2 * (0.25 + 0.75 * length / common)
        return sum(self.rarity(word) * counts[word] * 2.2 / (counts[word] + norm) for word in set(asked))

    def alone(self, message: int, asked: Sequence[str]) -> float:
        words = self.messages[message]
        return self.bm25(Counter(words.kept), asked, len(words.kept), self.common)

    def around(self, message: int, asked: Sequence[str]) -> float:
        words = self.messages[message]
        counts: dict[str, float] = dict(Counter(words.kept))
        for step in (-1, 1):
            between, steps, near = 0, 0, message + step
            while 0 <= near < len(self.messages) and between < SPAN and steps < MOST_STEPS:
                if self.conversations[near] == self.conversations[message]:
                    said = max(1, self.messages[near].said)
                    for word in self.messages[near].kept:
                        counts[word] = counts.get(word, 0.0) + min(1.0, (SPAN - between) / said)
                    between, steps = between + said, steps + 1
                near += step
        length, common = len(words.kept) + self.margins, self.common + self.margins
        return self.bm25(Counter(counts), asked, length, common) if words.said else 0.0


@given(talks, questions)
def test_scores_are_those_of_bm25(talk: Talk, asked: list[str]) -> None:
    plain, index = Plain(talk), index_of(talk)
    alone = [plain.alone(message, asked) for message in range(len(plain.messages))]
    around = [plain.around(message, asked) for message in range(len(plain.messages))]
    ideal = sum(plain.rarity(word) for word in set(asked))
    assert close(all_of(index.look_for(asked, index.count)), [alone, around, [ideal]])


@given(talks, questions, st.integers(1, 5))
def test_turns_may_come_in_any_batches(talk: Talk, asked: list[str], batch: int) -> None:
    one, other = index_of(talk), index_of(talk, batch)
    assert all_of(one.look_for(asked, one.count)) == all_of(other.look_for(asked, other.count))


@given(talks, talks, questions)
def test_who_reads_sees_the_turns_that_were_there(talk: Talk, later: Talk, asked: list[str]) -> None:
    before, after = index_of(talk), index_of([*talk, *later], batch=max(1, len(talk)))
    assert close(all_of(after.look_for(asked, len(talk))), all_of(before.look_for(asked, len(talk))))


@given(talks, questions, st.data())
def test_turns_that_are_not_looked_at_have_no_part(talk: Talk, asked: list[str], data: st.DataObject) -> None:
    among = np.array(
        sorted(data.draw(st.sets(st.integers(0, len(talk) - 1)) if talk else st.just(set()))), dtype=np.intp
    )
    silenced = [
        turn if number in among else (Words([], turn[0].said), Words([], turn[1].said), turn[2])
        for number, turn in enumerate(talk)
    ]
    found = index_of(talk).look_for(asked, len(talk), among)
    alone = index_of([talk[number] for number in among]).look_for(asked, len(among))
    assert close([found.alone.tolist(), [found.ideal]], [alone.alone.tolist(), [alone.ideal]])
    assert close(all_of(found), all_of(index_of(silenced).look_for(asked, len(talk), among)))


@given(talks, questions, st.data())
@settings(max_examples=50)
def test_an_index_of_some_turns_is_as_if_there_were_no_others(
    talk: Talk, asked: list[str], data: st.DataObject
) -> None:
    kept = sorted(data.draw(st.sets(st.integers(0, len(talk) - 1)) if talk else st.just(set())))
    some, fresh = index_of(talk, batch=3).of(np.array(kept, dtype=np.intp)), index_of([talk[number] for number in kept])
    for index in (some, fresh):
        index.extend([(words_of("cow and fox"), words_of("bee"))], [1])
    assert close(all_of(some.look_for(asked, some.count)), all_of(fresh.look_for(asked, fresh.count)))
    assert some.said(some.count).tolist() == fresh.said(fresh.count).tolist()


@given(talks, questions, st.data())
def test_a_message_scores_the_same_alone_and_with_others(talk: Talk, asked: list[str], data: st.DataObject) -> None:
    among = np.array(sorted(data.draw(st.sets(st.integers(0, max(0, len(talk) - 1)), max_size=len(talk)))), np.intp)
    for scores in (index_of(talk).look_for(asked, len(talk)), index_of(talk).look_for(asked, len(talk), among)):
        together = scores.around(np.arange(len(scores.alone)))
        assert together.tolist() == [scores.around(np.array([message]))[0] for message in range(len(together))]


def test_a_word_of_many_messages_is_found_where_one_looks() -> None:
    index = spoken(*([("the key", "a key key")] * 200), conversations=list(map(str, range(200))))
    for count, among in ((200, None), (150, None), (150, np.arange(40, 140)), (200, np.arange(3, 199, 4))):
        found = index.look_for(["key"], count, among).alone
        assert len(found) == 2 * (count if among is None else len(among))
        assert len({*found[::2].tolist()}) == len({*found[1::2].tolist()}) == 1
        assert found[1] > found[0] > 0.0


def spoken(*turns: tuple[str, str], conversations: Sequence[str] | None = None) -> KeywordIndex:
    index = KeywordIndex()
    words = [(words_of(asked), words_of(answered)) for asked, answered in turns]
    index.extend(words, conversations or ["talk"] * len(turns))
    return index


def test_an_answer_is_found_by_the_words_of_what_was_asked() -> None:
    index = spoken(("Where is the museum?", "In the old mill."), ("Nice weather", "Yes"), conversations=["a", "b"])
    scores = index.look_for(words_of("museum").kept, 2)
    assert scores.alone.tolist()[1] == 0.0
    assert (scores.around(np.arange(4)) > 0.0).tolist() == [True, True, False, False]


def test_the_words_of_another_conversation_are_not_near() -> None:
    index = spoken(("museum", ""), ("hello", "there"), ("again", "so"), conversations=["a", "b", "a"])
    scores = index.look_for(["museum"], 3)
    assert (scores.around(np.arange(6)) > 0.0).tolist() == [True, False, False, False, True, True]


def test_words_farther_than_the_span_are_not_near() -> None:
    index = spoken(("museum", "word " * SPAN), ("end", "of it"))
    assert (index.look_for(["museum"], 2).around(np.arange(4)) > 0.0).tolist() == [True, True, False, False]


def test_the_best_come_with_those_that_have_them_near() -> None:
    index = spoken(
        ("museum museum", "yes"), ("museum and much more", "no"), ("dog", "cat"), conversations=["a", "b", "c"]
    )
    assert index.look_for(["museum"], 3).best_and_near(1).tolist() == [0, 1]
    assert index.look_for(["museum"], 3).best_and_near(9).tolist() == [0, 1, 2, 3]
    assert index.look_for(["museum"], 3, np.array([1, 2])).best_and_near(9).tolist() == [0, 1]


def test_of_a_long_question_the_rarest_words_count() -> None:
    often = [f"w{number}" for number in range(40)]
    index = KeywordIndex()
    index.extend([(Words(often, 40), Words(["rare"], 1)), (Words(often, 40), Words([], 0))], ["a", "b"])
    assert index.look_for([*often, "rare"], 2).alone[1] > 0.0


def test_an_empty_index_and_an_empty_question_find_nothing() -> None:
    assert KeywordIndex().look_for(["key"], 0).alone.tolist() == []
    scores = spoken(("a key", "a box")).look_for([], 1)
    assert all_of(scores) == [[0.0, 0.0], [0.0, 0.0], [0.0]]
    assert spoken(("a key", "a box")).look_for(["key"], 1, np.empty(0, dtype=np.intp)).alone.tolist() == []
