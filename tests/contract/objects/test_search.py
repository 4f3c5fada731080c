"""Cases C28 to C39: searching by meaning, in every storage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import column, func, literal_column, select, table, text
from sqlalchemy.orm import aliased

from ffai.errors import SensitiveFieldError, UnsafeFilterError
from tests.contract.objects import models
from tests.contract.objects.degrees import Degrees
from tests.contract.objects.world import Awaited, Waiting, World, added

Article, Author = models.Article, models.Author


@pytest.fixture(
    params=["process-waiting", "process-awaited", "sqlite-vec-waiting", "pgvector-waiting", "pgvector-awaited"]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    storage, _, way = request.param.rpartition("-")
    options: dict[str, Any] = {}
    if storage == "pgvector":
        url = request.getfixturevalue("empty_postgres")
    elif storage == "sqlite-vec":
        url, options = f"sqlite:///{tmp_path}/app.db", {"module": pytest.importorskip("pysqlite3")}
    else:
        url = f"sqlite{'+aiosqlite' if way == 'awaited' else ''}:///{tmp_path}/app.db"
    world = (Waiting if way == "waiting" else Awaited)(url, Article, Author, **options)
    world.storage = storage
    yield world
    world.close()


@pytest.fixture
def embedder() -> Degrees:
    return Degrees()


@pytest.fixture
def store(world: World, embedder: Degrees) -> Any:
    store = world.open(embedder=embedder, settings={"storage": "process" if world.storage == "process" else "native"})
    assert store.backend == world.storage
    return store


def degrees(*angles: float, **values: Any) -> list[dict[str, Any]]:
    return [{"id": f"x{at:04}", "title": f"deg:{angle}", **values} for at, angle in enumerate(angles)]


def ids(hits: list[Any]) -> list[str]:
    return [hit.record.id for hit in hits]


def test_c28_conditions_count_before_the_ranking(world: World, store: Any) -> None:
    near = [{"id": f"n{at:04}", "title": f"deg:{at / 20}"} for at in range(980)]
    far = [{"id": f"f{at:04}", "title": f"deg:{60 + at}", "status": "published"} for at in range(20)]
    added(world, store, *near, *far)
    hits = world.call(store[Article], "semantic_search", "deg:0", limit=10, where={"status": "published"})
    assert ids(hits) == [f"f{at:04}" for at in range(10)]
    assert [hit.similarity for hit in hits] == pytest.approx(
        [math.cos(math.radians(60 + at)) for at in range(10)], abs=1e-6
    )
    assert ids(world.call(store[Article], "semantic_search", "deg:0", where=Article.status == "published")) == ids(hits)


def test_c29_a_record_is_not_like_itself_unless_that_is_asked_for(world: World, store: Any) -> None:
    added(world, store, *degrees(*range(8)))
    articles = store[Article]
    hits = world.call(articles, "find_similar", "x0000", limit=5)
    assert ids(hits) == ["x0001", "x0002", "x0003", "x0004", "x0005"]
    record = world.call(articles, "get", "x0000")
    assert ids(world.call(articles, "find_similar", record)) == ids(hits)
    first = world.call(articles, "find_similar", record, exclude_self=False)[0]
    assert (first.record.id, first.similarity) == ("x0000", pytest.approx(1.0, abs=1e-6))


@pytest.mark.parametrize(
    ("name", "asked"), [("semantic_search", "deg:0"), ("find_similar", "x0000"), ("find_similar_to_vector", [1.0, 0.0])]
)
def test_c30_an_unknown_field_is_told_and_a_combined_one_known(world: World, store: Any, name: str, asked: Any) -> None:
    added(world, store, *degrees(0, 10))
    with pytest.raises(ValueError, match="title, body, content"):
        world.call(store[Article], name, asked, field="titel")
    assert world.call(store[Article], name, asked, field="title")
    assert isinstance(world.call(store[Article], name, asked, field="content"), list)


def test_c31_only_what_is_close_enough_is_a_hit(world: World, store: Any) -> None:
    added(world, store, *degrees(0, 30, 60, 120))
    articles = store[Article]
    hits = world.call(articles, "semantic_search", "deg:0")
    assert [hit.similarity for hit in hits] == pytest.approx([1.0, 0.8660254, 0.5], abs=1e-6)
    hits = world.call(articles, "semantic_search", "deg:0", min_similarity=-1)
    assert hits[-1].similarity == pytest.approx(-0.5, abs=1e-6)
    assert len(hits) == 4
    assert len(world.call(articles, "semantic_search", "deg:0", min_similarity=0.6)) == 2


OTHER = aliased(Article)
SECRETS = {
    "mapping": {"source_token": "sk"},
    "mapping with an operator": {"source_token__like": "sk%"},
    "mapping with an unknown operator": {"source_token__glob": "sk*"},
    "column": Article.source_token == "sk",
    "function": func.length(Article.source_token) > 3,
    "alias": select(OTHER.id).where(OTHER.source_token == "sk").exists(),
    "subquery": Article.id.in_(select(Article.id).where(Article.source_token == "sk")),
    "relationship": Article.author.has(Author.password == "pw"),
    "hybrid": Article.token_again == "sk",
    "exists": select(1).where(Author.password == "pw").exists(),
}
UNSAFE = {
    "text": text("1 = 1"),
    "free column": column("source_token") == "sk",
    "literal column": literal_column("source_token") == "sk",
    "made-up table": table("articles", column("source_token")).c.source_token == "sk",
}


@pytest.mark.parametrize("where", SECRETS.values(), ids=SECRETS)
def test_c32_a_secret_cant_be_filtered_by(world: World, store: Any, embedder: Degrees, where: Any) -> None:
    with pytest.raises(SensitiveFieldError):
        world.call(store[Article], "semantic_search", "deg:0", where=where)
    with pytest.raises(SensitiveFieldError):
        world.call(store[Article], "list", where=where)
    assert embedder.calls == []


def test_c32_a_secret_can_neither_order_nor_be_shown(world: World, store: Any) -> None:
    for order_by in ("source_token", "-source_token", Article.source_token.desc()):
        with pytest.raises(SensitiveFieldError):
            world.call(store[Article], "list", order_by=order_by)
    with pytest.raises(SensitiveFieldError):
        world.call(store[Article], "values", columns=["id", "source_token"])


@pytest.mark.parametrize("where", UNSAFE.values(), ids=UNSAFE)
def test_c32_raw_sql_is_refused(world: World, store: Any, where: Any) -> None:
    with pytest.raises(UnsafeFilterError):
        world.call(store[Article], "semantic_search", "deg:0", where=where)


def test_c32_other_records_may_be_asked_for(world: World, store: Any) -> None:
    world.within(store, lambda session: session.add(Author(id="u", name="x")))
    added(world, store, {"id": "by", "title": "deg:5", "author_id": "u"}, {"id": "not", "title": "deg:0"})
    hits = world.call(store[Article], "semantic_search", "deg:0", where=Article.author.has(Author.name == "x"))
    assert ids(hits) == ["by"]


def test_c33_nothing_of_another_tenant_is_found(world: World, embedder: Degrees) -> None:
    tenant: str | None = "a"
    rule = lambda: Article.tenant_id == tenant  # noqa: E731
    store = world.open(embedder=embedder, scope={Article: rule}, settings={"generate": "commit"})
    added(world, store, *({"id": f"a{at}", "title": f"deg:{80 + at}", "tenant_id": "a"} for at in range(3)))
    added(world, store, *({"id": f"b{at}", "title": f"deg:{at}", "tenant_id": "b"} for at in range(50)))
    articles = store[Article]
    assert ids(world.call(articles, "semantic_search", "deg:0")) == ["a0", "a1", "a2"]
    assert ids(world.call(articles, "find_similar", "a0")) == ["a1", "a2"]
    assert ids(world.call(articles, "find_similar_to_vector", [1.0, 0.0])) == ["a0", "a1", "a2"]
    assert world.call(articles, "get", "b0") is None
    with pytest.raises(ValueError, match="b0"):
        world.call(articles, "find_similar", "b0")
    assert sum(world.call(store, "status", Article).spaces.values()) == 6  # title and content of three
    asked = len(embedder.calls)
    tenant = None
    with pytest.raises(ValueError, match="tenant"):
        world.call(articles, "semantic_search", "deg:0")
    assert len(embedder.calls) == asked


def test_c34_a_condition_on_ids_gives_no_filler(world: World, store: Any) -> None:
    added(world, store, *degrees(0, 10, 70), {"id": "blank"})
    hits = world.call(store[Article], "semantic_search", "deg:0", where={"id__in": ["x0002", "blank", "nobody"]})
    assert [(hit.record.id, round(hit.similarity, 6)) for hit in hits] == [
        ("x0002", round(math.cos(math.radians(70)), 6))
    ]


@pytest.mark.parametrize(
    ("name", "asked", "wrong"),
    [
        ("semantic_search", "deg:0", {"limit": -1}),
        ("semantic_search", "deg:0", {"limit": True}),
        ("semantic_search", "deg:0", {"limit": 1.5}),
        ("semantic_search", "deg:0", {"min_similarity": math.nan}),
        ("semantic_search", "deg:0", {"min_similarity": 2}),
        ("semantic_search", " ", {}),
        ("find_similar", "x0000", {"limit": -1}),
        ("find_similar_to_vector", [1.0, 0.0, 0.0], {}),
        ("find_similar_to_vector", [1.0, math.nan], {}),
        ("find_similar_to_vector", [0.0, 0.0], {}),
    ],
    ids=str,
)
def test_c35_wrong_arguments_are_refused_before_anything_is_asked(
    world: World, store: Any, embedder: Degrees, name: str, asked: Any, wrong: dict[str, Any]
) -> None:
    added(world, store, *degrees(0))
    before = len(embedder.calls)
    with pytest.raises((ValueError, TypeError)):
        world.call(store[Article], name, asked, **wrong)
    assert len(embedder.calls) == before


def test_c35_no_hits_are_asked_for_and_nothing_is_embedded(world: World, store: Any, embedder: Degrees) -> None:
    added(world, store, *degrees(0))
    before = len(embedder.calls)
    assert world.call(store[Article], "semantic_search", "deg:0", limit=0) == []
    assert len(embedder.calls) == before


def test_c36_equal_vectors_come_in_the_order_of_their_ids(world: World, store: Any) -> None:
    added(world, store, *({"id": name, "title": "deg:10"} for name in ("c", "a", "b")))
    for _ in range(3):
        assert ids(world.call(store[Article], "semantic_search", "deg:0")) == ["a", "b", "c"]
        assert ids(world.call(store[Article], "semantic_search", "deg:0", limit=2)) == ["a", "b"]


def test_c37_every_storage_gives_the_hits_of_this_process(world: World, store: Any, embedder: Degrees) -> None:
    random = np.random.default_rng(5)
    added(world, store, *degrees(*random.uniform(0, 360, 100).round(3)))
    angles = {row.id: float(row.title[4:]) for row in world.call(store[Article], "list")}
    wanted = sorted(angles, key=lambda name: (-math.cos(math.radians(angles[name] - 200)), name))[:10]
    hits = world.call(store[Article], "semantic_search", "deg:200")
    assert ids(hits) == wanted
    assert [hit.similarity for hit in hits] == pytest.approx(
        [math.cos(math.radians(angles[name] - 200)) for name in wanted], abs=1e-5
    )


def test_c38_a_damaged_vector_is_left_out_and_said(world: World, store: Any, caplog: pytest.LogCaptureFixture) -> None:
    if world.storage == "pgvector":
        pytest.skip("the database refuses what is no vector")
    added(world, store, *degrees(0, 10, 20))
    damage = text("UPDATE ai_vectors SET vector = x'0102' WHERE owner_id = 'x0001' AND field = 'title'")
    world.within(store, lambda session: session.execute(damage))
    assert ids(world.call(store[Article], "semantic_search", "deg:0")) == ["x0000", "x0002"]
    [said] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "1" in said.getMessage()


def test_c39_a_hit_has_no_secret(world: World, store: Any) -> None:
    added(world, store, *degrees(0))
    [hit] = world.call(store[Article], "semantic_search", "deg:0")
    with pytest.raises(Exception, match="source_token"):
        hit.record.source_token  # noqa: B018
    assert "source_token" not in hit.public()
    assert hit.public()["title"] == "deg:0"
