"""Words come back from a database as they went in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory.words import words_of
from ffai.core.memory.words_row import as_row, from_row


@given(st.text(), st.text())
def test_words_come_back_as_they_were(asked: str, answered: str) -> None:
    turn = words_of(asked), words_of(answered)
    assert from_row(as_row(turn)) == turn


@pytest.mark.parametrize("row", ["", "4 key", "key\n0", "1 a\n1 b\n1 c"])
def test_what_is_no_row_is_refused(row: str) -> None:
    with pytest.raises(ValueError):
        from_row(row)
