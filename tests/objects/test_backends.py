"""Whatever compares vectors, the hits are the same; what can't compare them is told once, and stops no search."""

from __future__ import annotations

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from ffai.errors import ConfigError, InvalidArgumentError
from ffai.objects.filtering.tenancy import Tenancy
from ffai.objects.searching.backends import backend_of
from ffai.objects.searching.pgvector import Pgvector
from ffai.objects.searching.search import VectorSearch
from ffai.objects.searching.vector_index import VectorIndex
from ffai.objects.vectors.embedding import Space
from tests.objects.conftest import Database, Index, embed, run_in
from tests.objects.deg import Deg
from tests.objects.desk import Article, Base


@pytest.fixture
def deg() -> Deg:
    return Deg()


def filled(database: Database, deg: Deg, count: int = 60) -> Index:
    index = database.index(Article, deg)
    records = [Article(id=f"a{n:04d}", title=f"deg:{n * 3}", status="ab"[n % 2]) for n in range(count)]
    embed(database, index, deg, records)
    return index


def told(hits: list[Any]) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.similarity, 5)) for hit in hits]


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_compares_is_told(database, deg, caplog):
    index = filled(database, deg)
    assert len(index.search("deg:0")) == 10
    assert index.backend.name == database.active
    assert warnings_in(caplog) == []


def test_another_database_has_the_process():
    assert backend_of(mysql.dialect(), "native").name == "process"


def spoil_sqlite(database: Database) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError

    with database.engine.connect() as connection:  # the one that the search has used, out of the pool
        connection.connection.dbapi_connection.create_function("vec_distance_cosine", 2, broken)


def spoil_postgres(database: Database) -> None:
    for kind in ("vector", "halfvec"):  # a vector is cast to the other by itself
        database.execute(f"ALTER EXTENSION vector DROP FUNCTION vector_dims({kind})")
        database.execute(f"DROP FUNCTION vector_dims({kind})")


def test_a_query_that_fails_in_the_database_is_answered_in_the_process(native_database, deg, caplog):
    index = filled(native_database, deg)
    before = told(index.search("deg:30", where={"status": "a"}))
    spoil = spoil_sqlite if native_database.active == "sqlite-vec" else spoil_postgres
    spoil(native_database)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert told(index.search("deg:30", where={"status": "a"})) == before
    (warning,) = warnings_in(caplog)
    assert "compared in this process" in warning


def test_a_query_that_fails_leaves_the_callers_transaction_as_it_was(native_database, deg):
    index = filled(native_database, deg)
    spoil = spoil_sqlite if native_database.active == "sqlite-vec" else spoil_postgres
    index.search("deg:0")
    spoil(native_database)
    search = VectorSearch(Article, deg, index.backend, Tenancy(None))
    with Session(native_database.engine) as session:
        session.add(Article(id="new", title="deg:1"))
        assert len(run_in(native_database, search, session, "semantic_flow", "deg:0")) == 10
        session.commit()
    assert native_database.execute("SELECT title FROM articles WHERE id = 'new'") == [("deg:1",)]


@pytest.mark.parametrize("package", ["sqlite_vec", "pgvector"])
def test_a_package_that_is_missing_is_told_once_and_the_process_compares(
    package, request, tmp_path, deg, caplog, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "pgvector.sqlalchemy", raising=False)
    url = f"sqlite:///{tmp_path}/desk.db" if package == "sqlite_vec" else request.getfixturevalue("empty_postgres")
    engine = create_engine(url)
    Base.metadata.create_all(engine)
    with caplog.at_level(logging.WARNING):
        index = VectorIndex(engine, Article, deg, storage="native")
        index.create_all()
        assert index.backend.name == "process"
        assert index.search("deg:0") == index.search("deg:0") == []
    (warning,) = warnings_in(caplog)
    assert "pip install" in warning
    engine.dispose()


def test_a_python_that_loads_no_extensions_is_told_once(tmp_path, deg, caplog):
    engine = create_engine(f"sqlite:///{tmp_path}/desk.db")
    if hasattr(engine.dialect.dbapi.Connection, "enable_load_extension"):  # type: ignore[union-attr]
        pytest.skip("this Python's SQLite loads extensions")
    Base.metadata.create_all(engine)
    with caplog.at_level(logging.WARNING):
        index = VectorIndex(engine, Article, deg, storage="native")
        index.create_all()
        assert index.backend.name == "process"
        assert index.search("deg:0") == index.search("deg:0") == []
    (warning,) = warnings_in(caplog)
    assert "pysqlite3" in warning
    engine.dispose()


def test_an_extension_that_may_not_be_made_is_told_once(empty_postgres, deg, caplog):
    owner = create_engine(empty_postgres)
    with owner.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS plain"))
        connection.execute(text("CREATE ROLE plain LOGIN"))
        connection.execute(text("GRANT ALL ON SCHEMA public TO plain"))
    engine = create_engine(make_url(empty_postgres).set(username="plain"))
    try:
        Base.metadata.create_all(engine)
        with caplog.at_level(logging.WARNING):
            index = VectorIndex(engine, Article, deg, storage="native")
            index.create_all()
            assert index.backend.name == "process"
            assert index.search("deg:0") == []
        assert len(warnings_in(caplog)) == 1
        again = VectorIndex(engine, Article, deg)
        assert again.search("deg:0") == []
    finally:
        engine.dispose()
        with owner.begin() as connection:
            connection.execute(text("DROP OWNED BY plain"))
            connection.execute(text("DROP ROLE plain"))
        owner.dispose()


@pytest.fixture
def postgres_desk(empty_postgres: URL, request: pytest.FixtureRequest) -> Any:
    engine = create_engine(empty_postgres)
    Base.metadata.create_all(engine)
    yield Database("postgres-process", engine, None, awaited=False)  # type: ignore[arg-type]
    engine.dispose()


def test_vectors_are_brought_from_bytes_to_pgvector_and_back(postgres_desk, deg, caplog):
    before = told(filled(postgres_desk, deg, 2500).search("deg:30"))
    native = VectorIndex(postgres_desk.engine, Article, deg, storage="native")
    with pytest.raises(ConfigError, match=r"bytea, and vector is needed. Run create_all\(\)"):
        native.search("deg:0")
    native.create_all()
    assert told(native.search("deg:30")) == before
    with pytest.raises(ConfigError, match=r"vector, and bytea is needed. Run create_all\(\)"):
        VectorIndex(postgres_desk.engine, Article, deg).search("deg:0")
    assert told(postgres_desk.index(Article, deg).search("deg:30")) == before
    assert postgres_desk.execute("SELECT count(*) FROM ai_vectors") == [(2500,)]
    assert warnings_in(caplog) == []


def test_a_vector_that_can_not_be_brought_over_is_dropped_and_counted(postgres_desk, deg, caplog):
    filled(postgres_desk, deg, 3)
    postgres_desk.execute("UPDATE ai_vectors SET vector = '\\x616263' WHERE owner_id = 'a0001'")
    with caplog.at_level(logging.WARNING):
        index = postgres_desk.index(Article, deg, storage="native")
    assert [hit.id for hit in index.search("deg:0")] == ["a0000", "a0002"]
    (warning,) = warnings_in(caplog)
    assert "Dropped 1 damaged vectors" in warning


def test_several_may_make_the_tables_at_once(postgres_desk, deg):
    with ThreadPoolExecutor(4) as threads:
        made = [
            threads.submit(VectorIndex(postgres_desk.engine, Article, deg, storage="native").create_all)
            for _ in range(4)
        ]
    assert [one.result() for one in made] == [None] * 4


def test_an_index_of_postgres_is_made_when_asked_for_and_then_used(postgres_desk):
    deg, engine = Deg(), postgres_desk.engine
    filled(postgres_desk, deg, 400)
    exact = postgres_desk.index(Article, deg, storage="native")
    backend = Pgvector(engine.dialect, exact_up_to=10)
    search = VectorSearch(Article, deg, backend, Tenancy(None))
    with engine.begin() as connection:
        for _ in range(2):
            backend.create_index(connection, Article, "title", Space("deg", 2))
    kept = {"id__in": [f"a{n:04d}" for n in range(0, 400, 20)]}
    with Session(engine) as session:
        session.execute(text("SET LOCAL enable_seqscan = off"))
        session.execute(text("SET LOCAL enable_sort = off"))
        for options in ({}, {"where": kept}, {"limit": 300, "min_similarity": -1}, {"field": "title", "limit": 1}):
            found = run_in(postgres_desk, search, session, "semantic_flow", "deg:100", **options)
            assert told(found) == told(exact.search("deg:100", **options))
        assert session.scalar(text("SELECT current_setting('hnsw.iterative_scan')")) == "off"
    (definition,) = postgres_desk.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
    assert "vector_cosine_ops" in definition[0]
    assert "(model)::text = 'deg'::text" in definition[0]


def test_an_index_needs_pgvector_and_a_size(postgres_desk, deg):
    process = postgres_desk.index(Article, deg).backend
    assert not hasattr(process, "create_index")
    native = postgres_desk.index(Article, deg, storage="native").backend
    with postgres_desk.engine.begin() as connection:
        with pytest.raises(InvalidArgumentError, match="dimensions of 'deg' are not known"):
            native.create_index(connection, Article, "title", Space("deg"))
        with pytest.raises(InvalidArgumentError, match="title, body, content"):
            native.create_index(connection, Article, "summary", Space("deg", 2))


def test_vectors_need_not_be_of_unit_length(waiting_database):
    class Wild(Deg):
        def vector(self, text: str) -> Any:
            return super().vector(text) * np.float32(1 + float(text.removeprefix("deg:")) ** 2)

    wild = Wild()
    index = filled(waiting_database, wild)
    assert [hit.id for hit in index.search("deg:0", limit=4)] == ["a0000", "a0001", "a0002", "a0003"]
