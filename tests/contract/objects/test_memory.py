"""Cases C40 to C56: what records and collections remember, and what they learn."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from sqlalchemy import text

from tests.contract.objects.world import Waiting, World, added


@pytest.fixture
def store(world: World) -> Any:
    store = world.open()
    added(world, store, {"id": "a-1"}, {"id": "a-2", "tenant_id": "b"})
    return store


@pytest.fixture
def article(world: World, store: Any) -> Any:
    return world.call(store[world.Article], "get", "a-1")


@pytest.fixture(params=["record", "collection"])
def owner(request: pytest.FixtureRequest, world: World, store: Any, article: Any) -> Any:
    return article if request.param == "record" else store[world.Article]


@pytest.mark.parametrize("value", [0, False, "", None, [], {}])
def test_c40_a_value_that_counts_as_nothing_comes_back(world: World, owner: Any, value: Any) -> None:
    world.call(owner, "remember", "a/b", "k", value)
    assert world.call(owner, "recall", "a/b", "k", default="missing") == value
    assert world.call(owner, "recall", "a/b/c", "k", include_ancestors=True, default="missing") == value
    assert world.call(owner, "recall_entry", "a/b", "k").value == value


def test_c40_what_is_missing_is_the_default(world: World, owner: Any) -> None:
    world.call(owner, "remember", "a", "none", None)
    assert world.call(owner, "recall", "a", "other", default="missing") == "missing"
    assert world.call(owner, "recall", "a", "other") is None
    assert world.call(owner, "recall_entry", "a", "other") is None
    assert world.call(owner, "recall_entry", "a", "none") is not None


def test_c41_the_nearest_scope_wins_and_ancestors_are_off_by_default(world: World, owner: Any) -> None:
    for scope in ("global", "a", "a/b", "a/b/c"):
        world.call(owner, "remember", scope, "k", scope)
        assert world.call(owner, "recall", "a/b/c", "k", include_ancestors=True) == scope
    world.call(owner, "forget", "a/b/c", "k")
    assert world.call(owner, "recall", "a/b/c", "k") is None


def test_c42_descendants_are_segments_and_not_prefixes(world: World, owner: Any) -> None:
    for scope in ("a_b", "a_b/x", "a_b/x/y", "a_b2", "axb/x", "A_B/y"):
        world.call(owner, "remember", scope, scope, 1)
    found = world.call(owner, "recall_all", "a_b", include_descendants=True)
    assert set(found) == {"a_b", "a_b/x", "a_b/x/y"}
    assert world.call(owner, "forget_scope", "a_b", include_descendants=True) == 3
    assert set(world.call(owner, "recall_all")) == {"a_b2", "axb/x", "A_B/y"}


def test_c43_only_what_is_given_changes(world: World, store: Any, owner: Any) -> None:
    world.call(owner, "remember", "s", "k", 1, confidence=0.4, metadata={"by": "me"}, expires_in=3600)
    world.within(
        store, lambda session: session.execute(text("UPDATE ai_memories SET success_count = 3, failure_count = 2"))
    )
    before = world.call(owner, "recall_entry", "s", "k")
    world.call(owner, "remember", "s", "k", 2)
    after = world.call(owner, "recall_entry", "s", "k")
    assert after.value == 2
    assert (after.id, after.created_at, after.confidence) == (before.id, before.created_at, 0.4)
    assert (after.metadata, after.expires_at) == ({"by": "me"}, before.expires_at)
    assert (after.success_count, after.failure_count) == (3, 2)
    assert after.updated_at > before.updated_at


def test_c44_what_has_expired_is_gone_unless_it_is_asked_for(world: World, owner: Any) -> None:
    world.call(owner, "remember", "a", "k", "parent")
    world.call(owner, "remember", "a/b", "k", "child", expires_at=time.time() - 1)
    assert world.call(owner, "recall", "a/b", "k") is None
    assert world.call(owner, "recall_all", "a/b") == {}
    assert world.call(owner, "recall", "a/b", "k", include_expired=True) == "child"
    assert world.call(owner, "recall", "a/b", "k", include_ancestors=True) == "parent"


def test_c45_of_several_scopes_the_surest_value_counts(world: World, owner: Any) -> None:
    world.call(owner, "remember", "a", "k", "sure", confidence=0.9)
    world.call(owner, "remember", "a/b", "k", "unsure", confidence=0.4)
    assert world.call(owner, "recall_all", "a", include_descendants=True) == {"k": "sure"}


def test_c46_versions_are_chosen_by_confidence_or_by_number(world: World, owner: Any) -> None:
    world.call(owner, "remember", "s", "k", "one", version=1, confidence=1.0)
    world.call(owner, "remember", "s", "k", "two", version=2, confidence=0.9)
    assert world.call(owner, "recall", "s", "k") == "one"
    assert world.call(owner, "recall", "s", "k", prefer="version") == "two"
    assert world.call(owner, "recall", "s", "k", min_confidence=0.95) == "one"
    assert world.call(owner, "recall", "s", "k", version=2) == "two"
    assert world.call(owner, "forget", "s", "k") == 2


def test_c47_records_tenants_and_collections_dont_read_each_other(world: World) -> None:
    tenant = "a"
    store = world.open(scope={world.Article: lambda: world.Article.tenant_id == tenant})
    open_store = world.open()
    added(world, open_store, {"id": "a-1"}, {"id": "a-2"}, {"id": "b-1", "tenant_id": "b"})
    articles = store[world.Article]
    first, second = (world.call(articles, "get", name) for name in ("a-1", "a-2"))
    world.call(first, "remember", "s", "k", "of the first")
    world.call(articles, "remember", "s", "k", "of tenant a")
    assert world.call(second, "recall", "s", "k") is None
    assert world.call(articles, "recall", "s", "k") == "of tenant a"
    tenant = "b"
    assert world.call(articles, "recall", "s", "k") is None
    with pytest.raises(ValueError, match="a-1"):
        world.call(first, "recall", "s", "k")


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.5},
        {"confidence": float("nan")},
        {"version": 0},
        {"scope": ""},
        {"scope": "a//b"},
        {"value": float("nan")},
        {"value": {1, 2}},
    ],
    ids=str,
)
def test_c48_what_cant_be_kept_is_refused_and_changes_nothing(world: World, owner: Any, wrong: dict[str, Any]) -> None:
    given = {"scope": "s", "key": "k", "value": 1} | wrong
    with pytest.raises((ValueError, TypeError)):
        world.call(owner, "remember", given.pop("scope"), given.pop("key"), given.pop("value"), **given)
    assert world.call(owner, "recall_all") == {}


def test_c49_a_corrupt_memory_is_a_miss_and_said(
    world: World, store: Any, owner: Any, caplog: pytest.LogCaptureFixture
) -> None:
    world.call(owner, "remember", "s", "bad", 1)
    world.call(owner, "remember", "s", "good", 2)
    world.within(store, lambda session: session.execute(text("UPDATE ai_memories SET value = '{' WHERE key = 'bad'")))
    assert world.call(owner, "recall", "s", "bad", default="missing") == "missing"
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
    assert world.call(owner, "recall_all") == {"good": 2}


class Learning:
    """What a record has learned, called or awaited."""

    def __init__(self, world: World, owner: Any, **settings: Any) -> None:
        self._world, self._learning = world, owner.learning(**settings)

    def __getattr__(self, name: str) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            prefix = "" if isinstance(self._world, Waiting) else "a"
            return self._world.call(self._learning, prefix + name, *args, **options)

        return called


def learned(world: World, owner: Any, **settings: Any) -> Learning:
    if not isinstance(world, Waiting) and isinstance(owner, world.Article):
        owner = owner.aio
    return Learning(world, owner, **settings)


def test_c50_success_and_failure_move_the_confidence(world: World, owner: Any) -> None:
    learning = learned(world, owner)
    first = learning.capture("s", "k", {"css": "h1"}, success=True)
    assert (first.confidence, first.success_count, first.failure_count) == (pytest.approx(0.9), 1, 0)
    second = learning.capture("s", "k", success=True)
    assert (second.confidence, second.success_count) == (pytest.approx(0.95), 2)
    third = learning.capture("s", "k", success=False)
    assert (third.confidence, third.success_count, third.failure_count) == (pytest.approx(0.625), 2, 1)
    assert learning.recall("s") == []
    assert len(learning.recall("s", min_confidence=0.5)) == 1


def test_c51_a_failed_strategy_is_reused_after_the_second_success(world: World, owner: Any) -> None:
    learning = learned(world, owner)
    assert learning.capture("s", "k", 1, success=False).confidence == pytest.approx(0.3)
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.65)
    assert learning.recall("s") == []
    assert learning.capture("s", "k", success=True).confidence == pytest.approx(0.825)
    assert [entry.value for entry in learning.recall("s")] == [1]


def test_c52_confidence_fades_with_time_and_never_grows(world: World, owner: Any) -> None:
    learning = learned(world, owner, half_life=3600)
    learning.capture("s", "k", 1, success=True)
    now = time.time()
    [later] = learning.recall("s", min_confidence=0.0, now=now + 3600)
    assert later.confidence == pytest.approx(0.45, abs=0.001)
    [earlier] = learning.recall("s", min_confidence=0.0, now=now - 7200)
    assert earlier.confidence == pytest.approx(0.9)


def test_c53_a_failure_never_raises_the_confidence(world: World, store: Any, owner: Any) -> None:
    learning = learned(world, owner, half_life=3600)
    learning.capture("s", "low", 1, success=True)
    learning.capture("s", "idle", 1, success=True)
    set_to = "UPDATE ai_memories SET {} WHERE key = '{}'"
    world.within(store, lambda session: session.execute(text(set_to.format("confidence = 0.1", "low"))))
    old = f"last_outcome_at = {time.time() - 7200}"
    world.within(store, lambda session: session.execute(text(set_to.format(old, "idle"))))
    assert learning.capture("s", "low", success=False).confidence <= 0.1
    assert learning.capture("s", "idle", success=False).confidence <= 0.2251


def test_c54_no_outcome_is_lost_among_twenty_threads(world: World, owner: Any) -> None:
    if not isinstance(world, Waiting):
        pytest.skip("one loop has no threads")
    learning = learned(world, owner)
    threads = [threading.Thread(target=lambda: learning.capture("s", "k", 1, success=True)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [entry] = learning.recall("s")
    assert entry.success_count == 20
    assert 0 < entry.confidence <= 1


def test_c55_reading_doesnt_keep_a_memory_young(world: World, owner: Any) -> None:
    learning = learned(world, owner, half_life=3600)
    learning.capture("s", "best", 1, success=True)
    learning.capture("s", "best", success=True)
    learning.capture("s", "second", 2, success=True)
    before = world.call(owner, "recall_entry", "s", "second").last_used_at
    for _ in range(10):
        assert [entry.key for entry in learning.recall("s", limit=1)] == ["best"]
    assert world.call(owner, "recall_entry", "s", "second").last_used_at == before
    assert learning.recall("s", now=time.time() + 7200) == []


def test_c56_an_expired_strategy_can_be_learned_again(world: World, owner: Any) -> None:
    learning = learned(world, owner)
    learning.capture("s", "k", "old", success=True, expires_at=time.time() - 1)
    assert learning.recall("s") == []
    learning.capture("s", "k", "new", success=True, expires_in=3600)
    assert [entry.value for entry in learning.recall("s")] == ["new"]
