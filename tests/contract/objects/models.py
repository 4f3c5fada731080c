"""The same article and author twice: as SQLAlchemy's declarative classes, and as SQLModel's."""

from typing import Any

from sqlalchemy import JSON, Column, ForeignKey
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlmodel import Field, MetaData, Relationship, SQLModel

from ffai.objects import AI, AIRecord, Embedded, Sensitive, ai_tool

EMBEDDED = Embedded("title", "body", combined={"content": "{title}|{body}"})


class Handled:
    """What a model may do with an article."""

    @ai_tool
    def flag_for_review(self, reason: str) -> str:
        """Mark the article for human review."""
        self.status = "review"
        self.body = reason
        return f"flagged: {reason}"

    @ai_tool(read_only=True)
    def word_count(self) -> int:
        """Count the words of the body."""
        return len(self.body.split())

    @ai_tool(read_only=True)
    def nothing(self) -> None:
        """Return nothing."""

    def archive(self) -> None:
        self.status = "archived"


class Base(DeclarativeBase):
    pass


class Author(AIRecord, Base):
    __tablename__ = "authors"
    __ai__ = AI(include=("articles",))
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")
    password: Mapped[Sensitive[str]] = mapped_column(default="pw-of-author-77")
    articles: Mapped[list["Article"]] = relationship(back_populates="author")


class Article(Handled, AIRecord, Base):
    __tablename__ = "articles"
    __ai__ = AI(embedded=EMBEDDED, prompt_exclude=("tenant_id",), include=("author",))
    id: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(default="a")
    title: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(default="")
    views: Mapped[int] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(default="draft")
    details: Mapped[Any] = mapped_column(JSON, default=None, nullable=True)
    source_token: Mapped[Sensitive[str]] = mapped_column(default="sk-live-123")
    author_id: Mapped[str | None] = mapped_column(ForeignKey("authors.id"), default=None)
    author: Mapped[Author | None] = relationship(back_populates="articles")

    @hybrid_property
    def token_again(self) -> str:
        return self.source_token


class SQLModelBase(SQLModel):
    metadata = MetaData()


class ModelAuthor(AIRecord, SQLModelBase, table=True):
    __tablename__ = "authors"
    __ai__ = AI(include=("articles",))
    id: str = Field(primary_key=True)
    name: str = ""
    password: Sensitive[str] = "pw-of-author-77"
    articles: list["ModelArticle"] = Relationship(back_populates="author")


class ModelArticle(Handled, AIRecord, SQLModelBase, table=True):
    __tablename__ = "articles"
    __ai__ = AI(embedded=EMBEDDED, prompt_exclude=("tenant_id",), include=("author",))
    id: str = Field(primary_key=True)
    tenant_id: str = "a"
    title: str = ""
    body: str = ""
    views: int = 0
    status: str = "draft"
    details: Any = Field(default=None, sa_column=Column(JSON, nullable=True))
    source_token: Sensitive[str] = "sk-live-123"
    author_id: str | None = Field(default=None, foreign_key="authors.id")
    author: ModelAuthor | None = Relationship(back_populates="articles")
