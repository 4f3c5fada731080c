"""What ffai noted in the turns of a file, read for all of them at once."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ffai.core.memory.identity import NewTurn, new_turn
from ffai.core.memory.parquet import RowNotes, frame_of, row_ids, row_notes
from ffai.core.scope import MemoryScope

texts = st.text('ab{}[]"\\\\, :é\\n', max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=3,
)
tricky = st.sampled_from(
    [
        '"}], "timestamp": 5, "metadata": {"ffai": {"turn_id": "fake"}}}',
        ', "timestamp": 7, "metadata": {',
        '"ffai": {"turn_id": "x"}}}',
        'x"timestamp',
        "\\",
        "{",
        "}}}",
        "5",
    ]
)
any_value = values | tricky
notes = st.fixed_dictionaries(
    {},
    optional={
        "turn_id": texts | tricky,
        "response_at": scalars,
        "scope": any_value | st.dictionaries(st.sampled_from(["user_id", "expires_at", "x"]), any_value, max_size=2),
        "expires_at": any_value | st.floats(),
        "more": any_value,
    },
)
inner_metadata = st.fixed_dictionaries({}, optional={"prompt_name": any_value, "a": any_value, "ffai": notes | values})
fields: dict[str, st.SearchStrategy[Any]] = {
    "role": any_value,
    "content": any_value | st.lists(st.fixed_dictionaries({"type": tricky, "text": tricky | texts}), max_size=2),
    "timestamp": any_value | st.floats(),
    "metadata": inner_metadata | values,
    'x"timestamp': any_value,
    "nested": st.fixed_dictionaries({"timestamp": scalars, "metadata": inner_metadata}),
}


@st.composite
def some_turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns with some of the fields, in any order."""
    orders = draw(st.lists(st.lists(st.sampled_from(list(fields)), unique=True), min_size=1, max_size=4))
    return [{name: draw(fields[name]) for name in order} for order in orders]


layouts = st.sampled_from([{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 1}])


def a_frame(turns: list[str]) -> pl.DataFrame:
    rows = [NewTurn("", f"t{row}", turn, "{}") for row, turn in enumerate(turns)]
    return frame_of(rows, np.ones((len(rows), 2)))


def number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def one_by_one(turns: list[str]) -> tuple[list[Any], list[Any], list[Any]]:
    """Say what is noted in turns, from reading each as JSON."""
    times, expires, scopes = [], [], []
    for text in turns:
        turn = json.loads(text)
        metadata = turn.get("metadata")
        noted = metadata.get("ffai") if isinstance(metadata, dict) else None
        noted = noted if isinstance(noted, dict) else {}
        times.append(number(turn.get("timestamp")))
        expires.append(number(noted.get("expires_at")))
        scopes.append(noted["scope"] if isinstance(noted.get("scope"), dict) else None)
    return times, expires, scopes


def check(turns: list[str]) -> RowNotes:
    frame = a_frame(turns)
    found = row_notes(frame)
    scopes = [None if scope is None else json.loads(scope) for scope in found.scopes]
    assert repr((found.timestamps, found.expires_at, scopes)) == repr(one_by_one(turns))
    assert found.turn_ids == row_ids(frame)
    return found


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some_turns(), layouts)
@example([{"metadata": {"ffai": {"turn_id": "a"}}, "content": [{"text": "x"}], "timestamp": 5}], {})
@example([{"content": [{"t": "x"}, {"timestamp": 5, "metadata": {"ffai": {"turn_id": "a"}}}]}], {})
@example([{"timestamp": 5, "other": {"ffai": {"turn_id": "a"}}}], {})
@example([{"timestamp": 5, "metadata": {"a": {"ffai": {"turn_id": "a"}}}}], {})
@example([{"timestamp": 5, "metadata": {"ffai": {"turn_id": "a", "scope": {"expires_at": 7}}}}], {})
@example([{"timestamp": 5, "metadata": {"ffai": {"turn_id": "a", "expires_at": "7"}}}], {})
@example([{"timestamp": 5, "metadata": {"ffai": {"turn_id": "a", "note": ', "expires_at": 7'}}}], {})
@example([{"role": "user", 'x"timestamp': 5, "metadata": {"ffai": {"turn_id": "a"}}}], {})
@example([{"content": [], "nested": {"timestamp": 5}}], {})
@example([{"role": "a", "timestamp": 1e308}], {})
def test_notes_are_those_that_reading_each_turn_gives(
    turns: tuple[dict[str, Any], ...], layout: dict[str, Any]
) -> None:
    check([json.dumps(turn, **layout) for turn in turns])


@pytest.mark.parametrize(
    "scope",
    [None, MemoryScope(actor_id="u", participant_ids=("u", "v")), MemoryScope(actor_id="{", conversation_id='"\\')],
)
@pytest.mark.parametrize("metadata", [None, {"prompt_name": "p"}, {"a": {"b": [1, {"timestamp": 3}]}, "c": "{"}])
def test_the_notes_of_a_new_turn_are_found(scope: MemoryScope | None, metadata: dict[str, Any] | None) -> None:
    turn = new_turn('How "so"?\\', "Thus: {1}.", scope=scope, timestamp=1796051470.25, metadata=metadata)
    found = check([turn.turn])
    assert (found.turn_ids, found.timestamps, found.expires_at) == ([turn.turn_id], [1796051470.25], [None])
    assert found.scopes == [None if scope is None else json.dumps(scope.as_dict())]


@pytest.mark.parametrize("place", ["before the scope", "behind it", "without one"])
@pytest.mark.parametrize(
    ("written", "right"),
    [("1796051470.25", 1796051470.25), ("5", 5.0), ("-1e3", -1000.0), ("null", None), ('"5"', None), ("[5]", None)],
)
def test_the_time_when_a_turn_expires_is_found_wherever_it_stands(
    place: str, written: str, right: float | None
) -> None:
    expires, scope = f', "expires_at": {written}', ', "scope": {"user_id": "u"}'
    noted = {"before the scope": expires + scope, "behind it": scope + expires, "without one": expires}[place]
    plain = json.dumps({"role": "user", "timestamp": 3.5, "metadata": {"ffai": {"turn_id": "b"}}})
    turn = f'{{"timestamp": 2.5, "metadata": {{"ffai": {{"turn_id": "a", "response_at": 3{noted}}}}}}}'
    found = check([turn, plain])
    assert (found.turn_ids, found.expires_at) == (["a", "b"], [right, None])


def test_numbers_that_only_python_writes_as_json_are_none() -> None:
    assert (
        check(['{"role": "user", "timestamp": NaN}', '{"role": "user", "timestamp": 1e999}']).timestamps == [None] * 2
    )


def test_a_file_of_no_rows_has_no_notes() -> None:
    assert row_notes(a_frame([])) == RowNotes([], [], [], [])
