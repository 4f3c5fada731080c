"""Any text and any JSON value goes in, and comes out as it was."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory import Memory, TurnVectorStore, load_store, persist_store
from ffai.core.memory.parts import PART_WORDS, parts_of
from ffai.testing import FakeEmbedder

any_text = st.text(st.characters(), max_size=60)  # halves of emoji, NUL, every script and direction
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | any_text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
metadata = st.dictionaries(any_text, values, max_size=4)


def storable(value: Any) -> Any:
    """What comes back: whole characters, and numbers that JSON knows."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


@given(any_text, metadata, metadata)
def test_a_stored_turn_comes_back_from_memory_and_from_a_file(
    text: str, turn: dict[str, Any], data: dict[str, Any]
) -> None:
    store = TurnVectorStore()
    store.add(text, [0.1, 0.2], turn, data)
    store.add("another", [0.2, 0.1], {}, {})
    right = (storable(text), [0.1, 0.2], storable(turn), storable(data))
    assert next(store.iter_entries()) == right
    with tempfile.TemporaryDirectory() as folder:
        persist_store(store, Path(folder, "turns.parquet"))
        assert list(load_store(Path(folder, "turns.parquet")).iter_entries()) == list(store.iter_entries())


@given(any_text, any_text, metadata)
def test_a_remembered_turn_knows_what_was_asked_and_answered(prompt: str, response: str, data: dict[str, Any]) -> None:
    memory = Memory(FakeEmbedder())
    turn_id = memory.remember(prompt, response, metadata=data)
    memory.flush()
    (hit,) = memory.search("anything")
    memory.close()
    assert (hit.prompt, hit.response) == (storable(prompt), storable(response))
    assert hit.text == (f"{hit.prompt}\n{hit.response}" if response else hit.prompt)
    assert (hit.turn_id, hit.metadata) == (turn_id, storable(data))
    assert hit.turn["content"] == [{"type": "text", "text": hit.text}]
    assert hit.turn["role"] == "assistant"
    json.dumps(hit.turn, allow_nan=False).encode()


separators = st.sampled_from([" ", "\n", "", "\u3000", ", ", "数据库", "ไทย", "a" * 30, "-" * 100])


@given(st.lists(separators, min_size=1, max_size=8), st.integers(0, 600))
def test_the_parts_of_a_long_text_leave_nothing_out(between: list[str], count: int) -> None:
    text = "".join(f"{number:06d}{between[number % len(between)]}" for number in range(count))
    end = 0
    for part in (parts := parts_of(text)):
        start = text.index(part)
        assert not text[end:start].strip(), "only white space is between two parts"
        assert start + len(part) > end
        end = start + len(part)
        assert len(part.split()) <= PART_WORDS
        assert len(part) <= PART_WORDS * 25
    assert not parts or not text[end:].strip()
