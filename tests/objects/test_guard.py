"""An expression is let through when each of its leaves is a bound value or a known column that is no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    Boolean,
    Column,
    Integer,
    MetaData,
    Sequence,
    String,
    Table,
    and_,
    bindparam,
    case,
    cast,
    collate,
    column,
    delete,
    distinct,
    exists,
    extract,
    false,
    func,
    intersect,
    lateral,
    literal,
    literal_column,
    not_,
    null,
    or_,
    select,
    table,
    tablesample,
    text,
    true,
    tuple_,
    type_coerce,
    union,
    union_all,
    values,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import (
    Bundle,
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    joinedload,
    mapped_column,
    with_loader_criteria,
    with_polymorphic,
)
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import GenericFunction
from sqlmodel import select as select_of_sqlmodel

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError, UnsafeFilterError
from ffai.objects.declaration import AI
from ffai.objects.filtering.filters import condition_of
from ffai.objects.filtering.guard import check_expression
from tests.objects.guarded_models import (
    SECRETS,
    Article,
    Author,
    Badge,
    Base,
    Editor,
    Guest,
    Note,
    Person,
    Review,
    Tag,
    desk,
    found,
    tagging,
)

articles, authors, tags = (Base.metadata.tables[name] for name in ("articles", "authors", "tags"))


class Shouted(GenericFunction[str]):
    name = "upper"
    inherit_cache = True
    identifier = "shouted"
    type = String()


class Verbatim(ColumnElement[bool]):
    inherit_cache = True
    type = Boolean()


class Spelled(GenericFunction[str]):
    name = "spelled"
    inherit_cache = True


@compiles(Verbatim)
@compiles(Spelled)
def _(element: Any, compiler: Any, **options: Any) -> str:
    return "source_token = 'x'"


def recursive() -> Any:
    chain = select(Article.id, Article.parent_id).where(Article.parent_id.is_(None)).cte("chain", recursive=True)
    above = aliased(Article)
    return chain.union_all(select(above.id, above.parent_id).join(chain, above.parent_id == chain.c.id))


def recursive_over_secrets() -> Any:
    chain = select(Article.id, Article.title).cte("chain", recursive=True)
    return chain.union_all(select(Article.id, Article.source_token).join(chain, Article.parent_id == chain.c.id))


other, writer = aliased(Article), aliased(Author)
subquery = select(Article.id, func.lower(Article.title).label("low")).subquery()
each_key = func.json_each(Article.extra).table_valued("key", "value")

ALLOWED: dict[str, Any] = {
    "a comparison": Article.title == "a",
    "a comparison of the table's column": articles.c.title == "a",
    "a column renamed": Article.heading == "a",
    "and, or, not": and_(Article.views > 1, or_(Article.title == "a", not_(Article.title == "b"))),
    "a boolean column": Article.is_open,
    "no boolean column": ~Article.is_open,
    "true": true(),
    "false": false(),
    "null": Article.status.is_(null()),
    "between": Article.views.between(1, 5),
    "arithmetic": (Article.views * 2 + 1) % 3 == 0,
    "concatenation": Article.title + "!" == "a!",
    "in a list": Article.views.in_([1, 2]),
    "in an empty list": Article.views.in_([]),
    "like with an escape": Article.title.like("a/%", escape="/"),
    "contains": Article.title.contains("a%", autoescape=True),
    "a pattern": Article.title.regexp_match("a.*"),
    "a function": func.lower(Article.title) == "a",
    "a function in a function": func.coalesce(func.nullif(Article.title, ""), "none") == "none",
    "a function of the app": Shouted(Article.title) == "A",
    "a cast": cast(Article.views, String) == "1",
    "a cast to a length": cast(Article.views, String(10)) == "1",
    "a coerced type": type_coerce(Article.views, Integer) == 1,
    "case": case((Article.views > 1, "many"), else_="few") == "few",
    "case of a value": case({1: "one"}, value=Article.views, else_="more") == "one",
    "a collation": Article.title.collate("NOCASE") == "A",
    "a collation by function": collate(Article.title, "NOCASE") == "A",
    "a part of a date": extract("year", Article.created) == 2026,
    "a tuple": tuple_(Article.id, Article.views).in_([(1, 2)]),
    "a label": Article.title.label("t") == "a",
    "a bound parameter": Article.title == bindparam("wanted", "a"),
    "a called parameter": Article.title == bindparam("wanted", callable_=lambda: "a"),
    "a literal": literal(1) == Article.id,
    "an operator of signs": Article.views.op("&")(1) == 1,
    "an operator of a word": Article.title.bool_op("GLOB")("a*"),
    "is distinct from": Article.status.is_distinct_from("a"),
    "an index of JSON": Article.extra["color"].as_string() == "red",
    "a path of JSON": Article.extra[("a", "b")].as_integer() == 1,
    "a hybrid": Article.is_read,
    "a computed column": Article.titled > 3,
    "has": Article.author.has(Author.name == "x"),
    "has anything": Article.author.has(),
    "has by name": Article.author.has(name="x"),
    "has not": ~Article.author.has(Author.name == "x"),
    "any": Article.tags.any(Tag.label == "x"),
    "any within has": Article.author.has(Author.articles.any(Article.title == "x")),
    "the article above": Article.parent.has(Article.title == "x"),
    "an association proxy": Article.labels.contains("x"),
    "a relationship with none": Article.author == None,  # noqa: E711
    "a relationship with a record": Article.author == Author(id=1, name="x"),
    "of a subclass": Article.author.of_type(writer).has(writer.name == "x"),
    "EXISTS": exists().where(Author.id == Article.author_id, Author.name == "x"),
    "EXISTS of one": exists(1).where(Author.id == Article.author_id).select_from(Author),
    "EXISTS of a select": select(Author.id).where(Author.id == Article.author_id).exists(),
    "EXISTS of a literal": exists(select(literal_column("1")).where(Author.id == Article.author_id)),
    "EXISTS of an alias": exists().where(writer.id == Article.author_id, writer.name == "x"),
    "EXISTS of itself": exists().where(other.parent_id == Article.id, other.title == "x"),
    "IN a select": Article.author_id.in_(select(Author.id).where(Author.name == "x")),
    "IN a select of SQLModel": Article.author_id.in_(select_of_sqlmodel(Author.id).where(Author.name == "x")),
    "IN a select with a join": Article.id.in_(select(tagging.c.article_id).join(tags).where(tags.c.label == "x")),
    "IN a select with a joined relationship": Article.id.in_(
        select(other.id).join(other.author).where(Author.name == "x")
    ),
    "IN a select joined twice": Article.id.in_(select(other.id).join(other.tags).join(other.author)),
    "IN a union": Article.id.in_(union(select(other.id), select(Author.id))),
    "IN a subquery": Article.id.in_(select(subquery.c.id).where(subquery.c.low == "a")),
    "IN a CTE": Article.id.in_(select(select(other.id).where(other.views > 1).cte("many").c.id)),
    "IN a recursive CTE": Article.id.in_(select(recursive().c.id)),
    "IN an ordered select": Article.id.in_(select(other.id).order_by(other.views.desc()).limit(3).offset(1)),
    "IN a grouped select": Article.id.in_(
        select(func.max(other.id)).group_by(other.status).having(func.count(distinct(other.id)) > 1)
    ),
    "a scalar subquery": Article.views > select(func.avg(other.views)).scalar_subquery(),
    "a counted subquery": select(func.count()).where(tagging.c.article_id == Article.id).scalar_subquery() > 1,
    "a window within a subquery": Article.id.in_(
        select(
            select(other.id, func.row_number().over(partition_by=other.status, order_by=other.id).label("n"))
            .subquery()
            .c.id
        )
    ),
    "a window of rows": Article.id.in_(select(func.max(other.id).over(order_by=other.id, rows=(-1, 1)))),
    "a filtered function": Article.id.in_(select(func.max(other.id).filter(other.views > 1))),
    "a row of a function": exists().where(each_key.c.key == "color"),
    "an aliased subquery as a class": Article.id.in_(
        select(aliased(Article, select(other.id, other.title).subquery()).id)
    ),
    "a bundle": select(Bundle("both", other.id, other.title)).where(other.parent_id == Article.id).exists(),
    "a query": Article.id.in_(Session().query(other.id).filter(other.title == "a")),
    "a query in EXISTS": Session()
    .query(Author)
    .with_entities(Author.id)
    .filter(Author.id == Article.author_id)
    .exists(),
    "an intersection": Article.id.in_(intersect(select(other.id), select(Author.id))),
    "a lambda": Article.id.in_(select(other.id).where(lambda: other.title == "a")),
    "a whole object without secrets": Article.id.in_(select(tagging.c.article_id).where(tagging.c.tag_id == 1)),
}

SENSITIVE: dict[str, tuple[Any, str, str]] = {
    name: (expression, field, owner)
    for name, expression, field, owner in [
        ("a comparison", Article.source_token == "x", "source_token", "Article"),
        ("a column of the table", articles.c.source_token == "x", "source_token", "Article"),
        ("like", Article.source_token.like("x%"), "source_token", "Article"),
        ("is null", Article.source_token.is_(None), "source_token", "Article"),
        ("on the right", literal("x") == Article.source_token, "source_token", "Article"),
        ("in a list", Article.source_token.in_(["x"]), "source_token", "Article"),
        ("within or", or_(Article.title == "a", Article.source_token == "x"), "source_token", "Article"),
        ("a function", func.lower(Article.source_token) == "x", "source_token", "Article"),
        ("a deep function", func.coalesce(func.substr(Article.source_token, 1), "") == "x", "source_token", "Article"),
        ("a cast", cast(Article.source_token, String) == "x", "source_token", "Article"),
        ("a coerced type", type_coerce(Article.source_token, String) == "x", "source_token", "Article"),
        ("a condition of case", case((Article.source_token == "x", 1), else_=0) == 1, "source_token", "Article"),
        ("a result of case", case((Article.id == 1, Article.source_token)) == "x", "source_token", "Article"),
        ("a tuple", tuple_(Article.id, Article.source_token).in_([(1, "x")]), "source_token", "Article"),
        ("a label", Article.source_token.label("t") == "x", "source_token", "Article"),
        ("a collation", Article.source_token.collate("NOCASE") == "X", "source_token", "Article"),
        ("a hybrid", Article.token_start == "sk", "source_token", "Article"),
        ("a window", func.rank().over(order_by=Article.source_token) == 1, "source_token", "Article"),
        ("an alias", other.source_token == "x", "source_token", "Article"),
        ("an alias of the table", articles.alias().c.source_token == "x", "source_token", "Article"),
        ("a sample", tablesample(articles, 10).c.source_token == "x", "source_token", "Article"),
        ("declared in AI", Article.author.has(Author.pin == "1"), "pin", "Author"),
        ("has by name", Article.author.has(pin="1"), "pin", "Author"),
        ("two relationships", Article.author.has(Author.articles.any(source_token="x")), "source_token", "Article"),
        ("joined by a secret", Article.patron.has(Author.name == "x"), "shared_key", "Author"),
        ("computed of a secret", Article.author.has(Author.pin_length == 4), "pin", "Author"),
        ("a column of no class", exists().where(tags.c.vault == "x"), "vault", "tags"),
        ("EXISTS", exists().where(Author.id == Article.author_id, Author.pin == "x"), "pin", "Author"),
        ("EXISTS of an alias", exists().where(other.source_token == "x"), "source_token", "Article"),
        ("IN a select", Article.title.in_(select(Author.pin)), "pin", "Author"),
        ("IN a filtered select", Article.author_id.in_(select(Author.id).where(Author.pin == "x")), "pin", "Author"),
        (
            "IN an ordered select",
            Article.id.in_(select(other.id).order_by(other.source_token).limit(1)),
            "source_token",
            "Article",
        ),
        (
            "IN a grouped select",
            Article.id.in_(select(func.max(other.id)).group_by(other.source_token)),
            "source_token",
            "Article",
        ),
        (
            "having",
            Article.id.in_(select(other.id).group_by(other.id).having(func.max(other.source_token) == "x")),
            "source_token",
            "Article",
        ),
        (
            "a joined condition",
            Article.id.in_(select(other.id).join(Author, Author.pin == other.title)),
            "pin",
            "Author",
        ),
        ("a joined relationship", Article.id.in_(select(other.id).join(other.patron)), "shared_key", "Author"),
        (
            "a subquery",
            select(Article.id, func.lower(Article.source_token).label("t")).subquery().c.t == "x",
            "source_token",
            "Article",
        ),
        (
            "another column of a subquery",
            select(Article.id, Article.source_token).subquery().c.id == 1,
            "source_token",
            "Article",
        ),
        ("a scalar subquery", Article.title == select(func.max(Author.pin)).scalar_subquery(), "pin", "Author"),
        ("a CTE", Article.title.in_(select(select(Author.pin.label("p")).cte().c.p)), "pin", "Author"),
        ("a CTE of its own", Article.id.in_(select(other.id).add_cte(select(Author.pin).cte())), "pin", "Author"),
        ("a recursive CTE", Article.id.in_(select(recursive_over_secrets().c.id)), "source_token", "Article"),
        ("a union", Article.title.in_(union_all(select(Author.name), select(Author.pin))), "pin", "Author"),
        (
            "the column of a union",
            union_all(select(Author.name), select(Author.pin)).subquery().c.name == "x",
            "pin",
            "Author",
        ),
        (
            "lateral",
            lateral(select(Author.pin.label("p")).where(Author.id == Article.author_id)).c.p == "x",
            "pin",
            "Author",
        ),
        ("a subquery as a class", aliased(Author, select(Author).subquery()).name == "x", "pin", "Author"),
        ("a whole object", Article.id.in_(select(Author).with_only_columns(Author)), "pin", "Author"),
        ("a whole object in EXISTS", select(Author).where(Author.id == Article.author_id).exists(), "pin", "Author"),
        ("a whole table", exists(select(tags)), "vault", "tags"),
        ("a whole row", func.to_json(articles.table_valued()) == "x", "source_token", "Article"),
        ("a whole row of an alias", func.to_json(articles.alias().table_valued()) == "x", "source_token", "Article"),
        (
            "a whole row of a subquery",
            func.to_json(select(Author.pin).subquery().table_valued()) == "x",
            "pin",
            "Author",
        ),
        (
            "rows of a function",
            exists().where(func.json_each(Article.source_token).table_valued("v").c.v == 1),
            "source_token",
            "Article",
        ),
        ("a bundle", exists(select(Bundle("both", Author.id, Author.pin))), "pin", "Author"),
        (
            "a filtered function",
            Article.id.in_(select(func.max(other.id).filter(other.source_token == "x"))),
            "source_token",
            "Article",
        ),
        (
            "within a group",
            func.percentile_cont(0.5).within_group(Article.source_token) == "x",
            "source_token",
            "Article",
        ),
        (
            "an aggregate in an order",
            func.array_agg(postgresql.aggregate_order_by(Article.id, Article.source_token)) == [1],
            "source_token",
            "Article",
        ),
        ("an array", postgresql.array([Article.source_token]) == ["x"], "source_token", "Article"),
        (
            "a condition of a joined relationship",
            Article.id.in_(select(other.id).join(other.author.and_(Author.pin == "x"))),
            "pin",
            "Author",
        ),
        (
            "a condition of a join",
            Article.id.in_(select(other.id).join(Author, other.author.and_(Author.pin == "x"))),
            "pin",
            "Author",
        ),
        (
            "a join that is not shown",
            Article.id.in_(select(other.id).join(other.author.and_(Author.pin == "x")).with_only_columns(Author.id)),
            "pin",
            "Author",
        ),
        ("filter by name", Article.id.in_(select(other.id).filter_by(source_token="x")), "source_token", "Article"),
        (
            "a query",
            Article.id.in_(Session().query(other.id).filter(other.source_token == "x")),
            "source_token",
            "Article",
        ),
        ("a class of itself", Article.parent.of_type(other).has(other.source_token == "x"), "source_token", "Article"),
        ("a key of JSON", Article.extra[Article.source_token].as_string() == "x", "source_token", "Article"),
        ("a replacement", Article.title.regexp_replace("a", Article.source_token) == "x", "source_token", "Article"),
        (
            "a part of a window",
            Article.id.in_(select(func.max(other.id).over(partition_by=other.source_token))),
            "source_token",
            "Article",
        ),
        (
            "a function as a table",
            Article.id.in_(select(other.id).select_from(func.json_each(other.source_token).alias("j"))),
            "source_token",
            "Article",
        ),
        (
            "a function as a column",
            func.json_each(Article.source_token).column_valued("j") == 1,
            "source_token",
            "Article",
        ),
        ("joined by a foreign key", Article.id.in_(select(other.id).join(Review)), "source_token", "Article"),
        (
            "a table joined by a foreign key",
            exists(select(literal_column("*")).select_from(Article).join(Review)),
            "source_token",
            "Article",
        ),
        ("computed in a whole object", exists(select(Badge)), "pin", "Author"),
        ("computed in an aliased object", exists(select(aliased(Badge))), "pin", "Author"),
        ("a whole object of a subclass", exists(select(Guest)), "passport", "Person"),
        ("a whole object of several classes", exists(select(with_polymorphic(Person, [Editor]))), "passport", "Person"),
        (
            "a lambda",
            Article.id.in_(select(other.id).where(lambda: other.source_token == "a")),
            "source_token",
            "Article",
        ),
        ("inherited", exists().where(Editor.passport == "x"), "passport", "Person"),
    ]
}

UNSAFE: dict[str, Any] = {
    "text": text("source_token = 'x'"),
    "text within and": and_(Article.title == "a", text("source_token = 'x'")),
    "a literal column": literal_column("source_token") == "x",
    "a literal star": func.max(literal_column("*")) == 1,
    "a free column": column("source_token") == "x",
    "a free table": table("articles", column("source_token")).c.source_token == "x",
    "another metadata": Table("articles", MetaData(), Column("source_token", String)).c.source_token == "x",
    "a copy of the table": articles.to_metadata(MetaData()).c.source_token == "x",
    "a column put into a table": column("source", _selectable=articles) == "x",
    "a free column put into a table": exists().where(table("tags", column("id")).c.id == 1),
    "values": Article.id.in_(select(values(column("n", Integer), name="v").data([(1,)]).c.n)),
    "columns of text": Article.id.in_(
        select(text("SELECT source_token AS t FROM articles").columns(column("t")).subquery())
    ),
    "a select of text": Article.id.in_(select(text("source_token")).select_from(articles)),
    "a select from text": exists(select(literal_column("1")).select_from(text("articles"))),
    "an order of text": Article.id.in_(select(other.id).order_by(text("source_token")).limit(1)),
    "an order by name": Article.id.in_(select(other.id).order_by("source_token").limit(1)),
    "a group by name": Article.id.in_(select(other.id).group_by("source_token")),
    "a prefix": Article.id.in_(select(other.id).prefix_with("source_token,")),
    "a suffix": Article.id.in_(select(other.id).suffix_with("ORDER BY source_token")),
    "a hint": Article.id.in_(select(other.id).with_hint(other, "source_token")),
    "a statement's hint": Article.id.in_(select(other.id).with_statement_hint("source_token")),
    "a prefix of a CTE": Article.id.in_(select(select(other.id).cte().prefix_with("MATERIALIZED").c.id)),
    "a lock": Article.id.in_(select(other.id).with_for_update()),
    "an option": Article.id.in_(select(other.id).options(with_loader_criteria(Article, Article.source_token == "x"))),
    "a loading option": Article.id.in_(select(other.id).options(joinedload(other.author))),
    "a deletion": Article.id.in_(select(delete(Article).returning(Article.id).cte().c.id)),
    "an operator of text": Article.title.op("; DROP TABLE articles; --")("x"),
    "an operator that is a comment": Article.title.bool_op("--")("x"),
    "an operator that opens a comment": Article.title.bool_op("/*")("x"),
    "an operator with a column": Article.title.bool_op("= source_token OR 1 =")("x"),
    "a function of a strange name": getattr(func, "lower(source_token) || lower")(Article.title) == "x",
    "a function in a strange schema": getattr(func, "a b").lower(Article.title) == "x",
    "a strange collation": Article.title.collate('NOCASE" = source_token --') == "x",
    "a strange collation of a type": cast(Article.title, String(collation='x" || source_token')) == "x",
    "a strange length of a type": cast(Article.title, String("1) || source_token")) == "x",  # type: ignore[arg-type]
    "a strange field of a date": extract("year FROM source_token) --", Article.created) == 1,
    "a sequence": Article.id == Sequence("numbers").next_value(),
    "an element of one's own": Verbatim(),
    "a function rendered by one's own": Spelled(Article.title) == "x",
}


def told(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("expression", cases.values(), ids=list(cases))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(desk()) as session:
        yield session


@told(ALLOWED)
def test_what_gives_no_secret_away_is_let_through_and_runs(session: Session, expression: Any) -> None:
    assert found(session, Article, condition_of(Article, expression)) == []


@told(ALLOWED)
def test_what_is_let_through_names_no_secret_in_the_statement(expression: Any) -> None:
    statement = str(select(Article.id).where(*condition_of(Article, expression)))
    assert not re.search("|".join(SECRETS), statement)


@pytest.mark.parametrize(("expression", "field", "owner"), SENSITIVE.values(), ids=list(SENSITIVE))
def test_a_secret_is_found_wherever_it_is(expression: Any, field: str, owner: str) -> None:
    with pytest.raises(SensitiveFieldError, match=f"^{owner}.{field} is sensitive and can't be filtered by") as caught:
        condition_of(Article, expression)
    assert (caught.value.field, caught.value.owner) == (field, owner)


@told(UNSAFE)
def test_what_is_not_known_to_be_safe_is_refused(expression: Any) -> None:
    with pytest.raises(UnsafeFilterError):
        condition_of(Article, expression)


LEAVES = [
    (True, Article.title == "a"),
    (True, Article.author.has(Author.name == "x")),
    (True, func.coalesce(Article.views, 0) > 1),
    (False, Article.source_token == "x"),
    (False, Article.author.has(Author.pin == "1")),
    (False, text("source_token = 'x'")),
]


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(
            lambda parts: (all(safe for safe, _ in parts), and_(*(part for _, part in parts)))
        ),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda parts: (all(safe for safe, _ in parts), or_(*(part for _, part in parts)))
        ),
        inner.map(lambda part: (part[0], case((part[1], 1), else_=0) == 1)),
        inner.map(lambda part: (part[0], Article.id.in_(select(Article.id).where(part[1])))),
        inner.map(lambda part: (part[0], Article.id.in_(select(select(Article.id).where(part[1]).cte().c.id)))),
        inner.map(lambda part: (part[0], func.coalesce(func.max(case((part[1], 1))), 0) == 1)),
    )


@given(st.recursive(st.sampled_from(LEAVES), combined, max_leaves=6))
def test_an_expression_is_safe_when_every_part_is(session: Session, drawn: tuple[bool, Any]) -> None:
    is_safe, expression = drawn
    if is_safe:
        statement = str(select(Article.id).where(*condition_of(Article, expression)))
        assert not re.search("|".join(SECRETS), statement)
    else:
        with pytest.raises((SensitiveFieldError, UnsafeFilterError)):
            condition_of(Article, expression)


@pytest.mark.parametrize(
    "expression",
    [
        Author.name == "x",
        other.title == "x",
        Article.tags.contains(Tag(id=1, label="x")),
        subquery.c.low == "a",
        each_key.c.key == "color",
    ],
    ids=["another class", "an alias", "a table between", "a subquery", "a function's rows"],
)
def test_tables_that_are_not_joined_are_refused_for_they_would_repeat_records(expression: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="come several times"):
        condition_of(Article, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "title = 'a'",
        b"x",
        True,
        1,
        print,
        lambda: Article.is_open,
        Article,
        Article.author,
        [Article.is_open],
        Article.title,
        articles.c.title,
        literal("x"),
        articles,
        select(tagging.c.tag_id),
        object(),
    ],
    ids=repr,
)
def test_what_is_no_condition_is_a_wrong_type(expression: Any) -> None:
    with pytest.raises((ArgumentTypeError, SensitiveFieldError)):
        condition_of(Article, expression)


def test_a_table_of_two_classes_is_a_part_of_the_class_that_inherits(session: Session) -> None:
    assert found(session, Editor, condition_of(Editor, and_(Editor.name == "x", Editor.desk == "news"))) == []
    with pytest.raises(SensitiveFieldError, match=r"Editor\.passport"):
        condition_of(Editor, Editor.passport == "x")


def test_a_class_of_sqlmodel_is_guarded_before_it_was_declared(session: Session) -> None:
    assert found(session, Note, condition_of(Note, Note.words > 1)) == []
    with pytest.raises(SensitiveFieldError, match=r"Note\.api_key"):
        condition_of(Note, Note.api_key == "x")


def test_a_class_that_is_mapped_later_is_guarded_too() -> None:
    class Later(DeclarativeBase):
        pass

    class First(Later):
        __tablename__ = "first"
        id: Mapped[int] = mapped_column(primary_key=True)

    assert condition_of(First, First.id == 1)

    class Second(Later):
        __tablename__ = "second"
        __ai__ = AI(sensitive=("code",))
        id: Mapped[int] = mapped_column(primary_key=True)
        code: Mapped[str]

    with pytest.raises(SensitiveFieldError, match=r"Second\.code"):
        condition_of(First, exists().where(Second.id == First.id, Second.code == "x"))


def test_the_message_tells_what_it_was_for_and_no_value() -> None:
    with pytest.raises(SensitiveFieldError) as caught:
        check_expression(Article, Article.source_token == "sk-live-123", "ordered by")
    assert str(caught.value) == "Article.source_token is sensitive and can't be ordered by."
