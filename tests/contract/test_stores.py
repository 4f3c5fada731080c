"""What every store of turns does. A new store joins by a line in ``STORES``."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffai import MemoryScope
from ffai.core.memory import Entry, TurnHit, TurnVectorStore, load_store, persist_store
from ffai.errors import ArgumentTypeError, BadVectorError, DimensionError, InvalidArgumentError, ScopeValidationError

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


# Filtering


def owned(**scope: Any) -> dict[str, Any]:
    """A turn with a scope; an actor is a user, unless it says otherwise."""
    actor_type = {"actor_type": "user"} if "actor_id" in scope else {}
    return {**TURN, "metadata": {"ffai": {"scope": actor_type | scope}}}


def texts(store: TurnVectorStore, **wanted: Any) -> list[str]:
    return [hit.text for hit in store.search([1.0, 0.0], 100, **wanted)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (1, ["int"]),
        (1.0, ["int"]),
        ("1", ["str"]),
        (True, ["bool"]),
        (None, ["null"]),
        (0, []),
        (False, []),
        ("", ["empty"]),
        (["a", 1], ["list"]),
        (("a", 1.0), ["list"]),
        (["a"], []),
        ([1, "a"], []),
        ([], []),
        ("a", []),
        ('ä "\\ \n', ["odd"]),
        (date(2026, 5, 1), ["day"]),
        ("2026-05-01", ["day"]),
        (np.int64(1), ["int"]),
        (float("nan"), ["nan"]),
    ],
)
def test_where_compares_values_as_json(store: TurnVectorStore, wanted: Any, found: list[str]) -> None:
    kept = {"int": 1, "str": "1", "bool": True, "null": None, "empty": "", "list": ["a", 1], "odd": 'ä "\\ \n'}
    for name, value in {**kept, "day": date(2026, 5, 1), "nan": float("nan"), "dict": {"a": 1}}.items():
        store.add(name, [1.0, 0.0], TURN, {"key": value})
    store.add("missing", [1.0, 0.0], TURN, {"other": wanted, "deep": {"key": wanted}})
    assert texts(store, where={"key": wanted}) == found


@pytest.mark.parametrize(
    "key", ["ä", "", 'quote "', "back\\slash", "new\nline", "emoji \U0001f600", "\ud800", "a.b", "%"]
)
def test_any_text_can_be_a_key(store: TurnVectorStore, key: str) -> None:
    store.add("with", [1.0, 0.0], TURN, {key: 1})
    store.add("without", [1.0, 0.0], TURN, {f"{key}x": 1, "x": key})
    assert texts(store, where={key: 1}) == ["with"]


def test_all_conditions_must_hold(store: TurnVectorStore) -> None:
    for number in range(12):
        turn = owned(actor_id=f"u{number % 3}", actor_type="user")
        store.add(str(number), [1.0, 0.0], turn, {"even": number % 2 == 0, "n": number})
    assert texts(store, where={"even": True}) == ["0", "2", "4", "6", "8", "10"]
    assert texts(store, where={"even": True}, scope=MemoryScope.user("u1")) == ["4", "10"]
    assert texts(store, where={"even": True, "n": 4}, scope=MemoryScope(actor_id="u1", actor_type="user")) == ["4"]
    assert texts(store, where={"even": True, "n": 5}) == []
    assert texts(store, where={"n": 4}, scope={"actor_id": "u1", "actor_type": "agent"}) == []


def test_a_scope_is_compared_as_whole_values(store: TurnVectorStore) -> None:
    """langgraph #8300, google/adk-python #1019: no character is a wildcard, and every field counts."""
    for name in ("a_b", "axb", "a%", "A_B", "a_b ", "a"):
        store.add(name, [1.0, 0.0], owned(actor_id=name, conversation_id="1"))
    for name in ("a_b", "axb", "a%", "A_B", "a_b ", "a"):
        assert texts(store, scope=MemoryScope.user(name)) == [name]
        assert texts(store, scope=MemoryScope.user(name, conversation="1")) == [name]
        assert texts(store, scope=MemoryScope.user(name, conversation="2")) == []


def test_a_turn_of_nobody_is_not_found_for_somebody(store: TurnVectorStore) -> None:
    store.add("nobody's", [1.0, 0.0], TURN, {"scope": {"actor_id": "alice"}, "actor_id": "alice"})
    store.add("empty", [1.0, 0.0], owned())
    store.add("elsewhere", [1.0, 0.0], {"scope": {"actor_id": "alice"}, "ffai": {"scope": {"actor_id": "alice"}}})
    store.add("no dict", [1.0, 0.0], {"metadata": {"ffai": {"scope": "actor_id"}}})
    store.add("alice's", [1.0, 0.0], owned(actor_id="alice"))
    store.add("a number", [1.0, 0.0], owned(actor_id=5))
    assert texts(store, scope=MemoryScope.user("alice")) == ["alice's"]
    assert texts(store, scope=MemoryScope.user("5")) == []


def test_an_empty_filter_filters_nothing(store: TurnVectorStore) -> None:
    filled(store, [1.0, 0.0], [0.0, 1.0])
    for nothing in ({}, None):
        assert texts(store, where=nothing, scope=nothing) == ["t0", "t1"]
    assert texts(store, scope=MemoryScope()) == ["t0", "t1"]


@pytest.mark.parametrize(
    ("wanted", "error", "told"),
    [
        ({"where": ["key"]}, ArgumentTypeError, "where must be a mapping"),
        ({"where": {1: "a"}}, ArgumentTypeError, "a key of where must be text, not int: 1"),
        ({"where": {"key": {"$in": [1]}}}, ArgumentTypeError, r"where\['key'\] must be a plain value"),
        ({"where": {"key": object()}}, ArgumentTypeError, r"where\['key'\] is a object"),
        ({"scope": "alice"}, ArgumentTypeError, "scope must be a MemoryScope or a mapping"),
        ({"scope": {"userid": "alice"}}, ArgumentTypeError, "no field 'userid'"),
        ({"scope": {1: "alice"}}, ArgumentTypeError, "no field 1"),
        ({"scope": {"actor_id": 5}}, ScopeValidationError, "actor_id must be text, not int: 5"),
        ({"scope": {"actor_id": "alice"}}, ScopeValidationError, "actor_type is missing"),
        ({"scope": {"participant_ids": [""]}}, ScopeValidationError, r"participant_ids\[0\] is empty"),
    ],
)
def test_a_wrong_filter_is_refused_by_name(
    store: TurnVectorStore, wanted: dict[str, Any], error: type[Exception], told: str
) -> None:
    for _ in range(2):
        with pytest.raises(error, match=told):
            store.search([1.0, 0.0], **wanted)
        filled(store, [1.0, 0.0])


def test_a_filter_comes_before_the_ranking(store: TurnVectorStore) -> None:
    for number in range(3000):
        mine = number % 500 == 0
        vector = [0.0, 1.0] if mine else [1.0, 0.0]
        store.add(str(number), vector, owned(actor_id="me" if mine else "them"), parts=[[0.5, 1.0]] if mine else [])
    hits = store.search([1.0, 0.0], 4, scope=MemoryScope.user("me"))
    assert [hit.turn_index for hit in hits] == [0, 500, 1000, 1500]
    assert [hit.score for hit in hits] == pytest.approx([0.2**0.5] * 4)
    assert len(store.search([1.0, 0.0], 100, scope=MemoryScope.user("me"))) == 6
    assert store.search([1.0, 0.0], 4, 0.9, scope=MemoryScope.user("me")) == []


def test_a_filter_sees_what_came_after_its_first_use(store: TurnVectorStore) -> None:
    for number in range(5):
        store.add(f"a{number}", [1.0, 0.0], owned(actor_id="a"), {"n": number})
        assert len(texts(store, scope=MemoryScope.user("a"))) == number + 1
        assert texts(store, scope=MemoryScope.user("b")) == []
        assert texts(store, where={"n": number}) == [f"a{number}"]
    store.clear()
    store.add("b", [1.0, 0.0], owned(actor_id="b"))
    assert (texts(store, scope=MemoryScope.user("a")), texts(store, scope=MemoryScope.user("b"))) == ([], ["b"])


def test_any_number_of_fields_can_be_asked_for(store: TurnVectorStore) -> None:
    for number in range(5):
        store.add(str(number), [1.0, 0.0], TURN, {f"key {key}": number for key in range(200)})
    for key in range(200):
        assert texts(store, where={f"key {key}": key % 7}) == ([str(key % 7)] if key % 7 < 5 else [])
    assert texts(store, where={f"key {key}": 3 for key in range(200)}) == ["3"]


# Expiring


def until(expires_at: Any) -> dict[str, Any]:
    return {**TURN, "metadata": {"ffai": {"expires_at": expires_at}}}


def test_a_turn_that_has_expired_is_found_no_more(store: TurnVectorStore) -> None:
    now = time.time()
    for name, time_ in (("old", now - 1), ("epoch", 0), ("soon", now + 1000), ("never", None)):
        store.add(name, [1.0, 0.0], until(time_), {"kind": "x"})
    assert texts(store) == texts(store, where={"kind": "x"}) == ["soon", "never"]
    assert store.count() == 2
    assert [entry.text for entry in store.iter_entries()] == ["soon", "never"]
    assert store.search([1.0, 0.0])[1].turn_index == 3


@pytest.mark.parametrize("value", ["1", True, [1], float("nan"), float("inf"), 10**400, {"at": 1}, None])
def test_an_expiry_that_is_no_time_is_none(store: TurnVectorStore, value: Any) -> None:
    store.add("kept", [1.0, 0.0], until(value))
    store.add("elsewhere", [1.0, 0.0], {**TURN, "expires_at": 1}, {"expires_at": 1, "ffai": {"expires_at": 1}})
    assert texts(store) == ["kept", "elsewhere"]


def test_a_store_whose_turns_have_all_expired_is_empty(store: TurnVectorStore) -> None:
    store.add("old", [1.0, 0.0], until(1.0))
    assert (texts(store), store.count(), list(store.iter_entries())) == ([], 0, [])
    store.add("new", [1.0, 0.0], TURN)
    assert texts(store) == ["new"]


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
