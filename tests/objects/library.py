"""A small library of records for tests: articles, and what a store would wire around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, ForeignKey, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, sessionmaker
from sqlmodel import Field, SQLModel

from ffai.objects.declaration import AI, Embedded, Sensitive
from ffai.objects.steps import Place
from ffai.objects.tables import Tables
from ffai.objects.vectors.changes import Changes
from ffai.objects.vectors.generation import Generation
from ffai.objects.vectors.kinds import Kinds
from ffai.objects.vectors.work import Round, work_flow
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "authors"
    __ai__ = AI()
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
    articles: Mapped[list[Article]] = relationship(cascade="all, delete-orphan")


class Article(Base):
    __tablename__ = "articles"
    __ai__ = AI(embedded=Embedded("title", "body", combined={"content": "{title}|{body}"}))
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    body: Mapped[str | None] = mapped_column(default="", deferred=True)
    views: Mapped[int] = mapped_column(default=0)
    author_id: Mapped[int | None] = mapped_column(ForeignKey("authors.id"))


class Note(Base):
    __tablename__ = "notes"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(default="")
    token: Mapped[Sensitive[str]] = mapped_column(default="")


class Quiet(Base):
    __tablename__ = "quiet"
    __ai__ = AI(embedded=Embedded("text", auto_generate=False))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(default="")


class Page(Base):
    __tablename__ = "pages"
    __ai__ = AI(embedded=Embedded("text"))
    book: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(default="")


class Animal(Base):
    __tablename__ = "animals"
    __ai__ = AI(embedded=Embedded("name"))
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}  # noqa: RUF012
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    name: Mapped[str] = mapped_column(default="")


class Dog(Animal):
    __ai__ = AI(embedded=Embedded("name", "bark"))
    __mapper_args__ = {"polymorphic_identity": "dog"}  # noqa: RUF012
    bark: Mapped[str | None]


class Bird(Animal):
    __tablename__ = "birds"
    __ai__ = AI(embedded=Embedded("name", "song"))
    __mapper_args__ = {"polymorphic_identity": "bird"}  # noqa: RUF012
    id: Mapped[int] = mapped_column(ForeignKey("animals.id"), primary_key=True)
    song: Mapped[str | None]


class Hero(SQLModel, table=True):
    __tablename__ = "heroes"
    __ai__ = AI(embedded=Embedded("story"))
    id: int | None = Field(default=None, primary_key=True)
    story: str = ""


KINDS = [Author, Article, Note, Quiet, Page, Animal, Dog, Bird, Hero]


def create_all(engine: Engine, tables: Tables) -> None:
    Base.metadata.create_all(engine)
    SQLModel.metadata.create_all(engine, tables=[Hero.__table__])
    tables.metadata.create_all(engine)


class Library:
    """An engine, its tables, watched sessions, and a worker's round to call.

    Args:
        where: a file, or ``None`` for a database in memory.
    """

    def __init__(
        self,
        where: Path | None = None,
        embedder: Any = None,
        *,
        on_commit: Callable[[], None] | None = None,
        auto_generate: bool = True,
    ) -> None:
        self.engine = create_engine("sqlite://" if where is None else f"sqlite:///{where}")
        self.tables = Tables()
        create_all(self.engine, self.tables)
        self.embedder = embedder or FakeEmbedder(8)
        self.kinds = Kinds(lambda: KINDS, lambda kind: self.embedder, auto_generate=auto_generate)
        self.sessions = sessionmaker(self.engine)
        self.now = 1_000_000.0
        self.commits = 0
        self.changes = Changes(self.tables, self.kinds, on_commit or self._committed, clock=lambda: self.now)
        self.changes.watch(self.sessions)

    def _committed(self) -> None:
        self.commits += 1

    def session(self) -> Session:
        return self.sessions()

    def add(self, *records: Any) -> None:
        """Add records and commit."""
        with self.session() as session:
            session.add_all(records)
            session.commit()
            for record in records:
                session.refresh(record)
                session.expunge(record)

    def generation(self, kind: type = Note, embedder: Any = None) -> Generation:
        return Generation(kind, embedder or self.embedder, self.tables, clock=lambda: self.now)

    def run(self, flow: Any, session: Session | None = None) -> Any:
        return Place(self.engine, session).run(flow)

    def round(self, batch_size: int = 32) -> Round:
        return self.run(work_flow(self.kinds, self.tables, batch_size=batch_size, clock=lambda: self.now))

    def vectors(self) -> set[tuple[str, str, str]]:
        """The type, key and field of each vector."""
        return self._keys(self.tables.vectors)

    def hashes(self) -> dict[tuple[str, str, str], str]:
        table = self.tables.vectors
        with self.engine.connect() as connection:
            rows = connection.execute(select(table.c.owner_type, table.c.owner_id, table.c.field, table.c.content_hash))
            return {tuple(row[:3]): row[3] for row in rows}

    def jobs(self) -> set[tuple[str, str, str]]:
        """The type, key and field of each job."""
        return self._keys(self.tables.jobs)

    def job(self) -> Any:
        """The row of the only job."""
        with self.engine.connect() as connection:
            return connection.execute(select(self.tables.jobs)).one()

    def count(self, table: Any) -> int:
        with self.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(table)) or 0

    def _keys(self, table: Any) -> set[tuple[str, str, str]]:
        with self.engine.connect() as connection:
            return {
                tuple(row) for row in connection.execute(select(table.c.owner_type, table.c.owner_id, table.c.field))
            }

    @property
    def texts(self) -> list[str]:
        """The texts that were embedded, in order."""
        return [text for call in self.embedder.calls for text in call]
