"""What every store of turns does. A new store joins by a line in ``STORES``."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffai.core.memory import Entry, TurnHit, TurnVectorStore, load_store, persist_store
from ffai.errors import ArgumentTypeError, BadVectorError, DimensionError, InvalidArgumentError

TURN: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "text", "text": "a"}],
    "timestamp": 1.5,
    "metadata": {"tags": ["x"]},
}


def fresh(_: Path) -> TurnVectorStore:
    return TurnVectorStore()


def from_an_empty_file(folder: Path) -> TurnVectorStore:
    persist_store(TurnVectorStore(), folder / "empty.parquet")
    return load_store(folder / "empty.parquet")


def cleared(_: Path) -> TurnVectorStore:
    store = TurnVectorStore()
    store.add("gone", [1.0, 2.0, 3.0, 4.0], TURN)
    store.clear()
    return store


STORES: dict[str, Callable[[Path], TurnVectorStore]] = {
    "fresh": fresh,
    "from an empty file": from_an_empty_file,
    "cleared": cleared,
}


@pytest.fixture(params=STORES.values(), ids=STORES.keys())
def store(request: pytest.FixtureRequest, tmp_path: Path) -> TurnVectorStore:
    """An empty store of each kind."""
    made: TurnVectorStore = request.param(tmp_path)
    return made


def filled(store: TurnVectorStore, *vectors: list[float]) -> TurnVectorStore:
    for number, vector in enumerate(vectors):
        store.add(f"t{number}", vector, TURN)
    return store


# Adding


def test_turns_are_numbered_in_the_order_they_are_added(store: TurnVectorStore) -> None:
    assert [store.add(text, [1.0, 0.0], TURN) for text in "abc"] == [0, 1, 2]
    assert store.count() == 3


def test_an_entry_is_text_vector_turn_and_metadata_in_that_order(store: TurnVectorStore) -> None:
    store.add("a", [0.1, 0.2, 0.3], TURN, {"prompt_name": "p"})
    entry = next(store.iter_entries())
    assert Entry._fields == ("text", "embedding", "turn", "metadata")
    assert isinstance(entry, Entry)
    text, embedding, turn, metadata = entry
    assert (text, embedding, turn, metadata) == ("a", [0.1, 0.2, 0.3], TURN, {"prompt_name": "p"})
    assert type(embedding) is list
    assert type(embedding[0]) is float


@pytest.mark.parametrize(
    "vector",
    [
        [0.1, 1 / 3, -2.5],
        [1e-300, 1e300, 5e-324],
        [1.7976931348623157e308, -1.0, 0.0],
        [0.0, -0.0, 0.0],
        np.array([0.1, 0.2, 0.3]),
        np.array([0.1, 0.2, 0.3], dtype=np.float32),
        (1, 2, 3),
    ],
)
def test_the_numbers_of_a_vector_come_back_as_they_were_given(store: TurnVectorStore, vector: Any) -> None:
    store.add("a", vector, TURN)
    assert next(store.iter_entries()).embedding == [float(number) for number in vector]


def test_metadata_that_is_left_out_is_empty(store: TurnVectorStore) -> None:
    store.add("a", [1.0], TURN)
    store.add("b", [1.0], TURN, None)
    assert [hit.metadata for hit in store.search([1.0])] == [{}, {}]


def test_what_was_given_can_be_changed_afterwards(store: TurnVectorStore) -> None:
    vector, turn, metadata = [1.0, 2.0], copy.deepcopy(TURN), {"tags": ["x"]}
    store.add("a", vector, turn, metadata)
    vector[0] = 9.0
    turn["metadata"]["tags"].append("y")
    turn["role"] = "changed"
    metadata["tags"].append("y")
    assert next(store.iter_entries()) == ("a", [1.0, 2.0], TURN, {"tags": ["x"]})


def test_what_comes_out_is_a_copy(store: TurnVectorStore) -> None:
    store.add("a", [1.0, 2.0], TURN, {"tags": ["x"]})
    hit, entry = store.search([1.0, 2.0])[0], next(store.iter_entries())
    for found in (hit, entry):
        found.turn["metadata"]["tags"].append("y")
        found.turn["role"] = "changed"
        found.metadata["tags"].append("y")
    entry.embedding[0] = 9.0
    assert next(store.iter_entries()) == ("a", [1.0, 2.0], TURN, {"tags": ["x"]})
    assert store.search([1.0, 2.0])[0].turn == TURN


@pytest.mark.parametrize(
    ("vector", "error"),
    [
        ([float("nan"), 0.0], BadVectorError),
        ([float("-inf"), 0.0], BadVectorError),
        ([1.0, 0.0, 0.0], DimensionError),
        ([1.0], DimensionError),
        ([], BadVectorError),
        ([[1.0, 0.0]], BadVectorError),
        ("text", BadVectorError),
        (None, BadVectorError),
    ],
)
def test_a_vector_that_can_not_be_compared_is_refused_and_nothing_is_stored(
    store: TurnVectorStore, vector: Any, error: type[Exception]
) -> None:
    filled(store, [1.0, 0.0])
    with pytest.raises(error):
        store.add("bad", vector, TURN)
    with pytest.raises(error):
        store.add("bad part", [1.0, 0.0], TURN, parts=[[1.0, 0.0], vector])
    assert store.count() == 1
    assert [hit.text for hit in store.search([1.0, 0.0])] == ["t0"]
    assert [entry.text for entry in store.iter_entries()] == ["t0"]


def test_a_refused_first_vector_sets_no_size(store: TurnVectorStore) -> None:
    with pytest.raises(BadVectorError):
        store.add("bad", [float("nan"), 0.0], TURN)
    with pytest.raises(DimensionError):
        store.add("bad part", [1.0, 0.0], TURN, parts=[[1.0]])
    assert store.dimensions is None
    assert store.add("a", [1.0, 0.0, 0.0], TURN) == 0
    assert store.dimensions == 3


@pytest.mark.parametrize("where", ["turn", "metadata"])
def test_a_value_that_can_not_be_stored_is_named_and_nothing_is_stored(store: TurnVectorStore, where: str) -> None:
    filled(store, [1.0, 0.0])
    bad = {"turn": TURN, "metadata": {}, where: {"deep": [1, {"key": object()}]}}
    with pytest.raises(ArgumentTypeError, match=rf"{where}\['deep'\]\[1\]\['key'\] is a object"):
        store.add("bad", [1.0, 0.0], bad["turn"], bad["metadata"])
    assert [entry.text for entry in store.iter_entries()] == ["t0"]


@pytest.mark.parametrize(
    "arguments",
    [
        (1, [1.0], TURN),
        ("a", [1.0], None),
        ("a", [1.0], ["turn"]),
        ("a", [1.0], TURN, ["metadata"]),
        (b"a", [1.0], TURN),
    ],
)
def test_text_and_dicts_are_what_they_say(store: TurnVectorStore, arguments: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^(text|turn|metadata) must be"):
        store.add(*arguments)
    assert store.count() == 0


# Searching


def test_a_hit_has_exactly_five_fields_and_is_frozen(store: TurnVectorStore) -> None:
    store.add("a", [1.0, 0.0], TURN, {"prompt_name": "p"})
    (hit,) = store.search([1.0, 0.0])
    assert [field.name for field in dataclasses.fields(TurnHit)] == ["score", "turn", "turn_index", "text", "metadata"]
    assert hit == TurnHit(score=1.0, turn=TURN, turn_index=0, text="a", metadata={"prompt_name": "p"})
    for name in ("score", "turn", "text"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(hit, name, None)
    with pytest.raises(TypeError):
        TurnHit(score=1.0)  # type: ignore[call-arg]


def test_an_empty_store_finds_nothing(store: TurnVectorStore) -> None:
    assert store.search([1.0, 0.0]) == []
    assert list(store.iter_entries()) == []
    assert store.count() == 0


def test_the_best_come_first_and_know_where_they_stand(store: TurnVectorStore) -> None:
    filled(store, [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.0])
    hits = store.search([1.0, 0.0])
    assert [(hit.turn_index, hit.text) for hit in hits] == [(1, "t1"), (2, "t2"), (0, "t0"), (3, "t3")]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5**0.5, 0.0, -1.0])


def test_equal_scores_keep_the_order_they_were_added_in(store: TurnVectorStore) -> None:
    random = np.random.default_rng(3)
    row, query = random.normal(size=384), random.normal(size=384)
    for number in range(37):
        store.add(f"t{number}", row, TURN)
    for top_k in (1, 2, 5, 36, 37, 50):
        assert [hit.turn_index for hit in store.search(query, top_k)] == list(range(min(top_k, 37)))


@pytest.mark.parametrize("top_k", [0, -1, -100])
def test_no_hits_are_given_where_none_are_asked_for(store: TurnVectorStore, top_k: int) -> None:
    assert filled(store, [1.0, 0.0]).search([1.0, 0.0], top_k) == []


def test_five_are_given_unless_told_otherwise_and_never_more_than_there_are(store: TurnVectorStore) -> None:
    filled(store, *[[1.0, float(number)] for number in range(8)])
    assert len(store.search([1.0, 0.0])) == 5
    assert len(store.search([1.0, 0.0], np.int64(3))) == 3  # type: ignore[arg-type]
    assert len(store.search([1.0, 0.0], 10**12)) == 8


def test_a_threshold_keeps_what_is_at_least_as_close(store: TurnVectorStore) -> None:
    filled(store, [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0])
    for threshold, kept in [
        (None, 3),
        (-1.0, 3),
        (0.0, 2),
        (0, 2),
        (1e-9, 1),
        (1.0, 1),
        (2.0, 0),
        (np.float32(0.5), 1),
    ]:
        assert len(store.search([1.0, 0.0], threshold=threshold)) == kept


def test_a_zero_vector_scores_zero_both_ways(store: TurnVectorStore) -> None:
    filled(store, [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0])
    assert [(hit.text, hit.score) for hit in store.search([1.0, 0.0])] == [("t1", 1.0), ("t0", 0.0), ("t2", -1.0)]
    assert [(hit.text, hit.score) for hit in store.search([0.0, 0.0])] == [("t0", 0.0), ("t1", 0.0), ("t2", 0.0)]


@pytest.mark.parametrize("scale", [1e-310, 1e-40, 1.0, 1e30, 1e300])
def test_the_length_of_a_vector_changes_no_score(store: TurnVectorStore, scale: float) -> None:
    filled(store, [3.0 * scale, 4.0 * scale], [4.0 * scale, 3.0 * scale])
    for query in ([1.0, 0.0], [1e-320, 0.0], [1e308, 0.0]):
        hits = store.search(query)
        assert [hit.text for hit in hits] == ["t1", "t0"]
        assert [hit.score for hit in hits] == pytest.approx([0.8, 0.6])


def test_a_turn_scores_as_its_best_part_and_counts_once(store: TurnVectorStore) -> None:
    store.add("short", [0.8, 0.6, 0.0], TURN)
    store.add("long", [0.0, 1.0, 0.0], TURN, parts=[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
    store.add("last", [0.0, 0.6, 0.8], TURN)
    hits = store.search([1.0, 0.0, 0.0])
    assert [(hit.text, hit.turn_index) for hit in hits] == [("long", 1), ("short", 0), ("last", 2)]
    assert hits[0].score == pytest.approx(1.0)
    assert store.count() == 3
    assert [entry.embedding for entry in store.iter_entries()][1] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ([float("nan"), 0.0], BadVectorError),
        ([float("inf"), 0.0], BadVectorError),
        ([1.0], DimensionError),
        ([1.0, 0.0, 0.0], DimensionError),
        ([], BadVectorError),
        ("text", BadVectorError),
    ],
)
def test_a_query_that_can_not_be_compared_is_refused(
    store: TurnVectorStore, query: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        filled(store, [1.0, 0.0]).search(query)


@pytest.mark.parametrize("top_k", ["5", 5.0, None, True, [1]])
def test_a_top_k_that_is_no_whole_number_is_refused_by_name(store: TurnVectorStore, top_k: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="top_k"):
        store.search([1.0, 0.0], top_k)


@pytest.mark.parametrize(
    ("threshold", "error"),
    [
        ("0.5", ArgumentTypeError),
        (True, ArgumentTypeError),
        ([0.5], ArgumentTypeError),
        (float("nan"), InvalidArgumentError),
    ],
)
def test_a_threshold_that_nothing_compares_with_is_refused_by_name(
    store: TurnVectorStore, threshold: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="threshold"):
        store.search([1.0, 0.0], threshold=threshold)


# Clearing


def test_after_clearing_nothing_is_found_and_vectors_of_another_size_fit(store: TurnVectorStore) -> None:
    filled(store, [1.0, 0.0], [0.0, 1.0])
    store.clear()
    assert (store.count(), store.search([1.0, 0.0]), list(store.iter_entries())) == (0, [], [])
    assert store.add("a", [1.0, 0.0, 0.0], TURN) == 0
    assert store.search([1.0, 0.0, 0.0])[0].text == "a"


def test_an_iteration_goes_on_over_what_was_there_when_it_began(store: TurnVectorStore) -> None:
    filled(store, [1.0, 0.0], [0.0, 1.0])
    entries = store.iter_entries()
    first = next(entries)
    store.add("later", [1.0, 0.0], TURN)
    store.clear()
    assert [first.text, *(entry.text for entry in entries)] == ["t0", "t1"]


def test_a_file_and_back_keeps_everything(store: TurnVectorStore, tmp_path: Path) -> None:
    store.add("ä\x00b", [0.1, 1e-300, 1 / 3], TURN, {"n": 1, "deep": {"list": [None, True, 2.5]}})
    store.add("ä\x00b", [0.0, 0.0, 0.0], {}, {})
    store.add("", [1e300, 1.0, -1.0], {"role": "user"}, {"": ""})
    persist_store(store, tmp_path / "turns.parquet")
    loaded = load_store(tmp_path / "turns.parquet")
    assert list(loaded.iter_entries()) == list(store.iter_entries())
    query = [0.3, 0.1, 0.2]
    assert loaded.search(query) == store.search(query)
