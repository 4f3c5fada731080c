"""A rule says what can be seen now; where it says nothing, nothing is seen."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from sqlalchemy import and_, event, false, or_, select, text, true
from sqlalchemy.orm import Session

from ffai.errors import ArgumentTypeError, InvalidArgumentError, ScopeValidationError
from ffai.objects.filtering.tenancy import Tenancy, check_visible, not_there
from tests.objects.guarded_models import Article, Author, Editor, Note, Person, Tag, desk, found


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(desk()) as session:
        session.add_all(Article(id=key, tenant_id=tenant) for key, tenant in enumerate("aabb", start=1))
        session.add_all([Editor(id=1, name="Ann", desk="news"), Editor(id=2, name="Bob", desk="art")])
        session.flush()
        yield session


@pytest.fixture
def statements(session: Session) -> list[str]:
    """The statements sent from now on."""
    sent: list[str] = []
    event.listen(session.get_bind(), "before_cursor_execute", lambda *told: sent.append(told[2]))
    return sent


def ruled(condition: Any, kind: type[Any] = Article) -> Tenancy:
    return Tenancy({kind: lambda: condition})


def test_a_rule_is_asked_each_time(session: Session) -> None:
    now = ["a"]
    tenancy = Tenancy({Article: lambda: Article.tenant_id == now[0]})
    assert (found(session, Article, tenancy.condition(Article)), tenancy.tenant(Article)) == ([1, 2], "a")
    now[0] = "b"
    assert (found(session, Article, tenancy.condition(Article)), tenancy.tenant(Article)) == ([3, 4], "b")


@pytest.mark.parametrize("tenancy", [Tenancy(None), Tenancy({}), Tenancy(), ruled(Tag.id == 1, Tag)])
def test_a_class_without_a_rule_has_no_condition_and_no_tenant(tenancy: Tenancy) -> None:
    assert tenancy.condition(Article) == []
    assert tenancy.tenant(Article) == ""


def test_the_rules_of_the_classes_above_hold_too(session: Session) -> None:
    tenancy = Tenancy({Person: lambda: Person.name != "Bob", Editor: lambda: Editor.desk == "news"})
    assert found(session, Editor, tenancy.condition(Editor)) == [1]
    assert len(tenancy.condition(Editor)) == 2
    assert len(tenancy.condition(Person)) == 1
    above = Tenancy({Person: lambda: Person.name == "Bob"})
    assert found(session, Editor, above.condition(Editor)) == [2]


def test_a_rule_may_use_a_secret_column(session: Session) -> None:
    assert found(session, Article, ruled(Article.source_token == "sk-live-123").condition(Article)) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "condition",
    [
        None,
        True,
        False,
        Article.tenant_id == None,  # noqa: E711
        Article.status == None,  # noqa: E711
        (Article.status == None).self_group(),  # noqa: E711
        and_(Article.status.is_(None), Article.day.is_(None)),
        and_(Article.tenant_id == None, Article.status == "published"),  # noqa: E711
        and_(Article.status == "published", and_(Article.views > 1, Article.tenant_id == None)),  # noqa: E711
    ],
    ids=str,
)
def test_a_rule_that_does_not_say_who_asks_shows_nothing(condition: Any) -> None:
    tenancy = ruled(condition)
    for ask in (tenancy.condition, tenancy.tenant):
        with pytest.raises(ScopeValidationError, match="No tenant is set: the rule of Article gave") as caught:
            ask(Article)
        assert [violation.rule for violation in caught.value.violations] == ["required"]


@pytest.mark.parametrize(
    "condition",
    ["tenant_id = 'a'", b"a", 1, text("tenant_id = 'a'"), Article, Article.__table__, select(Article.id), lambda: True],
    ids=str,
)
def test_a_rule_that_gives_no_condition_is_refused(condition: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="The rule of Article must return a condition"):
        ruled(condition).condition(Article)


def test_a_rule_over_another_table_is_refused_for_it_would_repeat_records() -> None:
    with pytest.raises(InvalidArgumentError, match="authors, where no Article is stored"):
        ruled(and_(Article.author_id == Author.id, Author.name == "x")).condition(Article)


def test_what_a_rule_raises_is_raised() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenancy = Tenancy({Article: lambda: Article.tenant_id == tenant.get()})
    with pytest.raises(LookupError):
        tenancy.condition(Article)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({dict: lambda: true()}, "dict is not a class with a table"),
        ({"Article": lambda: true()}, "'Article' is not a class with a table"),
        ({Article: Article.tenant_id == "a"}, r"scope\[Article\] must be a function"),
        ({Article: "a"}, r"scope\[Article\] must be a function"),
        ([Article], "scope must map classes to rules, not list"),
    ],
)
def test_rules_that_can_not_be_asked_are_refused_at_once(rules: Any, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        Tenancy(rules)


@pytest.mark.parametrize(
    ("condition", "tenant"),
    [
        (Article.tenant_id == "a", "a"),
        ("a" == Article.tenant_id, "a"),  # noqa: SIM300
        (Article.author_id == 5, "5"),
        (Article.ref == uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (Article.day == dt.date(2026, 1, 1), "2026-01-01"),
        (and_(Article.tenant_id == "a", Article.status.is_(None)), "a"),
        (and_(Article.status.is_not(None), and_(Article.tenant_id == "a")), "a"),
        (Article.author == Author(id=3, name="x"), "3"),
    ],
    ids=str,
)
def test_a_tenant_is_called_by_the_value_that_its_column_must_have(condition: Any, tenant: str) -> None:
    assert ruled(condition).tenant(Article) == tenant


OTHER: list[Callable[[str], Any]] = [
    lambda name: Article.tenant_id.in_([name, "z"]),
    lambda name: or_(Article.tenant_id == name, Article.views > 3),
    lambda name: and_(Article.status == "published", Article.tenant_id == name),
    lambda name: and_(Article.status == "published", Article.tenant_id.in_([name])),
    lambda name: Article.tenant_id != name,
    lambda name: Article.tenant_id.startswith(name),
    lambda name: Article.author.has(Author.name == name),
    lambda name: and_(Article.tenant_id == name, Article.created > dt.datetime(2026, 1, 1)),
    lambda name: Article.tenant_id == name + Article.title,
]


@pytest.mark.parametrize("rule", OTHER)
def test_another_rule_gives_a_text_that_differs_as_its_values_do(rule: Callable[[str], Any]) -> None:
    same, too, other = (ruled(rule(name)).tenant(Article) for name in ("a", "a", "b"))
    assert same == too != other
    assert len(same) == 64


@pytest.mark.parametrize("condition", [true(), false(), Article.is_open, Article.tenant_id == ""], ids=str)
def test_a_tenant_without_a_value_is_not_mistaken_for_none(condition: Any) -> None:
    assert len(ruled(condition).tenant(Article)) == 64


def test_two_rules_make_one_tenant() -> None:
    both = Tenancy({Person: lambda: Person.name == "Ann", Editor: lambda: Editor.desk == "news"})
    assert len(both.tenant(Editor)) == 64
    assert both.tenant(Person) == "Ann"


def test_a_tenant_is_called_the_same_in_every_process() -> None:
    program = """
from ffai.objects.filtering.tenancy import Tenancy
from tests.objects.guarded_models import Article
print(Tenancy({Article: lambda: Article.tenant_id.in_({"a", "b", "c", "d", "e"})}).tenant(Article))
"""
    told = set()
    for seed in ("1", "2"):
        started = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([".", *sys.path])}
        told.add(subprocess.run([sys.executable, "-c", program], env=started, capture_output=True, check=True).stdout)
    assert len(told) == 1


def test_a_record_is_visible_within_its_tenant_alone(session: Session, statements: list[str]) -> None:
    mine, theirs = session.get_one(Article, 1), session.get_one(Article, 3)
    tenancy = ruled(Article.tenant_id == "a")
    statements.clear()
    check_visible(session, mine, tenancy)
    assert len(statements) == 1
    with pytest.raises(InvalidArgumentError) as caught:
        check_visible(session, theirs, tenancy)
    assert str(caught.value) == str(not_there(Article, 3)) == "There is no Article 3."


def test_a_record_that_moved_is_judged_by_what_the_database_has(session: Session) -> None:
    record = session.get_one(Article, 1)
    record.tenant_id = "b"
    with pytest.raises(InvalidArgumentError):
        check_visible(session, record, ruled(Article.tenant_id == "a"))


def test_a_record_of_an_inheriting_class_is_looked_up_as_one(session: Session) -> None:
    check_visible(session, session.get_one(Editor, 1), ruled(Person.name == "Ann", Person))
    with pytest.raises(InvalidArgumentError, match="There is no Editor 2"):
        check_visible(session, session.get_one(Editor, 2), ruled(Person.name == "Ann", Person))


def test_nothing_is_asked_where_no_rule_is(session: Session, statements: list[str]) -> None:
    check_visible(session, Note(id=1), ruled(Article.tenant_id == "a"))
    assert statements == []


def test_a_record_without_a_key_is_told_so(session: Session) -> None:
    with pytest.raises(InvalidArgumentError, match="no primary key yet"):
        check_visible(session, Article(title="new"), ruled(Article.tenant_id == "a"))
