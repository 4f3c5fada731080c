"""Sessions that take part in a transaction of somebody else's, such as that of a test."""

from __future__ import annotations

from sqlalchemy import create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from ffai.objects import AI, AIRecord, Embedded, Store
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Flyer(AIRecord, Base):
    __tablename__ = "flyers"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


def test_a_commit_within_an_outer_transaction_embeds_nothing_and_the_rollback_undoes_all():
    embedder = FakeEmbedder(8)
    with Store(create_engine("sqlite://"), embedder=embedder) as store:
        store.create_all(Base)
        with store.engine.connect() as connection:
            outer = connection.begin()
            sessions = sessionmaker(connection, join_transaction_mode="rollback_only")
            store.attach(sessions)
            with sessions() as session:
                session.add(Flyer(id=1, text="a flyer"))
                session.commit()
            outer.rollback()
            assert connection.scalar(select(func.count()).select_from(Flyer)) == 0
        assert embedder.calls == []
