"""The records that are asked about: an article desk, in SQLAlchemy's style and in SQLModel's."""

from typing import Any, Literal

from sqlalchemy import JSON, ForeignKey, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.pool import StaticPool
from sqlmodel import Field, SQLModel

from ffai.chat.reply import ChatReply, ToolCall
from ffai.objects.asking.tools import ai_tool
from ffai.objects.declaration import AI, Sensitive
from ffai.testing import FakeClient

SECRET = "sk-live-123"
AUTHORS_SECRET = "pw-of-ana-77"


class Base(DeclarativeBase):
    type_annotation_map = {dict[str, Any]: JSON}  # noqa: RUF012


class Author(Base):
    __tablename__ = "authors"
    __ai__ = AI(include=("articles",))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    password: Mapped[Sensitive[str]]
    articles: Mapped[list["Article"]] = relationship(back_populates="author", order_by="Article.id")


class Article(Base):
    __tablename__ = "articles"
    __ai__ = AI(
        prompt_exclude=("tenant_id",),
        include=("author", "by_kind"),
        callable=("publish",),
        descriptions={"publish": "Publish it; needs no source_token."},
    )

    tenant_id: Mapped[str] = mapped_column(default="t-1")
    title: Mapped[str] = mapped_column(default="")
    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str] = mapped_column(default="")
    status: Mapped[str] = mapped_column(default="draft")
    source_token: Mapped[Sensitive[str]] = mapped_column(default=SECRET)
    extra: Mapped[dict[str, Any]] = mapped_column(default=dict)
    notes: Mapped[str] = mapped_column(default="", deferred=True)
    author_id: Mapped[int | None] = mapped_column(ForeignKey("authors.id"))
    author: Mapped[Author | None] = relationship(back_populates="articles")

    @property
    def by_kind(self) -> dict[str, Any]:
        return {"authors": [self.author], "source_token": self.source_token, "seen": f"token={self.source_token}"}

    @ai_tool
    def flag_for_review(self, reason: str) -> str:
        """Mark the article for
        human review.

        What a model is not told.
        """
        self.status = f"review: {reason}"
        return f"flagged: {reason}"

    @ai_tool(read_only=True, description="Count the words of the body.")
    def words(self, least: int = 1, kind: Literal["all", "long"] = "all") -> int:
        return sum(len(word) >= (least if kind == "all" else 8) for word in self.body.split())

    @ai_tool
    def touch(self) -> None:
        """Do something that gives nothing."""

    @ai_tool
    def leak(self) -> dict[str, Any]:
        return {"token": self.source_token, "article": self, "note": f"it is {self.source_token}!"}

    @ai_tool
    def fail(self) -> None:
        raise LookupError(f"nobody knows {self.source_token}")

    @ai_tool
    async def publish_later(self, hours: int) -> str:
        self.status = f"in {hours} h"
        return "planned"

    def publish(self) -> None:
        self.status = "published"

    def _private(self) -> None:
        raise AssertionError("called by a model")

    def unlisted(self) -> None:
        raise AssertionError("called by a model")


class Memo(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    title: str
    token: Sensitive[str] = SECRET
    done: bool = False

    @ai_tool
    def finish(self, when: str = "now") -> str:
        """Finish it."""
        self.done = True
        return f"{self.title} done {when}"


def session() -> Session:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    Base.metadata.create_all(engine)
    SQLModel.metadata.create_all(engine, tables=[Memo.__table__])  # type: ignore[attr-defined]
    return Session(engine)


def article(**fields: Any) -> Article:
    """A stored article of an author, in a session."""
    one = Article(**{"id": 1, "title": "Tea", "body": "Tea is a plant.", "extra": {}, **fields})
    one.author = Author(id=7, name="Ana", password=AUTHORS_SECRET)
    here = session()
    here.add(one)
    here.flush()
    here.info["kept"] = one
    _kept.append(here)
    return one


_kept: list[Session] = []


def calls(*named: tuple[str, str]) -> ChatReply:
    """A reply that asks for tools."""
    return ChatReply(tool_calls=tuple(ToolCall(f"c{at}", name, told) for at, (name, told) in enumerate(named)))


def everything_sent(client: Any) -> str:
    """All that a client was given, as one text."""
    return "\n".join(f"{call.conversation!r} {call.prompt!r} {dict(call.options)!r}" for call in client.calls)


class PromptOnly:
    """A client that keeps no conversation: it has prompts, and nothing else."""

    model = "prompt-only"

    def __init__(self, *replies: Any) -> None:
        self._fake = FakeClient(replies)
        self.calls = self._fake.calls

    def generate_response(self, prompt: Any, **options: Any) -> Any:
        return self._fake.clone().generate_response(prompt, **options)
