"""Comparing vectors."""

import numpy as np
import pytest

from ffai.core.memory import cosine_similarity
from ffai.core.similarity import as_vector, candidates, cosine, unit
from ffai.errors import BadVectorError, DimensionError, EmbeddingError


@pytest.mark.parametrize(
    ("a", "b", "score"),
    [
        ([1.0, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([1.0, 0.0], [-1.0, 0.0], -1.0),
        ([1.0, 1.0], [1.0, 0.0], 0.5**0.5),
        ([3, 4], [30, 40], 1.0),
        ([5e-324, 0.0], [5e-324, 0.0], 1.0),
        ([1e-200, 1e-200], [1e200, 1e200], 1.0),
        ([1.7e308, 1.7e308], [1.7e308, -1.7e308], 0.0),
    ],
)
def test_a_score_is_the_cosine_of_the_angle_whatever_the_lengths(a: list[float], b: list[float], score: float) -> None:
    assert cosine_similarity(a, b) == pytest.approx(score, abs=1e-15)
    assert cosine_similarity(b, a) == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize("other", [[0.0, 0.0], [1.0, 2.0], [-1.0, 0.0]])
def test_a_vector_of_zeros_scores_zero_against_everything(other: list[float]) -> None:
    assert cosine_similarity([0.0, 0.0], other) == 0.0
    assert cosine_similarity(other, [0.0, 0.0]) == 0.0


def test_a_score_is_a_plain_number() -> None:
    assert type(cosine_similarity(np.array([1.0, 2.0]), [2.0, 1.0])) is float


def test_vectors_of_different_sizes_are_refused_with_both_sizes() -> None:
    with pytest.raises(DimensionError, match=r"3 dimensions.* 2") as caught:
        cosine_similarity([1.0, 2.0], [1.0, 2.0, 3.0])
    assert (caught.value.found, caught.value.expected) == (3, 2)
    with pytest.raises(DimensionError):
        cosine(np.array([1.0, 2.0]), np.ones((4, 3)))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [[1.0, 2.0]],
        1.0,
        None,
        "text",
        ["a", "b"],
        [[1.0], [1.0, 2.0]],
        [None, 1.0],
        {"a": 1},
        [float("nan"), 1.0],
        [float("inf"), 1.0],
        [10**400],
        [1j, 2.0],
        np.array([1j, 2.0]),
    ],
)
def test_what_is_not_a_flat_list_of_finite_numbers_is_no_vector(values: object) -> None:
    with pytest.raises(BadVectorError) as caught:
        as_vector(values)  # type: ignore[arg-type]
    assert isinstance(caught.value, (ValueError, EmbeddingError))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, np.uint8])
def test_arrays_of_any_kind_of_number_are_vectors(kind: type) -> None:
    assert as_vector(np.array([1, 2, 3], dtype=kind)).tolist() == [1.0, 2.0, 3.0]


def test_a_checked_vector_is_a_copy() -> None:
    given = np.array([1.0, 2.0])
    checked = as_vector(given)
    given[0] = 9.0
    assert checked.tolist() == [1.0, 2.0]


def test_comparing_leaves_its_arguments_alone() -> None:
    query, rows = np.array([3.0, 4.0]), np.array([[3.0, 4.0], [0.0, 0.0]])
    cosine(query, rows)
    assert (query.tolist(), rows.tolist()) == ([3.0, 4.0], [[3.0, 4.0], [0.0, 0.0]])


def test_scaling_to_length_one_keeps_a_vector_of_zeros() -> None:
    assert unit(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert np.linalg.norm(unit(np.array([1e-320, 1e-320]))) == pytest.approx(1.0)


def test_equal_rows_have_equal_scores_wherever_they_stand() -> None:
    random = np.random.default_rng(7)
    for dimensions in (2, 3, 5, 17, 64, 384, 1001):
        query, row = random.normal(size=dimensions), random.normal(size=dimensions)
        for count in range(1, 20):
            rows = np.repeat(row[None], count, axis=0)
            assert len(set(cosine(query, rows).tolist())) == 1
        assert set(cosine(query, rows).tolist()) == {cosine(query, row[None])[0]}


def test_candidates_are_all_rows_that_the_rounding_may_hide() -> None:
    scores = np.array([0.50, 0.49, 0.10, 0.48, -0.9], dtype=np.float32)
    assert candidates(scores, 1, 0.0).tolist() == [0]
    assert candidates(scores, 1, 0.0051).tolist() == [0, 1]
    assert candidates(scores, 2, 0.0051).tolist() == [0, 1, 3]
    assert candidates(scores, 99, 0.0).tolist() == [0, 1, 2, 3, 4]
