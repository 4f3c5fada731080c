"""A value that works is used again; one that fails, or is long not tried, is not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.memory.confidence import Confidence
from ffai.objects.memory.learning import LearningMemory
from ffai.objects.memory.record_memory import RecordMemory
from tests.objects.memory_places import Article, Clock, Parser, Place

A = Article(id="a-1")
HOUR = 3600.0


@pytest.fixture
def learn(place: Place) -> Callable[..., Any]:
    """Make a learning memory of the place."""

    def made(whose: object = A, **options: Any) -> Any:
        return place.door(LearningMemory(place.record_memory(), whose, clock=place.clock, **options))

    return made


@pytest.fixture
def learning(learn: Callable[..., Any]) -> Any:
    return learn()


def counts(entry: Any) -> tuple[float, int, int]:
    return round(entry.confidence, 9), entry.success_count, entry.failure_count


def test_outcomes_move_the_confidence(learning: Any) -> None:
    assert counts(learning.capture("s", "k", "v", success=True)) == (0.9, 1, 0)
    assert counts(learning.capture("s", "k", success=True)) == (0.95, 2, 0)
    assert counts(learning.capture("s", "k", success=False)) == (0.625, 2, 1)
    assert learning.recall("s") == []
    (found,) = learning.recall("s", min_confidence=0.5)
    assert (found.value, found.source, found.similarity, *counts(found)) == ("v", "context", None, 0.625, 2, 1)


def test_a_failed_start_is_promoted_by_its_second_success(learning: Any) -> None:
    assert learning.capture("s", "k", "v", success=False).confidence == 0.3
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.65)
    assert learning.recall("s") == []
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.825)
    assert [entry.value for entry in learning.recall("s")] == ["v"]


@pytest.mark.parametrize("half_life", [HOUR, timedelta(hours=1)], ids=repr)
def test_time_wears_confidence_off(learn: Callable[..., Any], clock: Clock, half_life: Any) -> None:
    learning = learn(half_life=half_life, min_confidence=0.1)
    learning.capture("s", "k", "v", success=True)
    clock.now += HOUR
    assert learning.recall("s")[0].confidence == pytest.approx(0.45)
    assert learning.recall("s", min_confidence=0.46) == []
    assert learning.recall("s", now=clock.now + HOUR)[0].confidence == pytest.approx(0.225)


def test_a_clock_that_is_behind_adds_nothing(learn: Callable[..., Any], clock: Clock) -> None:
    learning = learn(half_life=HOUR)
    learning.capture("s", "k", "v", success=True)
    clock.now -= 10 * HOUR
    assert learning.recall("s")[0].confidence == 0.9
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.95)


def test_what_was_written_by_hand_wears_off_from_then(learn: Callable[..., Any], memory: Any, clock: Clock) -> None:
    learning = learn(half_life=HOUR, min_confidence=0.1)
    memory.remember(A, "s", "k", "v", confidence=0.8)
    clock.now += HOUR
    assert learning.recall("s")[0].confidence == pytest.approx(0.4)
    learning.capture("s", "k", success=False)
    clock.now += HOUR
    memory.remember(A, "s", "k", "v", confidence=0.9)
    assert learning.recall("s")[0].confidence == pytest.approx(0.9)


def test_a_failure_never_raises_a_low_confidence(learn: Callable[..., Any], memory: Any, clock: Clock) -> None:
    memory.remember(A, "s", "low", "v", confidence=0.1)
    assert learn().capture("s", "low", success=False).confidence <= 0.1
    learning = learn(half_life=HOUR)
    learning.capture("s", "old", "v", success=True)
    clock.now += 2 * HOUR
    assert learning.capture("s", "old", success=False).confidence <= 0.225


def test_a_success_starts_from_what_time_has_left(learn: Callable[..., Any], clock: Clock) -> None:
    learning = learn(half_life=HOUR)
    learning.capture("s", "k", "v", success=True)
    clock.now += 2 * HOUR
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.225 + 0.5 * 0.775)
    assert learning.recall("s", min_confidence=0.6)[0].confidence == pytest.approx(0.6125)


def test_reading_keeps_nothing_fresh(learn: Callable[..., Any], clock: Clock) -> None:
    learning = learn(half_life=HOUR, min_confidence=0)
    learning.capture("s", "k", "v", success=True)
    for _ in range(20):
        clock.now += HOUR / 10
        learning.recall("s")
    assert learning.recall("s")[0].confidence == pytest.approx(0.225)


def test_only_what_is_returned_counts_as_used(place: Place, learning: Any, clock: Clock) -> None:
    learning.capture("s", "best", 1, success=True)
    learning.capture("s", "best", success=True)
    learning.capture("s", "next", 2, success=True)
    learning.capture("above", "k", 3, success=True)
    written = clock.now
    clock.now += 5
    (given_out,) = learning.recall("s", limit=1)
    assert (given_out.key, given_out.last_used_at) == ("best", written)
    assert {row["key"]: row["last_used_at"] for row in place.rows()} == {
        "best": clock.now,
        "next": written,
        "k": written,
    }
    assert {row["last_outcome_at"] for row in place.rows()} == {written}
    clock.now += 5
    assert learning.recall("s", limit=0) == []
    assert {row["last_used_at"] for row in place.rows()} == {clock.now - 5, written}


def test_an_expired_value_is_absent_and_learned_anew(learning: Any, clock: Clock) -> None:
    learning.capture("s", "k", "v", success=True, metadata={"old": 1}, expires_in=HOUR)
    first = learning.capture("s", "k", success=True)
    clock.now += HOUR
    assert learning.recall("s") == []
    assert learning.capture("s", "k", success=True) is None
    again = learning.capture("s", "k", "new", success=True, expires_in=HOUR)
    assert counts(again) == (0.9, 1, 0)
    assert again.id != first.id
    assert [entry.value for entry in learning.recall("s")] == ["new"]


def test_a_new_expiry_alone_revives_an_expired_value(learning: Any, clock: Clock) -> None:
    learning.capture("s", "k", "v", success=True, expires_at=clock.now + 1)
    clock.now += HOUR
    revived = learning.capture("s", "k", success=True, expires_in=HOUR)
    assert (revived.value, *counts(revived)) == ("v", 0.9, 1, 0)
    assert [entry.value for entry in learning.recall("s")] == ["v"]


def test_an_expiry_can_be_moved_and_stays_where_it_is_not_named(learning: Any, memory: Any, clock: Clock) -> None:
    learning.capture("s", "k", "v", success=True, expires_in=10)
    learning.capture("s", "k", success=True)
    assert memory.recall_entry(A, "s", "k").expires_at == clock.now + 10
    learning.capture("s", "k", success=True, expires_in=HOUR)
    assert memory.recall_entry(A, "s", "k").expires_at == clock.now + HOUR
    learning.capture("s", "k", success=True, expires_at=None)
    assert memory.recall_entry(A, "s", "k").expires_at is None


def test_an_outcome_of_nothing_is_none(place: Place, learning: Any) -> None:
    assert learning.capture("s", "k", success=True) is None
    assert learning.capture("s", "k", success=False, expires_in=5) is None
    assert place.rows() == []


def test_none_is_a_value(learning: Any) -> None:
    assert learning.capture("s", "k", None, success=True).value is None
    assert learning.recall("s")[0].value is None


def test_a_value_is_replaced_where_one_is_given(learning: Any) -> None:
    learning.capture("s", "k", "old", success=True)
    assert learning.capture("s", "k", success=True).value == "old"
    assert learning.capture("s", "k", "new", success=True).value == "new"


def test_metadata_is_added_to_and_the_last_error_kept(learning: Any, memory: Any) -> None:
    learning.capture("s", "k", "v", success=True, metadata={"a": 1})
    learning.capture("s", "k", success=False, metadata={"b": 2}, error=TimeoutError("no answer"))
    assert memory.recall_entry(A, "s", "k").metadata == {"a": 1, "b": 2, "last_error": "TimeoutError: no answer"}
    learning.capture("s", "k", success=False, error="refused")
    assert memory.recall_entry(A, "s", "k").metadata == {"a": 1, "b": 2, "last_error": "refused"}


def test_damaged_metadata_does_not_stop_an_outcome(place: Place, learning: Any, memory: Any) -> None:
    learning.capture("s", "k", "v", success=True)
    place.execute(place.tables.memories.update().values(metadata="{cut"))
    assert learning.capture("s", "k", success=True, metadata={"b": 2}).success_count == 2
    assert memory.recall_entry(A, "s", "k").metadata == {"b": 2}


@pytest.mark.parametrize(
    ("score", "threshold", "success"),
    [(0.1, 0.0, True), (0.0, 0.0, False), (-1, 0.0, False), (0.7, 0.7, False), (0.8, 0.7, True), (math.inf, 0, True)],
)
def test_a_score_above_the_threshold_is_a_success(learning: Any, score: float, threshold: float, success: bool) -> None:
    entry = learning.capture("s", "k", "v", score=score, threshold=threshold)
    assert counts(entry) == ((0.9, 1, 0) if success else (0.3, 0, 1))


@pytest.mark.parametrize("place", ["sqlite", "aiosqlite"], indirect=True)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, InvalidArgumentError),
        ({"success": True, "score": 1.0}, InvalidArgumentError),
        ({"score": math.nan}, InvalidArgumentError),
        ({"score": 1.0, "threshold": math.nan}, InvalidArgumentError),
        ({"score": "good"}, ArgumentTypeError),
        ({"success": 1}, ArgumentTypeError),
        ({"success": True, "error": 5}, ArgumentTypeError),
        ({"success": True, "metadata": {"x": {1}}}, ArgumentTypeError),
        ({"success": True, "value": math.nan}, InvalidArgumentError),
        ({"success": True, "expires_in": -1}, InvalidArgumentError),
        ({"success": True, "scope": "a//b"}, InvalidArgumentError),
        ({"success": True, "key": ""}, InvalidArgumentError),
    ],
)
def test_a_wrong_outcome_is_refused_and_nothing_changes(
    place: Place, learning: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    learning.capture("s", "k", "v", success=True)
    before = place.rows()
    with pytest.raises(error):
        learning.capture(**{"scope": "s", "key": "k", "value": 2, **options})
    assert place.rows() == before


@pytest.mark.parametrize("place", ["sqlite", "aiosqlite"], indirect=True)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"scope": ""}, InvalidArgumentError),
        ({"key": ""}, InvalidArgumentError),
        ({"query": " "}, InvalidArgumentError),
        ({"min_confidence": 2}, InvalidArgumentError),
        ({"limit": -1}, InvalidArgumentError),
        ({"limit": True}, ArgumentTypeError),
        ({"semantic_limit": -1}, InvalidArgumentError),
        ({"min_similarity": math.nan}, InvalidArgumentError),
        ({"min_similarity": 2}, InvalidArgumentError),
        ({"include_ancestors": 1}, ArgumentTypeError),
        ({"now": "noon"}, ArgumentTypeError),
    ],
)
def test_recalling_refuses_wrong_arguments(learning: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        learning.recall(**{"scope": "s", **options})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"min_confidence": 1.1}, InvalidArgumentError),
        ({"success_confidence": math.nan}, InvalidArgumentError),
        ({"failure_confidence": "low"}, ArgumentTypeError),
        ({"reinforcement": -0.5}, InvalidArgumentError),
        ({"half_life": 0}, InvalidArgumentError),
        ({"half_life": timedelta(0)}, InvalidArgumentError),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        LearningMemory(RecordMemory(create_engine("sqlite://")), A, **options)


def test_the_first_scope_that_has_something_gives_all_of_it(learning: Any) -> None:
    learning.capture("a/b", "failed", 1, success=False)
    learning.capture("a", "k1", 2, success=True)
    learning.capture("a", "k2", 3, success=True)
    learning.capture("a", "k2", success=True)
    learning.capture("global", "k3", 4, success=True)
    assert [entry.key for entry in learning.recall("a/b/c")] == ["k2", "k1"]
    assert [entry.key for entry in learning.recall("a/b", min_confidence=0.1)] == ["failed"]
    assert [entry.key for entry in learning.recall("z")] == ["k3"]
    assert [entry.key for entry in learning.recall("a/b", key="k3")] == ["k3"]
    assert learning.recall("a/b", include_ancestors=False) == []


def test_only_version_one_learns(learning: Any, memory: Any) -> None:
    memory.remember(A, "s", "k", "second", version=2)
    assert learning.recall("s") == []
    learning.capture("s", "k", "first", success=True)
    assert [entry.value for entry in learning.recall("s")] == ["first"]


def test_a_damaged_value_is_left_out(place: Place, learning: Any) -> None:
    learning.capture("s", "bad", 1, success=True)
    learning.capture("s", "good", 2, success=True)
    table = place.tables.memories
    place.execute(table.update().where(table.c.key == "bad").values(value="{"))
    assert [entry.value for entry in learning.recall("s")] == [2]
    assert learning.capture("s", "bad", success=True) is None
    assert learning.capture("s", "bad", "mended", success=True).value == "mended"


def test_nobody_learns_from_another(learn: Callable[..., Any]) -> None:
    for whose in (Article(id="1"), Article(id="2"), Article, Parser(id=1)):
        assert learn(whose).recall("s") == []
        assert learn(whose).capture("s", "k", "v", success=True).success_count == 1


@dataclass
class Found:
    """A hit, as a search gives it."""

    id: str
    similarity: float
    record: object


class Shown(Found):
    def public(self) -> dict[str, Any]:
        return {"id": self.id}


def test_hits_of_a_search_are_mixed_in_by_their_similarity(learn: Callable[..., Any]) -> None:
    asked: list[tuple[str, int, float]] = []

    def search(query: str, limit: int, min_similarity: float) -> list[Found]:
        asked.append((query, limit, min_similarity))
        return [Shown("a-2", 0.95, A), Found("a-3", 0.8, "the record")]

    learning = learn(searcher=search)
    learning.capture("s", "k", "v", success=True)
    first, second, third = learning.recall("s", query="how to parse")
    assert (first.value, first.scope, first.source, first.similarity) == ({"id": "a-2"}, "semantic", "semantic", 0.95)
    assert (second.value, second.source) == ("v", "context")
    assert (third.value, third.key, third.confidence, third.success_count) == ("the record", "a-3", 0.8, 0)
    assert [entry.key for entry in learning.recall("s", query="q", limit=1)] == ["a-2"]
    learning.recall("s", query="q", min_confidence=0.2, semantic_limit=3)
    learning.recall("s", query="q", min_similarity=-0.5)
    assert asked[1:] == [("q", 10, 0.7), ("q", 3, 0.2), ("q", 10, -0.5)]


def test_nothing_is_searched_without_a_query_or_a_limit(learn: Callable[..., Any]) -> None:
    def search(*_: Any) -> list[Found]:
        raise AssertionError

    learning = learn(searcher=search)
    assert learning.recall("s") == []
    assert learning.recall("s", query="q", semantic_limit=0) == []
    assert learning.recall("s", query="q", limit=0) == []
    assert learn().recall("s", query="q") == []


def test_a_searcher_may_be_a_flow_of_steps(place: Place, learn: Callable[..., Any]) -> None:
    flows = place.record_memory().flows

    def search(query: str, limit: int, min_similarity: float) -> Any:
        entries = yield from flows.entries_flow(Article)
        return [Found(entry.key, 0.9, entry.value) for entry in entries]

    place.memory().remember(Article, "s", "k", "found")
    assert [entry.value for entry in learn(searcher=search).recall("s", query="q")] == ["found"]


async def test_a_searcher_that_is_awaited_serves_the_twin(tmp_path: Any) -> None:
    async def search(query: str, limit: int, min_similarity: float) -> list[Found]:
        await asyncio.sleep(0)
        return [Found("a-2", 0.9, query)]

    memory = RecordMemory(create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'app.db'}"))
    await memory.acreate_all()
    assert [e.value for e in await LearningMemory(memory, A, searcher=search).arecall("s", query="q")] == ["q"]
    plain = RecordMemory(create_engine("sqlite://"))
    plain.create_all()
    with pytest.raises(ArgumentTypeError, match="arecall"):
        LearningMemory(plain, A, searcher=search).recall("s", query="q")


def test_within_a_session_outcomes_are_part_of_its_transaction(place: Place) -> None:
    with Session(place.plain) as session:
        bound = RecordMemory(place.plain, tables=place.tables, session=session)
        assert LearningMemory(bound, A).capture("s", "k", "v", success=True) is not None
        session.rollback()
    assert place.rows() == []


fractions = st.floats(0, 1)
confidences = st.builds(
    Confidence,
    floor=fractions,
    success=fractions,
    failure=fractions,
    reinforcement=fractions,
    half_life=st.none() | st.floats(1e-3, 1e9),
)


@given(confidences, fractions, st.floats(-1e12, 1e12))
def test_time_only_takes_away(confidence: Confidence, stored: float, age: float) -> None:
    assert 0 <= confidence.worn(stored, age=age) <= stored


@given(confidences, fractions)
def test_a_success_never_lowers_and_a_failure_never_raises(confidence: Confidence, before: float) -> None:
    assert before - 1e-12 <= confidence.after(before, success=True) <= 1
    assert 0 <= confidence.after(before, success=False) <= before


@given(confidences, st.lists(st.tuples(st.booleans(), st.floats(-1e6, 1e9)), max_size=20))
def test_whatever_happens_it_stays_between_zero_and_one(
    confidence: Confidence, story: list[tuple[bool, float]]
) -> None:
    now = confidence.first(success=True)
    for success, age in story:
        now = confidence.after(confidence.worn(now, age=age), success=success)
        assert 0 <= now <= 1
