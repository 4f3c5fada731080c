"""Reading the end of a turn's JSON gives what reading all of it gives."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory.identity import new_turn, notes_of
from ffai.core.memory.turn_json import read_notes, scope_of, seconds
from ffai.core.scope import MemoryScope

names = st.sampled_from(["metadata", "timestamp", "ffai", "scope", 'x, "metadata": {', '"ffai": {', "a", "\\", '"'])
leaves = names | st.none() | st.booleans() | st.integers(-5, 10**45) | st.floats()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=15,
)
turns = st.dictionaries(names, values, max_size=5)
spaces = st.sampled_from([None, (",", ":"), (", ", ": "), (" , ", " : ")])


def same(a: Any, b: Any) -> bool:
    return bool(repr(a) == repr(b))  # NaN is NaN here


@given(turns, spaces, st.booleans())
def test_any_turn_is_read_as_a_whole_would_be(turn: dict[str, Any], separators: Any, ascii_only: bool) -> None:
    text = json.dumps(turn, separators=separators, ensure_ascii=ascii_only)
    notes = read_notes(text)
    assert same(notes.timestamp, seconds(turn.get("timestamp")))
    assert same(notes.ffai, notes_of(json.loads(text)))
    assert MemoryScope.stored(notes.scope) == scope_of(json.loads(text))


@given(st.text(max_size=30), st.dictionaries(names, values, max_size=3), st.floats(-1e9, 1e9), names)
def test_a_turn_of_ours_is_read_from_its_end(text: str, metadata: dict[str, Any], said_at: float, name: str) -> None:
    scope = MemoryScope(actor_id=name, actor_type="user")
    turn = new_turn(
        text, 'He said: "}], "timestamp": 5, "metadata": {', scope=scope, timestamp=said_at, metadata=metadata
    )
    notes = read_notes(turn.turn)
    assert (notes.timestamp, notes.ffai["turn_id"]) == (said_at, turn.turn_id)
    assert MemoryScope.stored(notes.scope) == scope.validate("add")
