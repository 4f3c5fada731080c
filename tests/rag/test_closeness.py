"""What is close enough to a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ffai.rag.closeness import Fit, close_ones, is_close

fits = st.builds(Fit, st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
least = st.floats(-1.0, 1.0)


@given(fits, least)
def test_whatever_reaches_the_cosine_is_close(fit: Fit, min_score: float) -> None:
    assert is_close(fit, min_score) or fit.cosine < min_score


@given(st.floats(-1.0, 1.0), least)
def test_without_common_words_only_the_cosine_counts(cosine: float, min_score: float) -> None:
    assert close_ones([Fit(1.0, 1.0), Fit(cosine, 0.0)], min_score) == [True, cosine >= min_score]


@given(st.lists(fits, max_size=6), least)
def test_nothing_follows_where_nothing_is_close(found: list[Fit], min_score: float) -> None:
    assert any(close_ones(found, min_score)) == any(is_close(fit, min_score) for fit in found)


@given(st.lists(fits, min_size=1, max_size=6), fits, least)
def test_another_find_hides_nothing(found: list[Fit], other: Fit, min_score: float) -> None:
    alone, together = close_ones(found, min_score), close_ones([*found, other], min_score)
    assert all(later or not earlier for earlier, later in zip(alone, together, strict=False))
