"""Signals are summed for each message, and a turn is as good as its best message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ffai.core.memory.fusion import CANDIDATES, EXACT, Fusion, Weights
from ffai.core.memory.keyword import KeywordIndex
from ffai.core.memory.words import Words, words_of
from ffai.core.when import recency

SAID = np.full((3, 2), 10, dtype=np.int32)
FLAT = np.zeros((3, 2))


def order(fusion: Fusion, top_k: int = 10) -> list[int]:
    return fusion.best(top_k).tolist()


def one_of(places: list[tuple[int, int]]) -> np.ndarray:
    signal = np.zeros((3, 2))
    for place in places:
        signal[place] = 1.0
    return signal


def test_each_signal_lifts_the_turns_that_have_it() -> None:
    index = KeywordIndex()
    index.extend([(words_of(text), words_of("yes")) for text in ("a dog", "a cat", "the key")], ["a", "b", "c"])
    for fusion in (
        Fusion(one_of([(2, 1)]), SAID),
        Fusion(np.array([0.0, 0.0, 1.0]), SAID),
        Fusion(FLAT, SAID + np.array([[0], [0], [9]], dtype=np.int32)),
        Fusion(FLAT, SAID, named=one_of([(2, 0)]).astype(bool)),
        Fusion(FLAT, SAID, closeness=np.array([0.0, 0.2, 1.0])),
        Fusion(FLAT, SAID, recency=recency(np.array([0.0, -np.inf, 50.0]), 60.0, 100.0)),
        Fusion(FLAT, SAID, index.look_for(["key"], 3)),
    ):
        assert order(fusion)[0] == 2


def test_a_turn_is_as_good_as_its_best_message() -> None:
    fusion = Fusion(np.array([[0.5, 0.5], [0.0, 0.6], [0.55, -1.0]]), SAID)
    assert order(fusion) == [1, 2, 0]
    assert [fusion.parts(turn).message for turn in range(3)] == [0, 1, 0]


def test_equal_turns_keep_their_order() -> None:
    assert order(Fusion(FLAT, SAID)) == [0, 1, 2]
    assert order(Fusion(FLAT, SAID), top_k=2) == [0, 1]


def test_only_allowed_turns_are_among_the_best() -> None:
    fusion = Fusion(np.array([0.9, 0.8, 0.7]), SAID)
    assert fusion.best(2, np.array([False, True, True])).tolist() == [1, 2]
    assert fusion.best(2, np.zeros(3, dtype=bool)).tolist() == []
    assert fusion.best(0).tolist() == []


def test_a_question_that_names_everybody_names_nobody() -> None:
    said = np.array([[10, 10], [10, 0], [10, 10]], dtype=np.int32)
    everybody = np.array([[True, True], [True, False], [True, True]])
    assert Fusion(FLAT, said, named=everybody).scores.tolist() == Fusion(FLAT, said).scores.tolist()


def test_what_was_not_said_is_not_found() -> None:
    fusion = Fusion(one_of([(0, 1), (2, 1)]), np.array([[10, 0], [9, 12], [0, 0]], dtype=np.int32))
    assert order(fusion) == [1, 0, 2]
    assert fusion.parts(0).message == 0
    assert np.isfinite(fusion.scores).all()


def test_few_words_in_common_count_for_little() -> None:
    index = KeywordIndex()
    index.extend([(words_of(text), words_of("")) for text in ("a dog", "a cat", "the key")], ["a", "b", "c"])
    full = Fusion(FLAT, SAID, index.look_for(words_of("key").kept, 3)).parts(2)
    little = Fusion(FLAT, SAID, index.look_for(words_of("key to success in modern business").kept, 3)).parts(2)
    assert full.words == pytest.approx(Weights().words)
    assert full.coverage > 3 * little.coverage
    assert 0.0 < little.words < full.words / 2


signals = arrays(np.float64, (4, 2), elements=st.floats(-1.0, 1.0))


@given(
    signals,
    arrays(np.int32, (4, 2), elements=st.integers(0, 60)),
    arrays(np.bool_, (4, 2)),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_the_parts_of_a_turn_sum_up_to_its_score(
    cosines: np.ndarray, said: np.ndarray, named: np.ndarray, closeness: list[float]
) -> None:
    index = KeywordIndex()
    texts = ["key", "key and box", "box", ""]
    said[:, 0] = np.maximum(said[:, 0], [len(text.split()) for text in texts])  # a word that is there was said
    index.extend(
        [(Words(words_of(text).kept, int(a)), Words([], int(b))) for text, (a, b) in zip(texts, said, strict=True)],
        "aabb",
    )
    fusion = Fusion(cosines, said, index.look_for(["key", "lamp"], 4), named=named, closeness=np.array(closeness))
    for turn in range(4):
        parts = fusion.parts(turn)
        assert parts.score == pytest.approx(float(fusion.scores[turn]), abs=1e-4)
        assert 0.0 <= parts.coverage <= 1.0
    scores = fusion.scores[fusion.best(4)]
    assert (scores[:-1] >= scores[1:]).all()


def test_of_many_turns_those_near_the_words_are_found_too() -> None:
    number = EXACT
    index = KeywordIndex()
    index.extend([(words_of(f"thing {turn}"), words_of("so it is")) for turn in range(number)], range(number))
    index.extend([(words_of("Where is the museum?"), words_of("In the old mill by the river."))], ["one"])
    scores = index.look_for(["museum"], number + 1)
    fusion = Fusion(np.zeros((number + 1, 2)), index.said(number + 1), scores)
    assert order(fusion, top_k=1) == [number]
    assert fusion.parts(number).context == pytest.approx(Weights().context)
    assert len(fusion.best(CANDIDATES)) == CANDIDATES
    far = fusion.best(number + 1)[-1]
    assert fusion.parts(far).score == pytest.approx(float(fusion.scores[far]), abs=1e-4)
