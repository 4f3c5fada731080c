"""Records with keys that are neither texts nor whole numbers."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Float, LargeBinary, Numeric, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.errors import InvalidArgumentError
from ffai.objects import AI, AIRecord, Embedded, Store
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


class Tint(AIRecord, Base):
    __tablename__ = "tints"
    __ai__ = AI(embedded=Embedded("text"))
    colour: Mapped[Colour] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]


class Shade(AIRecord, Base):
    __tablename__ = "shades"
    __ai__ = AI(embedded=Embedded("text"))
    colour: Mapped[Colour] = mapped_column(primary_key=True)
    text: Mapped[str]


class Answer(AIRecord, Base):
    __tablename__ = "answers"
    __ai__ = AI(embedded=Embedded("text"))
    is_yes: Mapped[bool] = mapped_column(primary_key=True)
    text: Mapped[str]


class Reading(AIRecord, Base):
    __tablename__ = "readings"
    __ai__ = AI(embedded=Embedded("text"))
    at: Mapped[datetime] = mapped_column(primary_key=True)
    text: Mapped[str]


RECORDS = [
    (Tint, {"colour": Colour.RED, "number": 1}, {"colour": Colour.BLUE, "number": 2}),
    (Shade, {"colour": Colour.RED}, {"colour": Colour.BLUE}),
    (Reading, {"at": datetime(2020, 1, 1, 1, 2, 3, 45000)}, {"at": datetime(2021, 1, 1)}),
    (Answer, {"is_yes": True}, {"is_yes": False}),
]


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Any:
    url = "sqlite://" if request.param == "sqlite" else request.getfixturevalue("empty_postgres")
    engine = create_engine(url)
    yield engine
    engine.dispose()


@pytest.mark.parametrize(("kind", "one", "other"), RECORDS)
def test_records_are_embedded_found_and_filled_in_page_by_page(engine, kind, one, other):
    with Store(engine, embedder=FakeEmbedder(8)) as store:
        store.create_all(Base)
        with store.session() as session:
            session.add_all([kind(text="a pale one", **one), kind(text="a dark one", **other)])
        assert store.drain(30).left == 0
        assert store[kind].search("a pale one")[0].record.text == "a pale one"
        assert [hit.record.text for hit in store[kind].find_similar(tuple(one.values()))] == ["a dark one"]
        assert store[kind].generate_missing_embeddings(batch_size=1).skipped == 2


@pytest.mark.parametrize("kind", [Numeric(10, 2), Float(), LargeBinary()], ids=["decimal", "float", "bytes"])
def test_a_key_that_no_text_stands_for_is_refused_with_the_class(kind: Any) -> None:
    class Base(DeclarativeBase):
        pass

    with pytest.raises(InvalidArgumentError, match="key"):

        class Odd(AIRecord, Base):
            __tablename__ = "odd"
            id = mapped_column(kind, primary_key=True)
