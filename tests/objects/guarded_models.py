"""A small desk of articles with secrets in several places, for the tests of filters, orders and tenants."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    Column,
    Engine,
    ForeignKey,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    select,
)
from sqlalchemy.ext.associationproxy import AssociationProxy, association_proxy
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, column_property, mapped_column, relationship
from sqlalchemy.pool import StaticPool
from sqlmodel import Field, SQLModel

from ffai.objects.declaration import AI, Sensitive

SECRETS = ("source_token", "pin", "passport", "shared_key", "vault", "api_key", "article_token")
"""The names of all secret columns here."""


class Base(DeclarativeBase):
    metadata = MetaData()


class State(enum.Enum):
    draft = "draft"
    published = "published"


tagging = Table(
    "tagging",
    Base.metadata,
    Column("article_id", ForeignKey("articles.id"), primary_key=True),
    Column("tag_id", ForeignKey("tags.id"), primary_key=True),
)


class Tag(Base):
    __tablename__ = "tags"
    id: Mapped[int] = mapped_column(primary_key=True)
    label: Mapped[str]


class Author(Base):
    __tablename__ = "authors"
    __ai__ = AI(sensitive=("pin",))
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    pin: Mapped[str] = mapped_column(default="0")
    shared_key: Mapped[Sensitive[str]] = mapped_column(default="k")
    articles: Mapped[list[Article]] = relationship(back_populates="author", foreign_keys="Article.author_id")
    pin_length = column_property(func.length(pin))


class Article(Base):
    __tablename__ = "articles"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    status: Mapped[str | None]
    state: Mapped[State] = mapped_column(default=State.draft)
    views: Mapped[int | None]
    rating: Mapped[float | None]
    price: Mapped[Decimal | None]
    is_open: Mapped[bool] = mapped_column(default=True)
    created: Mapped[dt.datetime | None]
    day: Mapped[dt.date | None]
    ref: Mapped[uuid.UUID | None]
    extra: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    meta__note: Mapped[str | None]
    tenant_id: Mapped[str] = mapped_column(default="a")
    heading: Mapped[str | None] = mapped_column("head_line")
    author_id: Mapped[int | None] = mapped_column(ForeignKey("authors.id"))
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("articles.id"))
    source_token: Mapped[Sensitive[str]] = mapped_column(default="sk-live-123")
    author_key: Mapped[str | None]

    author: Mapped[Author | None] = relationship(back_populates="articles", foreign_keys=[author_id])
    patron: Mapped[Author | None] = relationship(
        primaryjoin=lambda: Author.shared_key == Article.author_key,
        foreign_keys=lambda: Article.author_key,
        viewonly=True,
    )
    parent: Mapped[Article | None] = relationship(remote_side="Article.id")
    tags: Mapped[list[Tag]] = relationship(secondary=tagging)
    labels: AssociationProxy[list[str]] = association_proxy("tags", "label")
    titled = column_property(func.length(title))

    @hybrid_property
    def is_read(self) -> bool:
        return (self.views or 0) > 10

    @is_read.inplace.expression
    @classmethod
    def _is_read(cls) -> Any:
        return func.coalesce(cls.views, 0) > 10

    @hybrid_property
    def token_start(self) -> str:
        return self.source_token[:2]

    @token_start.inplace.expression
    @classmethod
    def _token_start(cls) -> Any:
        return func.substr(cls.source_token, 1, 2)


class Review(Base):
    __tablename__ = "reviews"
    id: Mapped[int] = mapped_column(primary_key=True)
    article_token: Mapped[Sensitive[str]] = mapped_column(ForeignKey("articles.source_token"))


class Badge(Base):
    __tablename__ = "badges"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    highest_pin = column_property(select(func.max(Author.pin)).scalar_subquery())


class Person(Base):
    __tablename__ = "people"
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    name: Mapped[str] = mapped_column(default="")
    passport: Mapped[Sensitive[str]] = mapped_column(default="P")
    __mapper_args__: ClassVar[dict[str, str]] = {"polymorphic_on": "kind", "polymorphic_identity": "person"}


class Editor(Person):
    __tablename__ = "editors"
    id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    desk: Mapped[str] = mapped_column(default="")
    __mapper_args__: ClassVar[dict[str, str]] = {"polymorphic_identity": "editor"}


class Guest(Person):
    visits: Mapped[int | None]
    __mapper_args__: ClassVar[dict[str, str]] = {"polymorphic_identity": "guest"}


Base.metadata.tables["tags"].append_column(Column("vault", String, info={"sensitive": True}))
"""A secret column that no class has."""


class Note(SQLModel, table=True):
    __tablename__ = "filter_notes"
    id: int | None = Field(default=None, primary_key=True)
    text: str = ""
    words: int = 0
    api_key: Sensitive[str] = "key"


def desk() -> Engine:
    """An empty database in memory, with every table."""
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    Base.metadata.create_all(engine)
    SQLModel.metadata.create_all(engine, tables=[Note.__table__])
    return engine


def found(session: Session, kind: type[Any], conditions: list[Any]) -> list[Any]:
    """The keys of the records that meet the conditions, in order."""
    return list(session.scalars(select(kind.id).where(*conditions).order_by(kind.id)))
