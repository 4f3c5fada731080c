"""A mapping finds the records that it describes: names are looked up, values are bound."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, func
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.declaration import AI, declared_of
from ffai.objects.filtering.filters import condition_of
from ffai.objects.filtering.ordering import order_of
from tests.objects.guarded_models import Article, Author, Editor, Note, State, desk, found

OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "like", "ilike", "contains", "icontains"]
OPERATORS += ["startswith", "istartswith", "endswith", "isnull"]
REF = uuid.UUID(int=7)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(desk()) as session:
        session.add_all(
            [
                Article(
                    id=1,
                    title="Learning 100%",
                    status="published",
                    state=State.published,
                    views=5,
                    rating=0.5,
                    price=Decimal("9.50"),
                    created=dt.datetime(2026, 1, 2, 3, 4),
                    day=dt.date(2026, 1, 2),
                    ref=REF,
                    extra={"a": [1]},
                    meta__note="n",
                    heading="h",
                ),
                Article(id=2, title="learning_slowly", status=None, views=20, is_open=False, extra=None),
                Article(id=3, title="Other", status="draft", views=None, extra=[1, 2]),
            ]
        )
        session.add_all([Note(id=1, text="first note", words=2), Note(id=2, text="second", words=1)])
        session.add_all([Editor(id=1, name="Ann", desk="news"), Editor(id=2, name="Bob", desk="art")])
        session.flush()
        yield session


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        (None, [1, 2, 3]),
        ({}, [1, 2, 3]),
        ({"status": "published"}, [1]),
        ({"status__eq": "published"}, [1]),
        ({"status": None}, [2]),
        ({"status__eq": None}, [2]),
        ({"status__ne": None}, [1, 3]),
        ({"status__ne": "published"}, [3]),
        ({"status__isnull": True}, [2]),
        ({"status__isnull": False}, [1, 3]),
        ({"status": ["published", "draft"]}, [1, 3]),
        ({"status": ("published",)}, [1]),
        ({"status": {"published"}}, [1]),
        ({"status__in": ["published", None]}, [1, 2]),
        ({"status__in": [None]}, [2]),
        ({"status__in": []}, []),
        ({"status": []}, []),
        ({"status__not_in": []}, [1, 2, 3]),
        ({"status__not_in": ["draft"]}, [1]),
        ({"status__not_in": ["draft", None]}, [1]),
        ({"status__not_in": [None]}, [1, 3]),
        ({"views__gt": 5}, [2]),
        ({"views__gte": 5}, [1, 2]),
        ({"views__lt": 20}, [1]),
        ({"views__lte": 20.0}, [1, 2]),
        ({"views__gte": 1, "views__lt": 10}, [1]),
        ({"views": 5, "title": "Other"}, []),
        ({"rating__gt": 0}, [1]),
        ({"price": Decimal("9.5")}, [1]),
        ({"is_open": False}, [2]),
        ({"state": State.published}, [1]),
        ({"state": "published"}, [1]),
        ({"state": [State.draft]}, [2, 3]),
        ({"created__gt": dt.datetime(2026, 1, 1)}, [1]),
        ({"created__gt": dt.date(2026, 1, 1)}, [1]),
        ({"day": dt.date(2026, 1, 2)}, [1]),
        ({"ref": REF}, [1]),
        ({"meta__note": "n"}, [1]),
        ({"meta__note__startswith": "n"}, [1]),
        ({"heading": "h"}, [1]),
        ({"title__contains": "0%"}, [1]),
        ({"title__contains": "g_s"}, [2]),
        ({"title__contains": "learning"}, [2]),
        ({"title__contains": ""}, [1, 2, 3]),
        ({"status__contains": ""}, [1, 3]),
        ({"title__icontains": "LEARNING"}, [1, 2]),
        ({"title__icontains": "g_"}, [2]),
        ({"title__startswith": "learn"}, [2]),
        ({"title__startswith": ""}, [1, 2, 3]),
        ({"title__istartswith": "learn"}, [1, 2]),
        ({"title__endswith": "%"}, [1]),
        ({"title__endswith": "a much longer text than any title"}, []),
        ({"status__endswith": ""}, [1, 3]),
        ({"title__like": "Learning%"}, [1, 2]),
        ({"title__ilike": "LEARNING____%"}, [1, 2]),
        ({"extra": {"a": [1]}}, [1]),
        ({"extra": [1, 2]}, [3]),
        ({"extra__ne": {"a": [1]}}, [3]),
        ({"extra": None}, [2]),
        ({"extra__isnull": False}, [1, 3]),
        ({"id__in": [3, 99]}, [3]),
    ],
    ids=repr,
)
def test_a_mapping_finds_the_records_it_describes(session: Session, where: Any, keys: list[int]) -> None:
    assert found(session, Article, condition_of(Article, where)) == keys


def test_a_mapping_works_on_sqlmodel_and_on_inherited_columns(session: Session) -> None:
    assert found(session, Note, condition_of(Note, {"text__contains": "note", "words__gte": 2})) == [1]
    assert found(session, Editor, condition_of(Editor, {"name": "Ann", "desk": "news"})) == [1]


def test_an_expression_is_one_condition(session: Session) -> None:
    assert found(session, Article, condition_of(Article, (Article.views > 5) | (Article.title == "Other"))) == [2, 3]
    assert found(session, Article, condition_of(Article, Article.is_read)) == [2]


@pytest.mark.parametrize("operator", [None, *OPERATORS, "frobbed", "gt__frobbed", ""])
@pytest.mark.parametrize(("kind", "name"), [(Article, "source_token"), (Author, "pin"), (Note, "api_key")])
def test_a_secret_name_is_told_before_anything_else(kind: type[Any], name: str, operator: str | None) -> None:
    key = name if operator is None else f"{name}__{operator}"
    with pytest.raises(SensitiveFieldError) as caught:
        condition_of(kind, {key: object()})
    assert str(caught.value) == f"{kind.__name__}.{name} is sensitive and can't be filtered by."


def test_what_a_class_above_declares_secret_is_secret_below_before_it_was_asked() -> None:
    class Family(DeclarativeBase):
        pass

    class Above(Family):
        __tablename__ = "above"
        __ai__ = AI(sensitive=("code",))
        id: Mapped[int] = mapped_column(primary_key=True)
        code: Mapped[str]

    class Below(Above):
        __ai__ = AI(name="below")

    declared_of(Below)
    with pytest.raises(SensitiveFieldError, match=r"Below\.code"):
        condition_of(Below, {"code": "x"})
    with pytest.raises(SensitiveFieldError, match=r"Below\.code"):
        order_of(Below, "code")


@pytest.mark.parametrize("key", ["titel", "author__name", "author", "is_read", "", "__eq", "head_line", "1=1"])
def test_an_unknown_name_is_told_with_those_there_are_but_the_secret_ones(key: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        condition_of(Article, {key: 1})
    message = str(caught.value)
    assert message.startswith(f"Article has no field {key!r}; there are id, title, status")
    assert "source_token" not in message


@pytest.mark.parametrize("operator", ["frobbed", "", "GT", "gt__lt", "=", "__class__"])
def test_an_unknown_operator_is_told_with_those_there_are(operator: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        condition_of(Article, {f"title__{operator}": "a"})
    assert f"there is no operator {operator!r}; there are {', '.join(OPERATORS)}." in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        {"views": "5"},
        {"views": True},
        {"views": b"5"},
        {"views": {"gt": 5}},
        {"views__gt": None},
        {"views__gt": [1]},
        {"views__in": 5},
        {"views__in": "5"},
        {"views__in": {"a": 5}},
        {"views__in": [[5]]},
        {"views__in": (number for number in [5])},
        {"views__in": ["5"]},
        {"views__contains": "5"},
        {"views__like": "5"},
        {"views": Article.rating},
        {"views": func.length("a")},
        {"views": dt.datetime(2026, 1, 1)},
        {"title": 5},
        {"title": b"a"},
        {"title__in": "ab"},
        {"title__like": 5},
        {"title__contains": None},
        {"title__startswith": ["a"]},
        {"title__isnull": "true"},
        {"title__isnull": 1},
        {"title__isnull": None},
        {"is_open": 1},
        {"is_open": "true"},
        {"created": "2026-01-01"},
        {"day": dt.datetime(2026, 1, 1)},
        {"ref": str(REF)},
        {"state": 1},
        {"state__contains": "pub"},
        {"price": "9.5"},
        {5: "a"},
        {None: "a"},
        {Article.title: "a"},
    ],
    ids=repr,
)
def test_a_value_of_a_wrong_type_is_told_with_its_key(where: dict[Any, Any]) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        condition_of(Article, where)
    assert repr(next(iter(where)))[:100] in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        {"rating": math.nan},
        {"rating__in": [1.0, math.nan]},
        {"price__gt": Decimal("NaN")},
        {"views": 2**63},
        {"state": "lost"},
        {"title": "\ud800"},
        {"title__contains": "\ud800"},
        {"extra__gt": 1},
        {"extra__in": [{}]},
        {"extra__contains": "a"},
        {"extra": math.nan},
    ],
    ids=repr,
)
def test_a_value_that_can_not_be_is_told_with_its_key(where: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        condition_of(Article, where)
    assert f"where[{next(iter(where))!r}]" in str(caught.value)


def test_a_class_without_a_table_has_no_filter() -> None:
    with pytest.raises(ArgumentTypeError, match="dict is not a class with a table"):
        condition_of(dict, {})


TEXTS = st.text("aAbB%_/\\'é", max_size=3)
NUMBERS = st.integers(-2, 2)


def has(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A test that a record without a value never meets."""
    return lambda value, wanted: value is not None and test(value, wanted)


def lowered(text: str) -> str:
    """A text as SQLite lowers it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


EITHER: dict[str, Callable[[Any, Any], bool]] = {
    "": lambda value, wanted: value == wanted,
    "__eq": lambda value, wanted: value == wanted,
    "__ne": lambda value, wanted: value is not None and value != wanted,
}
ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "__gt": has(lambda value, wanted: value > wanted),
    "__gte": has(lambda value, wanted: value >= wanted),
    "__lt": has(lambda value, wanted: value < wanted),
    "__lte": has(lambda value, wanted: value <= wanted),
}
LISTS: dict[str, Callable[[Any, Any], bool]] = {
    "": lambda value, wanted: value in wanted,
    "__in": lambda value, wanted: value in wanted,
    "__not_in": lambda value, wanted: not wanted or (value is not None and value not in wanted),
}
PARTS: dict[str, Callable[[Any, Any], bool]] = {
    "__contains": has(lambda value, wanted: wanted in value),
    "__icontains": has(lambda value, wanted: lowered(wanted) in lowered(value)),
    "__startswith": has(lambda value, wanted: value.startswith(wanted)),
    "__istartswith": has(lambda value, wanted: lowered(value).startswith(lowered(wanted))),
    "__endswith": has(lambda value, wanted: value.endswith(wanted)),
}
NULL: dict[str, Callable[[Any, Any], bool]] = {"__isnull": lambda value, wanted: (value is None) == wanted}


def clauses(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    kinds = [(EITHER, values | st.none()), (ORDERED, values), (LISTS, st.lists(values | st.none(), max_size=3))]
    kinds += [(NULL, st.booleans())] + ([(PARTS, values)] if name == "status" else [])
    return st.one_of(
        *(st.tuples(st.just(name), st.sampled_from(sorted(tests)), st.just(tests), wanted) for tests, wanted in kinds)
    )


@given(
    rows=st.lists(st.tuples(TEXTS | st.none(), NUMBERS | st.none()), max_size=6),
    wanted=st.lists(clauses("status", TEXTS) | clauses("views", NUMBERS), max_size=3),
)
def test_the_database_finds_what_the_same_words_mean_in_python(rows: list[Any], wanted: list[Any]) -> None:
    with Session(EMPTY) as session:
        session.execute(delete(Article))
        session.add_all(Article(id=key, status=text, views=number) for key, (text, number) in enumerate(rows))
        session.flush()
        described = {name + operator: (name, tests[operator], value) for name, operator, tests, value in wanted}
        where = {key: value for key, (_, _, value) in described.items()}
        assert found(session, Article, condition_of(Article, where)) == [
            key
            for key, (text, number) in enumerate(rows)
            if all(test({"status": text, "views": number}[name], value) for name, test, value in described.values())
        ]
        session.rollback()


EMPTY = desk()
