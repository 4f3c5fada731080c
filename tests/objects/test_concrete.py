"""Classes that inherit, each with a table and keys of its own."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.objects import AI, AIRecord, Embedded, Store
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Card(AIRecord, Base):
    __tablename__ = "cards"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class Postcard(Card):
    __tablename__ = "postcards"
    __mapper_args__: ClassVar = {"concrete": True}
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


def test_the_same_key_in_two_tables_is_two_records():
    with Store(create_engine("sqlite://"), embedder=FakeEmbedder(8)) as store:
        store.create_all(Base)
        with store.session() as session:
            session.add_all([Card(id=1, text="a card"), Postcard(id=1, text="a view")])
        for kind, text in ((Card, "a card"), (Postcard, "a view")):
            (hit,) = store[kind].search(text)
            assert (hit.record.text, hit.stale, round(hit.similarity, 4)) == (text, False, 1.0)
