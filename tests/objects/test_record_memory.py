"""What is remembered for a record comes back: to it, from where it lies, until it expires or is forgotten."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlmodel import Field, SQLModel

from ffai.errors import ArgumentTypeError, FFAIError, InvalidArgumentError
from ffai.objects.memory.learning import LearningMemory
from ffai.objects.memory.options import UNSET
from ffai.objects.memory.record_memory import RecordMemory
from tests.objects.memory_places import Article, Clock, Parser, Place

A = Article(id="a-1")
FALSY: list[Any] = [0, False, "", None, [], {}]


@pytest.mark.parametrize("value", FALSY, ids=repr)
def test_values_that_count_as_false_come_back_from_their_scope_and_from_one_above(memory: Any, value: Any) -> None:
    memory.remember(A, "a", "k", value)
    for found in (
        memory.recall(A, "a", "k", default="nothing"),
        memory.recall(A, "a/b/c", "k", include_ancestors=True, default="nothing"),
    ):
        assert found == value
        assert type(found) is type(value)


def test_nothing_is_told_from_a_stored_none(memory: Any) -> None:
    memory.remember(A, "a", "k", None)
    assert memory.recall(A, "a", "other") is None
    assert memory.recall(A, "a", "other", default="d") == "d"
    assert memory.recall(A, "a", "k", default="d") is None
    assert memory.recall_entry(A, "a", "other") is None
    assert memory.recall_entry(A, "a", "k").value is None


def test_the_nearest_scope_wins_and_global_comes_last(memory: Any) -> None:
    for scope in ("global", "a", "a/b", "a/b/c"):
        memory.remember(A, scope, "k", scope)
    for scope in ("a/b/c", "a/b", "a", "global"):
        assert memory.recall(A, "a/b/c", "k", include_ancestors=True) == scope
        assert memory.forget(A, scope, "k") == 1
    assert memory.recall(A, "a/b/c", "k", include_ancestors=True, default="none") == "none"


def test_scopes_above_are_left_alone_unless_asked(memory: Any) -> None:
    memory.remember(A, "a", "k", 1)
    assert memory.recall(A, "a/b", "k") is None


def test_only_whole_parts_of_a_scope_make_a_descendant(memory: Any) -> None:
    for scope in ("a_b", "a_b/x", "a_b/x/y", "a_b2", "axb/x", "A_B/y"):
        memory.remember(A, scope, scope, scope)
    assert set(memory.recall_all(A, "a_b", include_descendants=True)) == {"a_b", "a_b/x", "a_b/x/y"}
    assert set(memory.recall_all(A, "a_b")) == {"a_b"}
    assert memory.forget_scope(A, "a_b", include_descendants=True) == 3
    assert set(memory.recall_all(A)) == {"a_b2", "axb/x", "A_B/y"}
    assert memory.forget_scope(A, "a_b2") == 1


def test_slashes_around_a_scope_do_not_count(memory: Any) -> None:
    memory.remember(A, "/a/b/", "k", 1)
    assert memory.recall(A, "a/b", "k") == 1
    assert memory.forget(A, "a/b/", "k") == 1


@pytest.mark.parametrize("whose", [A, Article], ids=["record", "class"])
def test_remembering_again_changes_only_what_is_given(place: Place, memory: Any, clock: Clock, whose: Any) -> None:
    memory.remember(whose, "s", "k", 1, confidence=0.4, metadata={"by": "me"}, expires_in=timedelta(hours=1))
    learning = place.door(LearningMemory(place.record_memory(), whose, clock=clock, min_confidence=0))
    learning.capture("s", "k", success=True)
    learning.capture("s", "k", success=False)
    before = memory.recall_entry(whose, "s", "k")
    clock.now += 10
    memory.remember(whose, "s", "k", 2)
    after = memory.recall_entry(whose, "s", "k")
    assert after.value == 2
    assert (after.success_count, after.failure_count) == (1, 1)
    assert after.updated_at > before.updated_at
    for kept in ("id", "created_at", "confidence", "metadata", "expires_at", "success_count", "failure_count"):
        assert getattr(after, kept) == getattr(before, kept)
    memory.remember(whose, "s", "k", 3, confidence=0.2, metadata=None, expires_at=None)
    given = memory.recall_entry(whose, "s", "k")
    assert (given.confidence, given.metadata, given.expires_at, given.id) == (0.2, None, None, before.id)


def test_unset_is_as_good_as_leaving_an_argument_out(memory: Any) -> None:
    memory.remember(A, "s", "k", 1, confidence=0.4)
    memory.remember(A, "s", "k", 2, confidence=UNSET, metadata=UNSET, expires_at=UNSET, expires_in=UNSET)
    assert memory.recall_entry(A, "s", "k").confidence == 0.4


def test_what_has_expired_is_gone_unless_asked_for(memory: Any, clock: Clock) -> None:
    memory.remember(A, "a", "k", "above")
    memory.remember(A, "a/b", "k", "below", expires_at=clock.now - 1)
    memory.remember(A, "a/b", "until now", 1, expires_at=clock.now)
    assert memory.recall(A, "a/b", "k") is None
    assert memory.recall(A, "a/b", "until now") is None
    assert memory.recall_all(A, "a/b") == {}
    assert memory.entries(A, "a/b") == []
    assert memory.recall(A, "a/b", "k", include_expired=True) == "below"
    assert memory.recall_all(A, "a/b", include_expired=True) == {"k": "below", "until now": 1}
    assert memory.recall(A, "a/b", "k", include_ancestors=True) == "above"


@pytest.mark.parametrize("expiry", [3600, 3600.0, timedelta(hours=1)], ids=repr)
def test_a_while_passes(memory: Any, clock: Clock, expiry: Any) -> None:
    memory.remember(A, "s", "k", 1, expires_in=expiry)
    clock.now += 3599
    assert memory.recall(A, "s", "k") == 1
    clock.now += 1
    assert memory.recall(A, "s", "k") is None


def test_a_date_with_its_zone_is_a_moment(memory: Any, clock: Clock) -> None:
    memory.remember(A, "s", "k", 1, expires_at=datetime.fromtimestamp(clock.now + 5, UTC))
    assert memory.recall_entry(A, "s", "k").expires_at == clock.now + 5


def test_what_is_written_over_an_expired_memory_is_new(memory: Any, clock: Clock) -> None:
    memory.remember(A, "s", "k", 1, confidence=0.2, metadata={"old": 1}, expires_in=1)
    old = memory.recall_entry(A, "s", "k")
    clock.now += 2
    memory.remember(A, "s", "k", 2)
    new = memory.recall_entry(A, "s", "k")
    assert (new.value, new.confidence, new.metadata, new.expires_at, new.created_at) == (2, 1.0, None, None, clock.now)
    assert new.id != old.id


def test_expired_memories_are_purged_whosever_they_are(place: Place, memory: Any, clock: Clock) -> None:
    memory.remember(A, "s", "k", 1, expires_in=1)
    memory.remember(Article, "s", "k", 1, expires_in=1)
    memory.remember(A, "s", "stays", 1)
    memory.remember(A, "s", "later", 1, expires_in=10)
    clock.now += 2
    assert memory.purge_expired() == 2
    assert memory.purge_expired() == 0
    assert {row["key"] for row in place.rows()} == {"stays", "later"}


@pytest.mark.parametrize("whose", [A, Article], ids=["record", "class"])
def test_of_a_key_in_two_scopes_the_surer_counts(memory: Any, whose: Any) -> None:
    memory.remember(whose, "a/b", "k", "surer", confidence=0.9)
    memory.remember(whose, "a", "k", "less sure", confidence=0.4)
    assert memory.recall_all(whose, "a", include_descendants=True)["k"] == "surer"
    assert len(memory.entries(whose, "a", include_descendants=True)) == 2


def test_equally_sure_the_newer_version_counts_then_the_shorter_scope(memory: Any) -> None:
    memory.remember(A, "a", "k", "old")
    memory.remember(A, "a/b", "k", "new", version=2)
    assert memory.recall_all(A) == {"k": "new"}
    memory.remember(A, "a", "k", "new above", version=2)
    assert memory.recall_all(A) == {"k": "new above"}
    memory.remember(A, "0", "k", "first by name", version=2)
    assert memory.recall_all(A) == {"k": "first by name"}


def test_versions_lie_beside_each_other(memory: Any) -> None:
    memory.remember(A, "s", "k", "v1", version=1)
    memory.remember(A, "s", "k", "v2", version=2, confidence=0.9)
    assert memory.recall(A, "s", "k") == "v1"
    assert memory.recall(A, "s", "k", prefer="version") == "v2"
    assert memory.recall(A, "s", "k", version=2) == "v2"
    assert memory.recall(A, "s", "k", version=3) is None
    assert memory.recall(A, "s", "k", min_confidence=0.95) == "v1"
    assert memory.recall(A, "s", "k", min_confidence=0.95, prefer="version") == "v1"
    assert memory.recall_all(A, "s", min_confidence=0.95) == {"k": "v1"}
    assert memory.forget(A, "s", "k") == 2
    assert memory.recall(A, "s", "k") is None


def test_a_scope_below_the_floor_does_not_stop_the_walk(memory: Any) -> None:
    memory.remember(A, "a/b", "k", "unsure", confidence=0.2)
    memory.remember(A, "a", "k", "sure")
    assert memory.recall(A, "a/b", "k", include_ancestors=True, min_confidence=0.5) == "sure"


def test_nobody_reads_what_is_anothers(memory: Any) -> None:
    owners = [Article(id="1"), Article(id="2"), Article, Parser(id=1), Parser]
    for number, whose in enumerate(owners):
        assert memory.recall(whose, "s", "k") is None
        memory.remember(whose, "s", "k", number)
    assert [memory.recall(whose, "s", "k") for whose in owners] == [0, 1, 2, 3, 4]
    assert memory.forget_scope(owners[0], "s") == 1
    assert [memory.recall(whose, "s", "k") for whose in owners[1:]] == [1, 2, 3, 4]


class OneTenant:
    """The rule that a class shows only what is of one tenant."""

    def __init__(self) -> None:
        self.now = "a"

    def condition(self, kind: type) -> list[Any]:
        return [Article.tenant_id == self.now] if kind is Article else []

    def tenant(self, kind: type) -> str:
        return self.now if kind is Article else ""


def test_memories_of_a_class_lie_apart_for_each_tenant(place: Place) -> None:
    rules = OneTenant()
    memory = place.memory(tenancy=rules)
    memory.remember(Article, "s", "k", "of a")
    memory.remember(Parser, "s", "k", "of all")
    rules.now = "b"
    assert memory.recall(Article, "s", "k") is None
    assert memory.recall_all(Article) == {}
    assert memory.forget_scope(Article, "s") == 0
    assert memory.recall(Parser, "s", "k") == "of all"
    rules.now = "a"
    assert memory.recall(Article, "s", "k") == "of a"


def test_a_record_of_another_tenant_has_no_memories(place: Place) -> None:
    rules = OneTenant()
    memory = place.memory(tenancy=rules)
    place.execute(Article.__table__.insert().values(id="a-1", tenant_id="a"))
    memory.remember(Article(id="a-1"), "s", "k", 1)
    rules.now = "b"
    for use in (
        lambda: memory.recall(Article(id="a-1"), "s", "k"),
        lambda: memory.recall_all(Article(id="a-1")),
        lambda: memory.remember(Article(id="a-1"), "s", "k", 2),
        lambda: memory.forget(Article(id="a-1"), "s", "k"),
    ):
        with pytest.raises(InvalidArgumentError, match="There is no Article 'a-1'"):
            use()
    assert [row["value"] for row in place.rows()] == ["1"]


WRONG: list[tuple[dict[str, Any], type[FFAIError]]] = [
    ({"confidence": 1.5}, InvalidArgumentError),
    ({"confidence": -0.1}, InvalidArgumentError),
    ({"confidence": math.nan}, InvalidArgumentError),
    ({"confidence": True}, ArgumentTypeError),
    ({"confidence": None}, ArgumentTypeError),
    ({"version": 0}, InvalidArgumentError),
    ({"version": 2**31}, InvalidArgumentError),
    ({"version": 1.0}, ArgumentTypeError),
    ({"version": True}, ArgumentTypeError),
    ({"scope": ""}, InvalidArgumentError),
    ({"scope": "/"}, InvalidArgumentError),
    ({"scope": "a//b"}, InvalidArgumentError),
    ({"scope": "a/ /b"}, InvalidArgumentError),
    ({"scope": "a\x00"}, InvalidArgumentError),
    ({"scope": "\ud83d"}, InvalidArgumentError),
    ({"scope": "a" * 256}, InvalidArgumentError),
    ({"scope": 5}, ArgumentTypeError),
    ({"key": " "}, InvalidArgumentError),
    ({"key": "k\x00"}, InvalidArgumentError),
    ({"key": "k" * 256}, InvalidArgumentError),
    ({"key": None}, ArgumentTypeError),
    ({"value": math.nan}, InvalidArgumentError),
    ({"value": {"deep": [math.inf]}}, InvalidArgumentError),
    ({"value": {1, 2}}, ArgumentTypeError),
    ({"value": object()}, ArgumentTypeError),
    ({"value": [{1: "one"}]}, ArgumentTypeError),
    ({"value": b"bytes"}, ArgumentTypeError),
    ({"metadata": ["a list"]}, ArgumentTypeError),
    ({"metadata": {"x": {1}}}, ArgumentTypeError),
    ({"expires_at": datetime(2026, 1, 1)}, InvalidArgumentError),
    ({"expires_at": math.inf}, InvalidArgumentError),
    ({"expires_at": "tomorrow"}, ArgumentTypeError),
    ({"expires_in": 0}, InvalidArgumentError),
    ({"expires_in": math.inf}, InvalidArgumentError),
    ({"expires_in": True}, ArgumentTypeError),
    ({"expires_at": 5.0, "expires_in": 5.0}, InvalidArgumentError),
    ({"whose": Article()}, InvalidArgumentError),
    ({"whose": "a text"}, ArgumentTypeError),
    ({"whose": int}, ArgumentTypeError),
    ({"whose": None}, ArgumentTypeError),
]


@pytest.mark.parametrize("place", ["sqlite", "aiosqlite"], indirect=True)
@pytest.mark.parametrize(("wrong", "error"), WRONG, ids=lambda value: ascii(value)[:40])
def test_a_wrong_argument_is_refused_and_nothing_changes(
    place: Place, memory: Any, wrong: dict[str, Any], error: type[FFAIError]
) -> None:
    memory.remember(A, "s", "k", 1)
    before = place.rows()
    with pytest.raises(error):
        memory.remember(**{"whose": A, "scope": "s", "key": "k", "value": 2, **wrong})
    assert place.rows() == before


def test_a_value_that_holds_itself_is_refused(memory: Any) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidArgumentError):
        memory.remember(A, "s", "k", loop)


@pytest.mark.parametrize("place", ["sqlite", "aiosqlite"], indirect=True)
@pytest.mark.parametrize(
    ("name", "args", "options", "error"),
    [
        ("recall", ("s", "k"), {"prefer": "newest"}, InvalidArgumentError),
        ("recall", ("s", "k"), {"min_confidence": 2}, InvalidArgumentError),
        ("recall", ("s", "k"), {"version": 0}, InvalidArgumentError),
        ("recall", ("s", "k"), {"include_ancestors": "no"}, ArgumentTypeError),
        ("recall", ("s", "k"), {"include_expired": 1}, ArgumentTypeError),
        ("recall", ("a//b", "k"), {}, InvalidArgumentError),
        ("recall", ("s", ""), {}, InvalidArgumentError),
        ("recall", ("s", "k"), {"wrong": 1}, TypeError),
        ("recall_all", ("",), {}, InvalidArgumentError),
        ("recall_all", ("s",), {"include_descendants": None}, ArgumentTypeError),
        ("entries", ("s",), {"min_confidence": math.nan}, InvalidArgumentError),
        ("forget", ("s", " "), {}, InvalidArgumentError),
        ("forget_scope", ("",), {}, InvalidArgumentError),
        ("forget_scope", ("s",), {"include_descendants": 1}, ArgumentTypeError),
    ],
)
def test_reading_and_forgetting_refuse_wrong_arguments(
    memory: Any, name: str, args: tuple[str, ...], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        getattr(memory, name)(A, *args, **options)


def test_any_text_comes_back_unchanged(memory: Any) -> None:
    value = {"café ☕": ["\x00", "\ud83d", "😀", "'; DROP TABLE ai_memories; --"], "n": 2**70, "f": 0.1}
    memory.remember(A, "scöpe/%_", "schlüssel", value, metadata={"\x00": "\ud83d"})
    entry = memory.recall_entry(A, "scöpe/%_", "schlüssel")
    assert (entry.value, entry.metadata) == (value, {"\x00": "\ud83d"})


def test_tuples_come_back_as_lists(memory: Any) -> None:
    memory.remember(A, "s", "k", (1, (2,)))
    assert memory.recall(A, "s", "k") == [1, [2]]


@pytest.mark.parametrize("damage", ["{cut", "", "NaN", "[" * 100_000])
def test_one_damaged_row_is_a_miss_with_one_warning(
    place: Place, memory: Any, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    for key in ("bad", "good"):
        memory.remember(A, "s", key, key)
    table = place.tables.memories
    place.execute(table.update().where(table.c.key == "bad").values(value=damage))
    with caplog.at_level(logging.WARNING, "ffai"):
        assert memory.recall(A, "s", "bad", default="miss") == "miss"
        assert len(caplog.records) == 1
        assert memory.recall_all(A, "s") == {"good": "good"}
        assert [entry.key for entry in memory.entries(A, "s")] == ["good"]
    memory.remember(A, "s", "bad", "mended")
    assert memory.recall(A, "s", "bad") == "mended"


def test_behind_a_damaged_row_the_next_one_is_found(place: Place, memory: Any) -> None:
    memory.remember(A, "s", "k", "v1", confidence=0.5)
    memory.remember(A, "s", "k", "v2", version=2)
    table = place.tables.memories
    place.execute(table.update().where(table.c.version == 2).values(value="{"))
    assert memory.recall(A, "s", "k") == "v1"


def test_an_entry_is_a_copy(memory: Any) -> None:
    memory.remember(A, "s", "k", {"list": []}, metadata={"list": []})
    entry = memory.recall_entry(A, "s", "k")
    entry.value["list"].append(1)
    assert memory.recall(A, "s", "k") == {"list": []}


def test_entries_come_by_scope_and_key_with_the_best_version_first(memory: Any) -> None:
    memory.remember(A, "b", "k", 1)
    memory.remember(A, "a", "k", 1, confidence=0.5)
    memory.remember(A, "a", "k", 2, version=2)
    memory.remember(A, "a", "j", 1)
    assert [(e.scope, e.key, e.version) for e in memory.entries(A)] == [
        ("a", "j", 1),
        ("a", "k", 2),
        ("a", "k", 1),
        ("b", "k", 1),
    ]


@pytest.fixture
def session(place: Place) -> Iterator[Session]:
    with Session(place.plain) as opened:
        yield opened


def test_within_a_session_everything_is_part_of_its_transaction(place: Place, session: Session) -> None:
    bound = RecordMemory(place.plain, tables=place.tables, session=session, clock=place.clock)
    parser = Parser()
    session.add(parser)
    bound.remember(parser, "s", "k", 1)
    assert parser.id is not None
    assert bound.recall(parser, "s", "k") == 1
    session.rollback()
    assert place.rows() == []
    session.add(kept := Parser(id=7))
    bound.remember(kept, "s", "k", 2)
    session.commit()
    assert place.memory().recall(Parser(id=7), "s", "k") == 2


async def test_within_an_async_session_everything_is_part_of_its_transaction(tmp_path: Path) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'app.db'}")
    alone = RecordMemory(engine)
    await alone.acreate_all()
    async with engine.begin() as connection:
        await connection.run_sync(Parser.metadata.create_all)
    async with AsyncSession(engine) as session:
        bound = RecordMemory(engine, session=session)
        session.add(parser := Parser())
        await bound.aremember(parser, "s", "k", 1)
        assert await bound.arecall(parser, "s", "k") == 1
        await session.rollback()
    assert await alone.arecall_all(Parser(id=1)) == {}
    await engine.dispose()


def test_an_engine_of_the_other_kind_is_named() -> None:
    plain, awaited = RecordMemory(create_engine("sqlite://")), RecordMemory(create_async_engine("sqlite+aiosqlite://"))
    with pytest.raises(ArgumentTypeError, match="AsyncEngine: await"):
        awaited.recall(A, "s", "k")
    with pytest.raises(ArgumentTypeError, match="without the 'a'"):
        asyncio.run(plain.arecall(A, "s", "k"))
    with pytest.raises(ArgumentTypeError, match="engine must be"):
        RecordMemory("sqlite://")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="AsyncSession"):
        RecordMemory(create_async_engine("sqlite+aiosqlite://"), session=Session())
    with pytest.raises(ArgumentTypeError, match="goes with a Session"):
        RecordMemory(create_engine("sqlite://"), session=AsyncSession())


def test_a_database_without_on_conflict_gives_the_same(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'app.db'}")
    engine.dialect.name = "plain"
    memory = RecordMemory(engine, clock=(clock := Clock()))
    memory.create_all()
    memory.remember(A, "s", "k", 1, confidence=0.5, expires_in=10)
    first = memory.recall_entry(A, "s", "k")
    memory.remember(A, "s", "k", 2)
    second = memory.recall_entry(A, "s", "k")
    assert first is not None
    assert second is not None
    assert (second.value, second.confidence, second.id) == (2, 0.5, first.id)
    clock.now += 20
    learning = LearningMemory(memory, A, clock=clock)
    assert learning.capture("s", "k", 3, success=True).success_count == 1  # type: ignore[union-attr]
    assert learning.capture("s", "new", 3, success=True).success_count == 1  # type: ignore[union-attr]
    assert learning.capture("s", "new", 3, success=True).success_count == 2  # type: ignore[union-attr]


def test_a_record_of_sqlmodel_remembers_too(tmp_path: Path) -> None:
    class Note(SQLModel, table=True):
        id: int | None = Field(default=None, primary_key=True)

    engine = create_engine(f"sqlite:///{tmp_path / 'app.db'}")
    SQLModel.metadata.create_all(engine, tables=[Note.__table__])  # type: ignore[attr-defined]
    RecordMemory(engine).create_all()
    with Session(engine) as session:
        session.add(note := Note())
        memory = RecordMemory(engine, session=session)
        memory.remember(note, "s", "k", 1)
        memory.remember(Note, "s", "k", 2)
        session.commit()
    assert (RecordMemory(engine).recall(Note(id=1), "s", "k"), RecordMemory(engine).recall(Note, "s", "k")) == (1, 2)


@pytest.mark.parametrize("kind", [RecordMemory, LearningMemory])
def test_every_method_has_a_twin_that_takes_the_same(kind: type) -> None:
    methods = {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    plain = {name for name in methods if not name.endswith("_flow") and f"a{name}" in methods}
    assert methods == plain | {f"a{name}" for name in plain} | {name for name in methods if name.endswith("_flow")}
    for name in plain:
        assert inspect.signature(getattr(kind, name)) == inspect.signature(getattr(kind, f"a{name}")), name
