"""The same database in three storages, asked by calls that wait and by calls that are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import Engine, create_engine, insert, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool
from sqlmodel import SQLModel

from ffai.objects.declaration import declared_of
from ffai.objects.owner import owner_of
from ffai.objects.searching.search import VectorSearch
from ffai.objects.searching.vector_index import VectorIndex
from ffai.objects.steps import Place
from ffai.objects.vectors.embedding import columns_embedded, hash_of, texts_of
from tests.objects.desk import Base
from tests.objects.memory_places import clock, memory, place  # noqa: F401

STORAGES = ("process", "sqlite-vec", "pgvector", "postgres-process")
"""The first two on SQLite, the others on a real Postgres."""


class Index:
    """A `VectorIndex` whose methods wait, whichever engine it has."""

    def __init__(self, index: VectorIndex[Any]) -> None:
        self.index = index
        self.backend = index.backend

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if isinstance(self.index.engine, Engine):
                return getattr(self.index, name)(*args, **kwargs)
            return asyncio.run(getattr(self.index, f"a{name}")(*args, **kwargs))

        return called


@dataclass
class Database:
    """An empty database with the tables of the test's classes, and how it is asked."""

    name: str
    engine: Engine
    async_engine: AsyncEngine
    awaited: bool

    @property
    def storage(self) -> Any:
        return "native" if self.name in ("sqlite-vec", "pgvector") else "process"

    @property
    def active(self) -> str:
        return self.name if self.storage == "native" else "process"

    def index(self, kind: type, embedder: Any, *, storage: str | None = None, scope: Any = None) -> Index:
        engine = self.async_engine if self.awaited else self.engine
        index = Index(VectorIndex(engine, kind, embedder, storage=storage or self.storage, scope=scope))
        index.create_all()
        return index

    def add(self, *records: Any) -> None:
        with Session(self.engine) as session, session.begin():
            session.add_all(records)

    def execute(self, statement: str, **values: Any) -> Any:
        with self.engine.begin() as connection:
            result = connection.execute(text(statement), values)
            return result.all() if result.returns_rows else None


def embed(database: Database, index: Index, embedder: Any, records: Iterable[Any]) -> None:
    """Store records, and the vectors of their texts."""
    with Session(database.engine, expire_on_commit=False) as session, session.begin():
        records = list(records)
        session.add_all(records)
        session.flush()
        rows = [row for record in records for row in _rows(record, embedder, session.connection().dialect)]
        if rows:
            session.execute(insert(index.backend.tables.vectors), rows)


def _rows(record: Any, embedder: Any, dialect: Any) -> list[dict[str, Any]]:
    declared, owner = declared_of(type(record)), owner_of(record, dialect)
    texts = texts_of(declared, {name: getattr(record, name) for name in columns_embedded(declared)})
    return [
        {
            "owner_type": owner.type,
            "owner_id": owner.id,
            "field": field,
            "model": embedder.model,
            "dimensions": embedder.size,
            "content_hash": hash_of(one),
            "vector": embedder.vector(one),
            "created_at": 0.0,
            "updated_at": 0.0,
        }
        for field, one in texts.items()
        if one is not None and one.startswith("deg:") and "\n" not in one
    ]


@pytest.fixture(params=[f"{storage}-{how}" for storage in STORAGES for how in ("waiting", "awaited")])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database in each of the storages."""
    name, _, how = request.param.rpartition("-")
    yield from _made(request, name, how == "awaited", tmp_path)


@pytest.fixture(params=STORAGES)
def waiting_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database in each of the storages, asked by calls that wait."""
    yield from _made(request, request.param, False, tmp_path)


@pytest.fixture(params=("sqlite-vec", "pgvector"))
def native_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database that compares vectors itself, asked by calls that wait."""
    yield from _made(request, request.param, False, tmp_path)


def _made(request: pytest.FixtureRequest, name: str, awaited: bool, folder: Path) -> Iterator[Database]:
    engines = _postgres if name in ("pgvector", "postgres-process") else _sqlite
    engine, async_engine = engines(request, name, folder)
    Base.metadata.create_all(engine)
    SQLModel.metadata.create_all(engine)
    yield Database(name, engine, async_engine, awaited)
    engine.dispose()
    asyncio.run(async_engine.dispose())


def _postgres(request: pytest.FixtureRequest, _: str, __: Path) -> tuple[Engine, AsyncEngine]:
    url = request.getfixturevalue("empty_postgres")
    return create_engine(url), create_async_engine(url, poolclass=NullPool)


def _sqlite(request: pytest.FixtureRequest, name: str, folder: Path) -> tuple[Engine, AsyncEngine]:
    path = folder / "desk.db"
    if name == "process":
        return create_engine(f"sqlite:///{path}"), create_async_engine(
            f"sqlite+aiosqlite:///{path}", poolclass=NullPool
        )
    driver = request.getfixturevalue("sqlite_with_extensions")

    def connect() -> aiosqlite.Connection:
        return aiosqlite.Connection(lambda: driver.connect(str(path)), 64)

    return (
        create_engine(f"sqlite:///{path}", module=driver),
        create_async_engine("sqlite+aiosqlite://", async_creator=connect, poolclass=NullPool),
    )


def run_in(
    database: Database, search: VectorSearch[Any], session: Session, name: str, *args: Any, **options: Any
) -> Any:
    """Run a flow of a search within a session's transaction."""
    return Place(database.engine, session).run(getattr(search, name)(*args, **options))
