"""Records are found by meaning: C28 to C39 of the contract, in every storage, waiting and awaited."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import create_engine, delete, event, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, with_loader_criteria

from ffai.errors import ArgumentTypeError, DimensionError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.filtering.tenancy import Tenancy
from ffai.objects.searching.search import VectorSearch
from ffai.objects.searching.vector_index import VectorIndex
from ffai.objects.steps import AsyncPlace
from tests.objects.conftest import Database, Index, embed, run_in
from tests.objects.deg import Deg
from tests.objects.desk import SECRET, Article, Author, Base, Cell, Draft, Film, Note, Page, Work


@pytest.fixture
def deg() -> Deg:
    return Deg()


@pytest.fixture
def empty(deg) -> Iterator[VectorIndex[Article]]:
    """An index of no articles, in memory: wrong arguments are told before any database is asked."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    index = VectorIndex(engine, Article, deg)
    index.create_all()
    yield index
    engine.dispose()


def articles(*degrees: float, prefix: str = "a", **values: Any) -> list[Article]:
    return [Article(id=f"{prefix}{n:04d}", title=f"deg:{degree}", **values) for n, degree in enumerate(degrees)]


def ids(hits: list[Any]) -> list[Any]:
    return [hit.id for hit in hits]


def similarities(hits: list[Any]) -> Any:
    return pytest.approx([hit.similarity for hit in hits], abs=1e-5)


def desk(database: Database, deg: Deg, *degrees: float, **values: Any) -> Index:
    """An index of articles at these degrees."""
    index = database.index(Article, deg)
    embed(database, index, deg, articles(*degrees, **values))
    return index


def test_every_condition_holds_before_anything_is_ranked(database, deg):
    index = database.index(Article, deg)
    near, far = [n * 0.08 for n in range(980)], [90 + n for n in range(-20, 0)]
    embed(database, index, deg, [*articles(*near), *articles(*far, prefix="f", status="published")])
    hits = index.search("deg:0", where={"status": "published"})
    assert ids(hits) == [f"f{n:04d}" for n in range(10)]
    assert similarities(hits) == [math.cos(math.radians(degree)) for degree in far[:10]]
    assert {hit.record.status for hit in hits} == {"published"}


def test_a_condition_can_be_an_expression(database, deg):
    index = desk(database, deg, 0, 10, 20)
    assert ids(index.search("deg:0", where=Article.id.in_(["a0001", "a0002"]))) == ["a0001", "a0002"]


def test_the_record_itself_takes_no_place_among_those_that_are_like_it(database, deg):
    index = desk(database, deg, *[n * n for n in range(8)])
    assert ids(index.similar("a0003")) == ["a0002", "a0004", "a0001", "a0000", "a0005"]
    hits = index.similar("a0003", exclude_self=False)
    assert hits[0].id == "a0003"
    assert hits[0].similarity == pytest.approx(1.0, abs=1e-6)
    assert len(hits) == 5


def test_a_record_stands_for_its_key(database, deg):
    index = desk(database, deg, 0, 10, 20)
    with Session(database.engine) as session:
        record = session.get(Article, "a0002")
    assert ids(index.similar(record)) == ids(index.similar("a0002")) == ["a0001", "a0000"]


def test_a_record_to_start_from_need_not_be_one_that_is_wanted(database, deg):
    index = database.index(Article, deg)
    embed(database, index, deg, [*articles(0), *articles(10, 20, prefix="p", status="published")])
    assert ids(index.similar("a0000", where={"status": "published"})) == ["p0000", "p0001"]


def test_a_record_that_is_not_there_or_has_no_vector_is_named(database, deg):
    index = desk(database, deg, 0)
    database.add(Article(id="bare"))
    with pytest.raises(InvalidArgumentError, match="There is no Article 'x'"):
        index.similar("x")
    with pytest.raises(InvalidArgumentError, match=r"Article 'bare' has no vector of 'title' .* generate_embeddings"):
        index.similar("bare")
    with pytest.raises(ArgumentTypeError, match="Author"):
        index.similar(Author(id="1", name="n"))


@pytest.mark.parametrize(
    ("name", "args"), [("search", ("deg:0",)), ("similar", ("a0000",)), ("to_vector", ([1.0, 0.0],))]
)
def test_an_unknown_field_is_told_with_those_there_are(database, deg, name, args):
    index = desk(database, deg, 0)
    deg.calls.clear()
    with pytest.raises(InvalidArgumentError, match="title, body, content"):
        getattr(index, name)(*args, field="summary")
    assert deg.calls == []


def test_a_combined_field_is_searched_like_any_other(database, deg):
    index = desk(database, deg, 0, 30)
    database.execute("UPDATE ai_vectors SET field = 'content' WHERE field = 'title'")
    assert ids(index.search("deg:0", field="content")) == ["a0000", "a0001"]
    assert ids(index.similar("a0000", field="content")) == ["a0001"]
    assert ids(index.to_vector([1, 0], field="content")) == ["a0000", "a0001"]
    assert index.search("deg:0") == []


def test_similarity_has_a_floor(database, deg):
    index = desk(database, deg, 0, 30, 60, 120)
    assert similarities(index.search("deg:0")) == [1, math.cos(math.pi / 6), 0.5]
    assert similarities(index.search("deg:0", min_similarity=-1)) == [1, math.cos(math.pi / 6), 0.5, -0.5]
    assert ids(index.search("deg:0", min_similarity=0.6)) == ["a0000", "a0001"]
    assert ids(index.search("deg:0", min_similarity=1.0)) == ["a0000"]


def test_a_tenant_finds_its_own_however_close_those_of_others_are(database, deg):
    tenant: list[str | None] = ["a"]
    rule = {Article: lambda: Article.tenant_id == tenant[0] if tenant[0] else None}
    index = database.index(Article, deg, scope=rule)
    embed(
        database,
        index,
        deg,
        [*articles(70, 75, 80), *articles(*np.linspace(0, 5, 50), prefix="b", tenant_id="b")],
    )
    assert ids(index.search("deg:0")) == ["a0000", "a0001", "a0002"]
    assert ids(index.similar("a0000")) == ["a0001", "a0002"]
    assert ids(index.to_vector([1, 0])) == ["a0000", "a0001", "a0002"]
    with pytest.raises(InvalidArgumentError, match="There is no Article 'b0000'"):
        index.similar("b0000")
    tenant[0] = None
    deg.calls.clear()
    for name, argument in (("search", "deg:0"), ("similar", "a0000"), ("to_vector", [1, 0])):
        with pytest.raises(ValueError):
            getattr(index, name)(argument)
    assert deg.calls == []


def test_ids_that_are_asked_for_are_found_with_their_true_similarity_or_not_at_all(database, deg):
    index = desk(database, deg, *[n / 10 for n in range(50)], 89)
    database.add(Article(id="bare"))
    hits = index.search("deg:0", where={"id__in": ["bare", "a0050", "nobody"]})
    assert ids(hits) == ["a0050"]
    assert similarities(hits) == [math.cos(math.radians(89))]


@pytest.mark.parametrize("limit", [-1, True, 1.5, "3"])
def test_a_limit_that_is_none_is_refused(empty, deg, limit):
    for name, argument in (("search", "deg:0"), ("similar", "x"), ("to_vector", [1, 0])):
        with pytest.raises(ValueError, match="limit"):
            getattr(empty, name)(argument, limit=limit)
    assert deg.calls == []


@pytest.mark.parametrize("floor", [math.nan, 2, -1.5])
def test_a_floor_that_no_similarity_can_be_is_refused(empty, deg, floor):
    for name, argument in (("search", "deg:0"), ("similar", "x"), ("to_vector", [1, 0])):
        with pytest.raises(ValueError, match="min_similarity"):
            getattr(empty, name)(argument, min_similarity=floor)
    assert deg.calls == []


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_is_refused(empty, deg, query):
    with pytest.raises(ValueError, match="query"):
        empty.search(query)
    assert deg.calls == []


@pytest.mark.parametrize("vector", [[1, 0, 0], [1], [math.nan, 1], [math.inf, 1], [0, 0], [], "no", [[1, 0]]])
def test_a_vector_that_is_none_is_refused(empty, deg, vector):
    with pytest.raises(ValueError):
        empty.to_vector(vector)


def test_a_vector_of_a_size_that_is_not_stored_is_refused_where_the_embedder_does_not_tell_its_own(database):
    quiet = Deg(tells_size=False)
    index = desk(database, quiet, 0)
    with pytest.raises(DimensionError):
        index.to_vector([1, 0, 0])
    assert ids(index.to_vector([1, 0])) == ["a0000"]


def test_nothing_is_asked_for_and_nothing_is_embedded(database, deg):
    index = desk(database, deg, 0)
    deg.calls.clear()
    assert index.search("deg:0", limit=0) == index.similar("a0000", limit=0) == index.to_vector([1, 0], limit=0) == []
    assert deg.calls == []


def test_wrong_arguments_are_told_when_the_search_is_asked_for_not_when_it_runs(deg):
    search = VectorSearch(Article, deg, None, Tenancy(None))  # type: ignore[arg-type] - it is not used
    for wrong in (
        lambda: search.semantic_flow(" "),
        lambda: search.semantic_flow("deg:0", limit=-1),
        lambda: search.semantic_flow("deg:0", where={"nothing": 1}),
        lambda: search.semantic_flow("deg:0", where={"source_token": "x"}),
        lambda: search.semantic_flow("deg:0", stale="both"),  # type: ignore[arg-type]
        lambda: search.similar_flow("x", field="summary"),
        lambda: search.similar_flow(("x", "y")),
        lambda: search.to_vector_flow([0.0, 0.0]),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()


def test_a_secret_is_no_condition(database, deg):
    index = desk(database, deg, 0)
    deg.calls.clear()
    for where in ({"source_token": SECRET}, {"source_token__startswith": "sk"}, Article.source_token == SECRET):
        with pytest.raises(SensitiveFieldError):
            index.search("deg:0", where=where)
    assert deg.calls == []


def test_equals_come_by_key(database, deg):
    index = database.index(Article, deg)
    embed(database, index, deg, [Article(id=key, title="deg:40") for key in ("c", "a", "d", "b")])
    for _ in range(3):
        assert ids(index.search("deg:0")) == ["a", "b", "c", "d"]
        assert ids(index.search("deg:0", limit=2)) == ["a", "b"]


def test_equal_numbered_records_come_by_number(database, deg):
    index = database.index(Page, deg)
    embed(database, index, deg, [Page(id=n, text="deg:5") for n in (10, 2, 33, 1)])
    assert ids(index.search("deg:0", limit=3)) == [1, 2, 10]
    assert ids(index.similar(2)) == ids(index.similar("2")) == [1, 10, 33]
    with pytest.raises(InvalidArgumentError, match="There is no Page 'two'"):
        index.similar("two")


def test_many_equals_are_cut_by_key_too(database, deg):
    index = database.index(Page, deg)
    embed(database, index, deg, [Page(id=n, text="deg:5") for n in range(300, 0, -1)])
    assert ids(index.search("deg:0", limit=5)) == [1, 2, 3, 4, 5]


def test_a_key_of_two_columns(database, deg):
    index = database.index(Cell, deg)
    embed(database, index, deg, [Cell(row=n % 3, name=f"a/{n}%", text=f"deg:{n}") for n in range(9)])
    assert ids(index.search("deg:0", limit=2)) == [(0, "a/0%"), (1, "a/1%")]
    assert ids(index.similar((0, "a/0%"), limit=2)) == [(1, "a/1%"), (2, "a/2%")]


def test_a_subclass_with_a_table_of_its_own_and_uuids_for_keys(database, deg):
    index = database.index(Work, deg)
    keys = [UUID(int=n) for n in range(6)]
    films = [Film(id=key, text=f"deg:{n}", minutes=60 + n) for n, key in enumerate(keys[:3])]
    embed(database, index, deg, [*films, *[Work(id=key, text="deg:1") for key in keys[3:]]])
    assert ids(index.search("deg:1")) == [keys[1], *keys[3:], keys[0], keys[2]]
    assert ids(index.similar(str(keys[0]), limit=1)) == [keys[1]]
    only_films = database.index(Film, deg)
    assert ids(only_films.search("deg:1", where={"minutes__gt": 60})) == [keys[1], keys[2]]
    for hit in (index.search("deg:0")[0], only_films.search("deg:0")[0]):
        with pytest.raises(SQLAlchemyError):
            _ = hit.record.contract
        assert "contract" not in hit.public()


def test_a_sqlmodel_class_is_searched_too(database, deg):
    index = database.index(Note, deg)
    embed(database, index, deg, [Note(id=f"n{n}", text=f"deg:{n}", status="ab"[n % 2]) for n in range(6)])
    hits = index.search("deg:0", where={"status": "b"}, limit=2)
    assert ids(hits) == ["n1", "n3"]
    with pytest.raises(SQLAlchemyError):
        _ = hits[0].record.token
    assert "token" not in hits[0].public()


def test_a_damaged_vector_is_left_out_and_counted(database, deg, caplog):
    index = desk(database, deg, 0, 10, 20, 30, 40)
    postgres = database.engine.dialect.name == "postgresql"
    if database.active == "pgvector":  # pgvector itself refuses what is not finite
        damage = {"a0000": "'[0,0]'", "a0001": "'[1,2,3]'"}
    else:
        nan, short = np.array([math.nan, 1], "<f4").tobytes().hex(), b"abc".hex()
        damage = {at: f"'\\x{one}'" if postgres else f"x'{one}'" for at, one in (("a0000", nan), ("a0001", short))}
    for at, vector in damage.items():
        database.execute(f"UPDATE ai_vectors SET vector = {vector} WHERE owner_id = :at", at=at)
    with caplog.at_level(logging.WARNING):
        assert ids(index.search("deg:0")) == ["a0002", "a0003", "a0004"]
    assert [record.getMessage() for record in caplog.records] == ["Left out 2 damaged vectors of Article.title"]


def test_a_secret_of_a_hit_can_not_be_read(database, deg):
    index = database.index(Article, deg)
    author = Author(id="au", name="Ada")
    embed(database, index, deg, [*articles(0, author=author), *articles(5, prefix="b", author=author)])
    first, second = index.search("deg:0")
    for record, name in (
        (first.record, "source_token"),
        (first.record, "loud_token"),
        (first.record.author, "api_key"),
    ):
        with pytest.raises(SQLAlchemyError):
            getattr(record, name)
    assert first.record.title == "deg:0"
    assert first.record.author.name == "Ada"
    shown = first.public()
    assert shown["author"]["articles"][0]["id"] == second.id
    assert "source_token" not in shown
    assert SECRET not in repr(shown).lower()


def test_what_a_session_has_read_does_not_show_through(waiting_database, deg):
    index = desk(waiting_database, deg, 0)
    search = VectorSearch(Article, deg, index.backend, Tenancy(None))
    with Session(waiting_database.engine) as session:
        own = session.get(Article, "a0000")
        assert own.source_token == SECRET
        (hit,) = run_in(waiting_database, search, session, "semantic_flow", "deg:0")
        assert hit.record is not own
        with pytest.raises(SQLAlchemyError):
            _ = hit.record.source_token
        assert own.source_token == SECRET
        assert own in session


def test_secrets_of_subclasses_and_of_what_is_joined_do_not_come_along(database, deg):
    index = database.index(Page, deg)
    author = Author(id="au", name="Ada")
    embed(
        database,
        index,
        deg,
        [Page(id=1, text="deg:1", owner=author), Draft(id=2, text="deg:2", reviewer_key=SECRET, owner=author)],
    )
    database.execute("UPDATE ai_vectors SET owner_type = 'pages'")
    hits = index.search("deg:0")
    assert [type(hit.record) for hit in hits] == [Page, Draft]
    for record, name in ((hits[1].record, "reviewer_key"), (hits[0].record.owner, "api_key")):
        with pytest.raises(SQLAlchemyError):
            getattr(record, name)
    assert hits[0].record.owner.name == "Ada"
    drafts = database.index(Draft, deg)
    assert ids(drafts.search("deg:0")) == [2]


def test_a_search_sees_what_its_transaction_has_written(waiting_database, deg):
    index = desk(waiting_database, deg, 0, 10, 20)
    search = VectorSearch(Article, deg, index.backend, Tenancy(None))
    with Session(waiting_database.engine) as session:
        session.get(Article, "a0000").status = "gone"
        session.execute(delete(Article).where(Article.id == "a0001"))
        hits = run_in(waiting_database, search, session, "semantic_flow", "deg:0", where={"status": "gone"})
        assert ids(hits) == ["a0000"]
        assert ids(run_in(waiting_database, search, session, "semantic_flow", "deg:0")) == ["a0000", "a0002"]
        session.rollback()
    assert ids(index.search("deg:0")) == ["a0000", "a0001", "a0002"]


def test_an_awaited_search_sees_what_its_transaction_has_written(waiting_database, deg):
    index = desk(waiting_database, deg, 0, 10, 20)
    search = VectorSearch(Article, deg, index.backend, Tenancy(None))
    engine = waiting_database.async_engine

    async def searched() -> list[Any]:
        async with AsyncSession(engine) as session:
            session.add(Article(id="other"))
            (await session.get(Article, "a0001")).status = "gone"
            found = await AsyncPlace(engine, session).run(search.semantic_flow("deg:0", where={"status": "gone"}))
            await session.rollback()
            return found

    (hit,) = asyncio.run(searched())
    assert (hit.id, hit.record.status) == ("a0001", "gone")
    assert index.search("deg:0", where={"status": "gone"}) == []


def test_criteria_of_the_callers_session_hold_as_well(waiting_database, deg):
    index = desk(waiting_database, deg, 0, 10, 20)
    search = VectorSearch(Article, deg, index.backend, Tenancy(None))
    with Session(waiting_database.engine) as session:

        @event.listens_for(session, "do_orm_execute")
        def only_one(state: Any) -> None:
            state.statement = state.statement.options(with_loader_criteria(Article, Article.id != "a0000"))

        assert ids(run_in(waiting_database, search, session, "semantic_flow", "deg:0", limit=1)) == ["a0001"]


def test_a_record_changed_since_is_said_to_be_stale(database, deg):
    index = desk(database, deg, *range(40))
    with database.engine.begin() as connection:
        connection.execute(update(Article).where(Article.id < "a0020").values(title="something else"))
    hits = index.search("deg:0", limit=25)
    assert [hit.stale for hit in hits] == [True] * 20 + [False] * 5
    assert ids(index.search("deg:0", limit=3, stale="exclude")) == ["a0020", "a0021", "a0022"]
    assert len(index.search("deg:0", limit=100, stale="exclude")) == 20


def test_vectors_of_another_model_are_not_found_and_it_is_said_once(database, deg, caplog):
    desk(database, deg, 0, 10)
    index = database.index(Article, Deg("m2"))
    with caplog.at_level(logging.WARNING):
        assert index.search("deg:0") == index.search("deg:0") == []
    (told,) = [record.getMessage() for record in caplog.records]
    assert "'m2' (2 dimensions)" in told
    assert "'deg' (2 dimensions)" in told
    assert "generate_missing_embeddings" in told


def test_vectors_of_another_size_do_not_disturb(database, deg, caplog):
    index = desk(database, deg, 0, 10)
    wide = Deg(dimensions=3)
    other = database.index(Article, wide)
    with caplog.at_level(logging.WARNING):
        assert other.search("deg:0") == []
    assert "3 dimensions" in caplog.text
    embed(database, other, wide, articles(20, 30, prefix="w"))
    assert ids(other.search("deg:0")) == ["w0000", "w0001"]
    assert ids(index.search("deg:0")) == ["a0000", "a0001"]


def test_a_filter_that_nothing_passes_is_no_reason_for_a_warning(database, deg, caplog):
    index = desk(database, deg, 0)
    with caplog.at_level(logging.WARNING):
        assert index.search("deg:0", where={"status": "nowhere"}) == []
    assert caplog.records == []


def test_all_are_found_where_more_is_asked_for_than_there_are(database, deg):
    index = desk(database, deg, *[n / 3 for n in range(120)])
    assert ids(index.search("deg:0", limit=100_000)) == [f"a{n:04d}" for n in range(120)]
    assert ids(index.search("deg:0", limit=100)) == [f"a{n:04d}" for n in range(100)]


def test_the_other_kind_of_call_is_named(database, deg):
    index = database.index(Article, deg).index
    other = (lambda: index.search("deg:0")) if database.awaited else lambda: asyncio.run(index.asearch("deg:0"))
    with pytest.raises(ArgumentTypeError, match="`a` in front"):
        other()


def test_a_class_without_vectors_can_not_be_searched(database, deg):
    with pytest.raises(InvalidArgumentError, match="Author declares no embedded fields"):
        database.index(Author, deg)


def test_a_hit_without_its_secret_is_loaded_without_it(waiting_database, deg):
    index = desk(waiting_database, deg, 0)
    asked: list[str] = []

    @event.listens_for(waiting_database.engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement)

    index.search("deg:0")
    assert asked
    assert not [statement for statement in asked if "source_token" in statement]


@pytest.mark.parametrize("kind", [Page, Film], ids=["whole numbers", "UUIDs"])
def test_records_are_looked_up_by_the_index_of_their_keys(tmp_path: Path, kind: type[Any]) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/app.db")
    Base.metadata.create_all(engine)
    index = VectorIndex(engine, kind, Deg())
    index.create_all()
    ranked: list[tuple[str, Any]] = []

    @event.listens_for(engine, "before_cursor_execute")
    def executed(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        ranked.append((statement, parameters))

    index.search("deg:0")
    statement, parameters = next(each for each in ranked if "JOIN ai_vectors" in each[0])
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert not [row for row in plan if "SCAN" in row[-1]]
