"""What may be seen of a record."""

import datetime
import json
import math
import uuid
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, field_serializer
from sqlalchemy import ForeignKey, LargeBinary, PickleType, func, select
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column, relationship, synonym, undefer
from sqlalchemy.orm.exc import DetachedInstanceError
from sqlmodel import Field as Stored
from sqlmodel import SQLModel

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.asking.public import Scrubber, public_of, public_value
from ffai.objects.declaration import AI, Sensitive
from tests.objects.asked import AUTHORS_SECRET, SECRET, Article, Author, Memo, article, session


class Base(DeclarativeBase):
    pass


class Colour(Enum):
    RED = "red"


class Odd(Base):
    __tablename__ = "odd"

    when: Mapped[datetime.datetime | None]
    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[Decimal | None]
    key: Mapped[uuid.UUID | None]
    colour: Mapped[Colour | None]
    picture: Mapped[bytes | None]
    share: Mapped[float | None]
    anything: Mapped[Any | None] = mapped_column(PickleType)
    token: Mapped[Sensitive[bytes | None]] = mapped_column(LargeBinary)
    secret_id: Mapped[Sensitive[uuid.UUID | None]]


class Knot(Base):
    __tablename__ = "knots"
    __ai__ = AI(include=("next", "others"))

    id: Mapped[int] = mapped_column(primary_key=True)
    next_id: Mapped[int | None] = mapped_column(ForeignKey("knots.id"))
    next: Mapped["Knot | None"] = relationship(remote_side="Knot.id")
    others: Mapped[dict[str, Any]] = mapped_column(PickleType, default=dict)


class Hooked(Base):
    __tablename__ = "hooked"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    token: Mapped[Sensitive[str]]

    def public_data(self, data: dict[str, Any]) -> Any:
        return {
            **data,
            "title": data["title"].upper(),
            "token": self.token,
            "url": f"https://example.com/?k={self.token}&k2={json.dumps(self.token)}",
            self.token: "as a key",
            "deep": {"token": 1, "list": [self.token, datetime.date(2024, 1, 2)]},
        }


def told(form: Any) -> str:
    return json.dumps(form, ensure_ascii=False)


def test_the_key_comes_first_then_the_columns_as_declared_then_what_is_included() -> None:
    columns = ["id", "title", "body", "status", "extra", "notes", "author_id"]
    assert list(public_of(article())) == [*columns, "author", "by_kind"]


def test_no_secret_of_the_record_or_of_one_within_is_seen_and_the_rest_is() -> None:
    one = article(extra={"deep": [{"of": 1}]}, body=f"my token is {SECRET}, hers {AUTHORS_SECRET}")
    form = public_of(one)
    assert SECRET not in told(form)
    assert AUTHORS_SECRET not in told(form)
    assert "source_token" not in told(form)
    assert "password" not in told(form)
    assert "tenant_id" not in told(form)
    assert form["author"] == {"id": 7, "name": "Ana", "articles": []}
    assert form["by_kind"] == {"authors": [{"id": 7, "name": "Ana", "articles": []}], "seen": "token=[removed]"}
    assert form["body"] == "my token is [removed], hers [removed]"
    assert form["extra"] == {"deep": [{"of": 1}]}


def test_a_record_that_is_shared_appears_twice_and_one_that_the_form_is_within_does_not() -> None:
    ana = Author(id=7, name="Ana", password=AUTHORS_SECRET)
    ana.articles = [Article(id=1, title="Tea", extra={}), Article(id=2, title="Milk", extra={})]
    form = public_of(ana)
    assert [one["title"] for one in form["articles"]] == ["Tea", "Milk"]
    assert "author" not in form["articles"][0]
    first = Knot(id=1, others={})
    first.others = {"a": first, "b": [Memo(id=1, title="x"), first], "c": {"d": Memo(id=2, title="y")}}
    assert public_of(first) == {
        "id": 1,
        "next_id": None,
        "others": {"b": [{"id": 1, "title": "x", "done": False}], "c": {"d": {"id": 2, "title": "y", "done": False}}},
        "next": None,
    }


def test_a_form_without_end_is_an_error_and_no_recursion() -> None:
    chain = Knot(id=0, others={})
    for number in range(1, 3000):
        chain = Knot(id=number, next=chain, others={})
    with pytest.raises(InvalidArgumentError, match="deeper"):
        public_of(chain)


def test_relationships_to_and_fro_end() -> None:
    @dataclass
    class Node:
        name: str
        others: list[Any] = field(default_factory=list)

    nodes = [Node(str(at)) for at in range(12)]
    for node in nodes:
        node.others = list(nodes)
    with pytest.raises(InvalidArgumentError, match="10,000 records"):
        public_of(nodes[0])


def test_values_are_made_such_as_json_has() -> None:
    key = uuid.UUID(int=5)
    one = Odd(
        id=1,
        when=datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.UTC),
        price=Decimal("1.10"),
        key=key,
        colour=Colour.RED,
        picture=b"abcdefghijkl",
        share=math.nan,
        anything={1: (2, deque([3])), None: {4.5}, "half \ud83d": datetime.timedelta(hours=1), "n": math.inf},
    )
    assert public_of(one) == {
        "id": 1,
        "when": "2024-01-02T03:04:00+00:00",
        "price": "1.10",
        "key": str(key),
        "colour": "red",
        "picture": "<12 bytes>",
        "share": None,
        "anything": {"1": [2, [3]], "None": [4.5], "half \ufffd": "1:00:00", "n": None},
    }


def test_a_value_without_a_form_is_an_error_that_names_it() -> None:
    with pytest.raises(ArgumentTypeError, match=r"Odd\.anything: A object has no public form"):
        public_of(Odd(id=1, anything=object()))


def test_secrets_that_are_bytes_or_uuids_are_taken_out_of_texts() -> None:
    secret = uuid.uuid4()
    one = Odd(id=1, token=b"raw-secret", secret_id=secret, anything=[f"{secret} {secret.hex}", "the raw-secret"])
    assert public_of(one)["anything"] == ["[removed] [removed]", "the [removed]"]


@pytest.mark.parametrize("secret", ["sk-live-123", 'with "quotes" \\ and\nlines', "schlüssel", "{'a': 1}"])
def test_a_hook_changes_the_form_and_carries_no_secret_out(secret: str) -> None:
    form = public_of(Hooked(id=1, title="tea", token=secret))
    assert form["title"] == "TEA"
    assert "token" not in form
    assert form["deep"] == {"list": ["[removed]", "2024-01-02"]}
    assert form["[removed]"] == "as a key"
    assert secret not in told(form)
    assert json.dumps(secret)[1:-1] not in form["url"]


def test_a_hook_that_gives_no_dict_is_refused() -> None:
    class Wrong(Hooked):
        def public_data(self, data: dict[str, Any]) -> Any:
            return [data]

    with pytest.raises(ArgumentTypeError, match="public_data must return a dict"):
        public_of(Wrong(id=1, title="t", token="secret"))


def test_a_secret_that_is_not_loaded_stays_so() -> None:
    class Own(DeclarativeBase):
        pass

    class Vault(Own):
        __tablename__ = "vaults"
        id: Mapped[int] = mapped_column(primary_key=True)
        token: Mapped[Sensitive[str]] = mapped_column(deferred=True, deferred_raiseload=True)
        big: Mapped[str] = mapped_column(deferred=True)
        shut: Mapped[str] = mapped_column(deferred=True, deferred_raiseload=True)

    here = session()
    Own.metadata.create_all(here.get_bind())
    here.add(Vault(id=1, token=SECRET, big="big", shut="shut"))
    here.commit()
    here.expunge_all()
    vault = here.scalars(select(Vault)).one()
    assert public_of(vault) == {"id": 1, "big": "big"}
    with pytest.raises(InvalidRequestError):
        _ = vault.token
    here.expunge_all()
    here.expunge(vault := here.scalars(select(Vault)).one())
    assert public_of(vault) == {"id": 1}
    here.commit()
    opened = here.scalars(select(Vault).options(undefer(Vault.token))).one()
    opened.token = "another-secret"
    assert Scrubber(opened).text(f"{SECRET} another-secret") == "[removed] [removed]"


def test_what_a_commit_expired_is_loaded_again_and_cannot_be_without_a_session() -> None:
    one = article()
    here = one._sa_instance_state.session
    here.commit()
    assert public_of(one)["title"] == "Tea"
    here.commit()
    here.expunge(one)
    with pytest.raises(DetachedInstanceError):
        public_of(one)


def test_what_is_excluded_is_not_seen() -> None:
    assert "body" not in public_of(article(), exclude=("body", "author", "by_kind"))
    assert "author" not in public_of(article(), exclude=["author", "by_kind"])
    with pytest.raises(ArgumentTypeError, match="exclude"):
        public_of(article(), exclude="body")


def test_what_is_included_has_to_be_there_and_no_secret() -> None:
    class Own(DeclarativeBase):
        pass

    class Wrong(Own):
        __tablename__ = "wrong"
        __ai__ = AI(include=("nowhere",))
        id: Mapped[int] = mapped_column(primary_key=True)

    class Secretive(Own):
        __tablename__ = "secretive"
        __ai__ = AI(include=("token",))
        id: Mapped[int] = mapped_column(primary_key=True)
        token: Mapped[Sensitive[str]]

    with pytest.raises(InvalidArgumentError, match="nowhere"):
        public_of(Wrong(id=1))
    with pytest.raises(SensitiveFieldError, match=r"Secretive\.token"):
        public_of(Secretive(id=1, token="x"))


def test_a_sqlmodel_is_a_record() -> None:
    assert public_of(Memo(id=1, title=f"call {SECRET}")) == {"id": 1, "title": "call [removed]", "done": False}


def test_a_pydantic_model_is_a_record_with_what_it_gives_out() -> None:
    class Inner(BaseModel):
        shown: int = 1
        hidden: str = Field("no", exclude=True)

    class Outer(BaseModel):
        name: str
        inner: Inner = Inner()
        password: SecretStr = SecretStr("hunter22")
        masked: str = "masked-value"
        memos: list[Any] = []
        off: list[Any] = Field([Memo(id=3, title="off")], exclude=True)
        token: Sensitive[str] = SECRET

        @field_serializer("masked")
        def mask(self, value: str) -> str:
            return "***"

    form = public_of(Outer(name=f"its {SECRET}", memos=[Memo(id=1, title="x", token="other-secret")]))
    assert form == {
        "name": "its [removed]",
        "password": "**********",
        "masked": "***",
        "inner": {"shown": 1},
        "memos": [{"id": 1, "title": "x", "done": False}],
    }


def test_a_dataclass_and_a_mapping_are_records() -> None:
    @dataclass
    class Point:
        x: int
        token: str = field(default="a-secret", metadata={"sensitive": True})
        inner: Any = None

    assert public_of(Point(1, inner=Point(2))) == {"x": 1, "inner": {"x": 2, "inner": None}}
    assert public_of({"a": Point(1), 2: "b"}) == {"a": {"x": 1, "inner": None}, "2": "b"}


@pytest.mark.parametrize("record", [None, "text", 3, [1], Article, object()])
def test_anything_else_is_no_record(record: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="A record is"):
        public_of(record)


def test_any_value_has_a_form_where_it_need_not_be_a_record() -> None:
    assert public_value({"m": Memo(id=1, title="x"), "s": {2, 1}}, Scrubber()) == {
        "m": {"id": 1, "title": "x", "done": False},
        "s": [1, 2],
    }


@given(st.text(min_size=4), st.text(), st.text())
def test_no_secret_stays_in_any_text(secret: str, before: str, after: str) -> None:
    scrubber = Scrubber(Memo(id=1, title="x", token=secret))
    ((key, (text, inner)),) = scrubber.clean({f"{before}{secret}": [f"{secret}{after}", {"k": secret}]}).items()
    for cleaned in (key, text, inner["k"]):
        assert "[removed]" in cleaned
        assert all(secret not in part for part in cleaned.split("[removed]"))


def test_a_sqlmodel_field_that_may_be_empty_stays_secret() -> None:
    class Keyed(SQLModel):
        maybe: Sensitive[str] | None = None

    class Locker(Keyed, table=True):
        id: int | None = Stored(default=None, primary_key=True)
        title: str = ""
        token: Sensitive[str] | None = None
        pin: Sensitive[int] | None = Stored(default=None, ge=1)

    assert public_of(Locker(id=1, title="Blue", maybe="sk-1", token="sk-2", pin=3)) == {"id": 1, "title": "Blue"}
    assert public_of(Keyed(maybe="sk-1")) == {}


class Renamed(Base):
    __tablename__ = "renamed"
    __ai__ = AI(include=("again",))
    id: Mapped[int] = mapped_column(primary_key=True)
    pin: Mapped[Sensitive[int]] = mapped_column(default=987654)
    again = synonym("pin")


class Louder(Base):
    __tablename__ = "louder"
    __ai__ = AI(include=("loud",))
    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[Sensitive[str]] = mapped_column(default="sk-live")
    loud: Mapped[str] = column_property(func.upper(token.column))


@pytest.mark.parametrize("kind", [Renamed, Louder], ids=["synonym", "column_property"])
def test_a_secret_by_another_name_cant_be_included(kind: Any) -> None:
    with pytest.raises(SensitiveFieldError):
        public_of(kind(id=1))
