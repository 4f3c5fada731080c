"""A small article desk on SQLite: articles are found by meaning, judged by a model, and remembered for.

    python examples/article_desk.py add "Refunds" "A refund takes five days."
    python examples/article_desk.py search "how long until I have my money back"
    python examples/article_desk.py similar 1
    python examples/article_desk.py ask 1 "about money"
    python examples/article_desk.py sum 1 "Sum it up in one sentence."
    python examples/article_desk.py note 1 source "the help centre"
    python examples/article_desk.py list

The database is desk.db in the current folder, or what DESK_DB says. Texts are embedded by a model on this machine
(`pip install "ffai[objects,memory]"`). `ask` and `sum` need a chat model: DESK_MODEL, such as
mistral/mistral-small-latest, with its key in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.clients import LiteLLMClient
from ffai.errors import FFAIError
from ffai.objects import AI, AIRecord, Collection, Embedded, Hit, Sensitive, Store, ai_tool


class Base(DeclarativeBase):
    """The tables of the desk."""


class Article(AIRecord, Base):
    """An article."""

    __tablename__ = "articles"
    __ai__ = AI(embedded=Embedded("title", "body", combined={"content": "{title}\n\n{body}"}))

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    body: Mapped[str]
    status: Mapped[str] = mapped_column(default="draft")
    editor_password: Mapped[Sensitive[str]] = mapped_column(default="")

    @ai_tool
    def flag(self, reason: str) -> str:
        """Mark the article for a human to look at."""
        self.status = f"flagged: {reason}"
        return self.status

    def __str__(self) -> str:
        return f"{self.id:>3}  {self.status:<12} {self.title}"


def main(arguments: Sequence[str], store: Store) -> str:
    """Do what a command line says, and return what is printed."""
    store.create_all(Base)
    articles = store[Article]
    match list(arguments):
        case ["add", title, body]:
            with store.session() as session:
                session.add(article := Article(title=title, body=body))
                session.flush()
                added = str(article)
            store.drain()
            return added
        case ["list"]:
            return "\n".join(map(str, articles.list()))
        case ["search", *words] if words:
            return _hits(articles.semantic_search(" ".join(words), field="content", limit=3))
        case ["similar", number]:
            return _hits(articles.find_similar(int(number), field="content", limit=3))
        case ["ask", number, *words] if words:
            return "yes" if _article(articles, number).is_(" ".join(words)) else "no"
        case ["sum", number, *words] if words:
            with store.session() as session:
                return str(_article(articles.bind(session), number).do(" ".join(words)))
        case ["note", number, key, value]:
            _article(articles, number).remember("notes", key, value)
            return f"noted: {_article(articles, number).recall_all('notes')}"
    return str(__doc__)


def _article(articles: Collection[Article], number: str) -> Article:
    article = articles.get(int(number))
    if article is None:
        raise SystemExit(f"There is no article {number}.")
    return article


def _hits(hits: Sequence[Hit[Article]]) -> str:
    return "\n".join(f"{hit.similarity:5.2f}{hit.record}" for hit in hits) or "nothing"


if __name__ == "__main__":
    model = os.environ.get("DESK_MODEL")
    database = create_engine(f"sqlite:///{os.environ.get('DESK_DB', 'desk.db')}")
    try:
        with Store(database, llm=LiteLLMClient(model) if model else None) as desk:
            print(main(sys.argv[1:], desk))
    except FFAIError as error:
        sys.exit(str(error))
