"""A store whose tables were not made: each error says what makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.objects import AI, AIRecord, Embedded, Store
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Poster(AIRecord, Base):
    __tablename__ = "posters"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


def save(store: Store) -> None:
    with store.session() as session:
        session.add(Poster(id=1, text="a poster"))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Any:
    url = "sqlite://" if request.param == "sqlite" else request.getfixturevalue("empty_postgres")
    engine = create_engine(url)
    Base.metadata.create_all(engine)
    with Store(engine, embedder=FakeEmbedder(8)) as store:
        yield store
    engine.dispose()


CALLS: list[Callable[[Store], Any]] = [
    save,
    lambda store: store[Poster].search("a poster"),
    lambda store: store[Poster].generate_missing_embeddings(),
    lambda store: store[Poster].remember("scope", "key", 1),
    lambda store: store.status(Poster),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_error_names_create_all(store, call):
    with pytest.raises(DBAPIError) as caught:
        call(store)
    assert any("store.create_all()" in note for note in caught.value.__notes__)
