"""Where memories are tested: every database, waited for and awaited, through one door."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.objects.memory.record_memory import RecordMemory
from ffai.objects.tables import Tables


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "articles"
    id: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(default="a")


class Parser(Base):
    __tablename__ = "parsers"
    id: Mapped[int] = mapped_column(primary_key=True)


class Clock:
    """Says what time it is told to be."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Door:
    """Calls the methods of a memory, or awaits their twins."""

    def __init__(self, memory: Any, *, awaited: bool) -> None:
        self.memory, self.awaited = memory, awaited

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not self.awaited:
            return getattr(self.memory, name)

        async def method(*args: Any, **kwargs: Any) -> Any:
            answer = getattr(self.memory, f"a{name}")(*args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        return lambda *args, **kwargs: asyncio.run(method(*args, **kwargs))


class Place:
    """One database with its tables, and a clock."""

    def __init__(self, engine: Any, url: Any, *, awaited: bool = False) -> None:
        self.engine, self.awaited, self.clock = engine, awaited, Clock()
        self.tables = Tables()
        self.plain = engine if not awaited else create_engine(url)
        self.drop()
        Base.metadata.create_all(self.plain)
        self.tables.metadata.create_all(self.plain, tables=[self.tables.memories])

    def drop(self) -> None:
        Base.metadata.drop_all(self.plain)
        self.tables.metadata.drop_all(self.plain, tables=[self.tables.memories])

    def memory(self, **options: Any) -> Any:
        return Door(self.record_memory(**options), awaited=self.awaited)

    def record_memory(self, **options: Any) -> RecordMemory:
        return RecordMemory(self.engine, **{"tables": self.tables, "clock": self.clock, **options})

    def door(self, thing: Any) -> Any:
        return Door(thing, awaited=self.awaited)

    def rows(self) -> list[dict[str, Any]]:
        with self.plain.connect() as connection:
            return [dict(row) for row in connection.execute(self.tables.memories.select()).mappings()]

    def execute(self, statement: Any) -> None:
        with self.plain.begin() as connection:
            connection.execute(statement)


@pytest.fixture(params=["sqlite", "sqlite-file", "aiosqlite", "postgres", "async-postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind = request.param
    url = request.getfixturevalue("empty_postgres") if "postgres" in kind else f"sqlite:///{tmp_path / 'app.db'}"
    if kind == "aiosqlite":
        made = Place(
            create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:"), poolclass=NullPool), url, awaited=True
        )
    elif kind == "async-postgres":
        made = Place(create_async_engine(url, poolclass=NullPool), url, awaited=True)
    else:
        made = Place(create_engine("sqlite://" if kind == "sqlite" else url), url)
    yield made
    made.drop()
    made.plain.dispose()


@pytest.fixture
def memory(place: Place) -> Any:
    return place.memory()


@pytest.fixture
def clock(place: Place) -> Clock:
    return place.clock
