"""The classes of the tests: an article desk, in SQLAlchemy and in SQLModel."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from sqlalchemy import Column, ForeignKey, String, func
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column, relationship
from sqlmodel import Field, SQLModel

from ffai.objects.declaration import AI, Embedded, Sensitive

SECRET = "sk-live-123"


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "authors"
    __ai__ = AI(include=("articles",))
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    api_key: Mapped[Sensitive[str]] = mapped_column(default=SECRET)
    articles: Mapped[list[Article]] = relationship(back_populates="author")


class Article(Base):
    __tablename__ = "articles"
    __ai__ = AI(embedded=Embedded("title", "body", combined={"content": "{title}\n\n{body}"}), include=("author",))
    id: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(default="a")
    title: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(default="")
    status: Mapped[str] = mapped_column(default="draft")
    source_token: Mapped[Sensitive[str]] = mapped_column(default=SECRET)
    author_id: Mapped[str | None] = mapped_column(ForeignKey("authors.id"))
    author: Mapped[Author | None] = relationship(back_populates="articles")
    loud_token: Mapped[str] = column_property(func.upper(source_token.column))


class Page(Base):
    """Numbered pages."""

    __tablename__ = "pages"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    kind: Mapped[str]
    owner_id: Mapped[str | None] = mapped_column(ForeignKey("authors.id"))
    owner: Mapped[Author | None] = relationship(lazy="joined")
    __mapper_args__: ClassVar = {"polymorphic_on": "kind", "polymorphic_identity": "page"}


class Draft(Page):
    """Pages with a secret that the others have not."""

    reviewer_key: Mapped[Sensitive[str | None]]
    __mapper_args__: ClassVar = {"polymorphic_identity": "draft"}


class Cell(Base):
    """A key of two columns."""

    __tablename__ = "cells"
    __ai__ = AI(embedded=Embedded("text"))
    row: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]


class Work(Base):
    """Works have a UUID; films have a table of their own."""

    __tablename__ = "works"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[UUID] = mapped_column(primary_key=True)
    text: Mapped[str]
    kind: Mapped[str]
    __mapper_args__: ClassVar = {"polymorphic_on": "kind", "polymorphic_identity": "work"}


class Film(Work):
    __tablename__ = "films"
    id: Mapped[UUID] = mapped_column(ForeignKey("works.id"), primary_key=True)
    minutes: Mapped[int]
    contract: Mapped[Sensitive[str]] = mapped_column(default=SECRET)
    __mapper_args__: ClassVar = {"polymorphic_identity": "film"}


class Note(SQLModel, table=True):
    __tablename__ = "notes"
    __ai__: ClassVar[AI] = AI(embedded=Embedded("text"))
    id: str = Field(sa_column=Column(String, primary_key=True))
    text: str = ""
    status: str = "draft"
    token: Sensitive[str] = SECRET
