"""A form as JSON within a budget."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.asking.payload import NOTE, payload_of

leaves = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | st.text(max_size=300)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=25,
)
forms = st.dictionaries(st.text(max_size=8), values, max_size=8)


def whole(form: dict[str, Any]) -> str:
    return json.dumps(form, indent=2, ensure_ascii=False)


@given(forms, st.integers(2, 1500))
def test_it_is_valid_json_within_the_budget_and_whole_where_it_fits(form: dict[str, Any], budget: int) -> None:
    payload = payload_of(form, budget)
    assert len(payload) <= budget
    assert isinstance(json.loads(payload), dict)
    if len(whole(form)) <= budget:
        assert payload == whole(form)
    elif budget >= 40:
        assert NOTE in json.loads(payload)


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), st.text(max_size=20), max_size=5),
    st.text(st.characters(codec="utf-8"), min_size=3, max_size=9),
)
def test_short_fields_stay_whole_beside_a_long_one(form: dict[str, str], part: str) -> None:
    form = {**form, "body": part * 1000}
    payload = payload_of(form, 2000)
    shown = json.loads(payload)
    assert shown.pop(NOTE) == {"body": len(form["body"])}
    assert shown["body"].endswith("…")
    assert form["body"].startswith(shown["body"][:-1])
    assert {**shown, "body": ""} == {**form, "body": ""}
    assert len(payload) > 1900


def test_a_body_of_120_000_characters_is_cut_and_named() -> None:
    form = {"id": 1, "title": "Tea", "body": "x" * 120_000, "status": "draft"}
    shown = json.loads(payload_of(form, 100_000))
    assert shown[NOTE] == {"body": 120_000}
    assert (shown["id"], shown["title"], shown["status"]) == (1, "Tea", "draft")
    small = payload_of(form, 100)
    assert len(small) <= 100
    assert json.loads(small)[NOTE]
    assert payload_of(form, None) == whole(form)


def test_the_longest_texts_are_shortened_alike() -> None:
    shown = json.loads(payload_of({"a": "a" * 9000, "b": "b" * 500, "c": "c" * 9000}, 5000))
    assert shown["b"] == "b" * 500
    assert abs(len(shown["a"]) - len(shown["c"])) <= 1
    assert shown[NOTE] == {"a": 9000, "c": 9000}


def test_lists_lose_their_tail_where_texts_are_not_enough() -> None:
    rows = [{"n": at, "word": "tea"} for at in range(5000)]
    shown = json.loads(payload_of({"title": "Tea", "rows": rows, "more": {"deep": {"k": "v"}}}, 4000))
    kept = shown["rows"]
    assert 10 < len(kept) < 5000
    assert kept == rows[: len(kept)]
    assert shown[NOTE] == {"rows": 5000}
    assert shown["more"] == {"deep": {"k": "v"}}


def test_what_lies_deeper_is_named_by_its_path() -> None:
    shown = json.loads(payload_of({"author": {"notes": ["short", "x" * 5000]}}, 1000))
    assert shown[NOTE] == {"author.notes[1]": 5000}


def test_a_column_that_is_called_like_the_note_stays() -> None:
    shown = json.loads(payload_of({NOTE: "mine", "body": "x" * 5000}, 1000))
    assert shown[NOTE] == "mine"
    assert shown[f"{NOTE}_"] == {"body": 5000}


def test_hundreds_of_columns_are_left_out_from_the_end() -> None:
    form = {f"column_{at}": at for at in range(500)}
    shown = json.loads(payload_of(form, 300))
    assert shown.pop(NOTE) is True
    assert list(shown) == list(form)[: len(shown)]
    assert len(shown) > 5


@pytest.mark.parametrize(("budget", "payload"), [(1, ""), (2, "{}"), (9, "{}")])
def test_a_budget_without_room_gives_next_to_nothing(budget: int, payload: str) -> None:
    assert payload_of({"title": "Tea and more"}, budget) == payload


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_refused(budget: int) -> None:
    with pytest.raises(InvalidArgumentError, match="max_data_length"):
        payload_of({}, budget)


@pytest.mark.parametrize("budget", [True, 10.5, float("inf"), "10"])
def test_a_budget_that_is_no_whole_number_is_refused(budget: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="max_data_length"):
        payload_of({}, budget)


def test_megabytes_are_cut_without_writing_them_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda *args, **kwargs: written.append(text := dumps(*args, **kwargs)) or text)
    form = {"body": "x" * 3_000_000, "rows": [["tea", "cup"]] * 100_000}
    assert len(payload_of(form, 50_000)) <= 50_000
    assert sum(len(text) > 50_000 for text in written) == 1
