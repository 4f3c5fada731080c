"""Records come in an order that is total, and only columns that are no secret can make it or be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import case, column, func, select, text
from sqlalchemy.orm import Session, aliased

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError, UnsafeFilterError
from ffai.objects.filtering.ordering import columns_of, order_of
from tests.objects.guarded_models import Article, Author, Badge, Editor, Note, desk, tagging


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(desk()) as session:
        session.add_all([Article(id=key, title=title, views=views) for key, title, views in ROWS])
        session.flush()
        yield session


ROWS = [(1, "b", 5), (2, "a", 5), (3, "c", None), (4, "A", 7)]


@pytest.mark.parametrize(
    ("order_by", "keys"),
    [
        (None, [1, 2, 3, 4]),
        ([], [1, 2, 3, 4]),
        ("title", [4, 2, 1, 3]),
        ("-title", [3, 1, 2, 4]),
        ("-id", [4, 3, 2, 1]),
        (["views", "-title"], [3, 1, 2, 4]),
        (("-views", "title"), [4, 2, 1, 3]),
        (Article.title, [4, 2, 1, 3]),
        (Article.__table__.c.title, [4, 2, 1, 3]),
        (Article.views.desc(), [4, 1, 2, 3]),
        (Article.views.asc().nulls_last(), [1, 2, 4, 3]),
        ([Article.views.desc().nulls_first(), "-title"], [3, 4, 1, 2]),
        (func.lower(Article.title), [2, 4, 1, 3]),
        (Article.title.collate("NOCASE").desc(), [3, 1, 2, 4]),
        (case((Article.id == 3, 0), else_=1), [3, 1, 2, 4]),
        (Article.titled, [1, 2, 3, 4]),
        (Article.is_read, [1, 2, 3, 4]),
    ],
    ids=str,
)
def test_records_come_in_the_order_asked_for_and_then_by_key(session: Session, order_by: Any, keys: list[int]) -> None:
    assert list(session.scalars(select(Article.id).order_by(*order_of(Article, order_by)))) == keys


def test_a_key_of_two_columns_ends_the_order_with_both() -> None:
    assert [str(part) for part in order_of(Editor, "desk")] == ["editors.desk ASC", "people.id"]


@pytest.mark.parametrize(
    "order_by",
    [
        "source_token",
        "-source_token",
        ["title", "source_token"],
        Article.source_token,
        Article.source_token.desc(),
        Article.source_token.asc().nulls_last(),
        func.lower(Article.source_token),
        case((Article.source_token == "x", 0), else_=1).desc(),
        [Article.title, Article.token_start],
        aliased(Article).source_token,
        func.rank().over(order_by=Article.source_token),
        select(Article.source_token).where(Article.id == 1).scalar_subquery(),
    ],
    ids=str,
)
def test_a_secret_is_never_ordered_by(order_by: Any) -> None:
    with pytest.raises(SensitiveFieldError, match=r"^Article\.source_token is sensitive and can't be ordered by"):
        order_of(Article, order_by)


@pytest.mark.parametrize(
    ("order_by", "error"),
    [
        ("titel", InvalidArgumentError),
        ("--title", InvalidArgumentError),
        ("title desc", InvalidArgumentError),
        ("", InvalidArgumentError),
        ("author.name", InvalidArgumentError),
        (["title", ""], InvalidArgumentError),
        (Author.name, InvalidArgumentError),
        (tagging.c.tag_id.desc(), InvalidArgumentError),
        (text("title"), UnsafeFilterError),
        (column("title"), UnsafeFilterError),
        (5, ArgumentTypeError),
        (True, ArgumentTypeError),
        (b"title", ArgumentTypeError),
        ({"title"}, ArgumentTypeError),
        ({"title": "desc"}, ArgumentTypeError),
        ([["title"]], ArgumentTypeError),
        ([None], ArgumentTypeError),
        (Article, ArgumentTypeError),
        (Article.author, ArgumentTypeError),
        (lambda: Article.title, ArgumentTypeError),
    ],
    ids=str,
)
def test_what_is_no_order_is_refused(order_by: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        order_of(Article, order_by)


def test_an_unknown_name_is_told_with_those_there_are() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^Badge has no field 'txt'; there are id, text\.$"):
        order_of(Badge, "-txt")


def test_columns_are_read_by_name(session: Session) -> None:
    assert list(session.execute(select(*columns_of(Article, ["title", "id", "title"])).limit(1))) == [("b", 1)]
    assert [attribute.key for attribute in columns_of(Note, ("text",))] == ["text"]


@pytest.mark.parametrize(("kind", "name"), [(Article, "source_token"), (Author, "pin"), (Note, "api_key")])
def test_a_secret_is_never_shown(kind: type[Any], name: str) -> None:
    with pytest.raises(SensitiveFieldError, match=f"^{kind.__name__}.{name} is sensitive and can't be shown"):
        columns_of(kind, ["id", name])


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([], InvalidArgumentError),
        (["titel"], InvalidArgumentError),
        (["author"], InvalidArgumentError),
        (["-title"], InvalidArgumentError),
        ("title", ArgumentTypeError),
        ([Article.title], ArgumentTypeError),
        ([5], ArgumentTypeError),
        ({"title"}, ArgumentTypeError),
        (None, ArgumentTypeError),
    ],
    ids=str,
)
def test_columns_that_are_no_list_of_names_are_refused(columns: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        columns_of(Article, columns)
