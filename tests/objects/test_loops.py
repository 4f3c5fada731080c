"""A store whose program runs one loop after another."""

from __future__ import annotations

import asyncio

from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.objects import AI, AIRecord, AsyncStore, Embedded
from ffai.testing import FakeEmbedder


class Base(DeclarativeBase):
    pass


class Leaflet(AIRecord, Base):
    __tablename__ = "leaflets"
    __ai__ = AI(embedded=Embedded("text"))
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class FirstNever(FakeEmbedder):
    """An embedder whose first call never ends."""

    def __init__(self) -> None:
        super().__init__(8)
        self.begun = asyncio.Event()

    async def aembed(self, texts: list[str]) -> object:
        if not self.begun.is_set():
            self.begun.set()
            await asyncio.Event().wait()
        return super().embed(texts)


def test_what_a_loop_leaves_while_the_model_embeds_is_done_on_the_next_one(tmp_path):
    embedder = FirstNever()
    store = AsyncStore(create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}"), embedder=embedder)

    async def first() -> None:
        await store.create_all(Base)
        async with store.session() as session:
            session.add(Leaflet(id=1, text="a leaflet"))
        await embedder.begun.wait()

    async def second() -> None:
        assert await store.drain(30) == (1, 0, 0)
        assert [hit.record.id for hit in await store[Leaflet].search("a leaflet")] == [1]
        await store.close()
        await store.engine.dispose()

    asyncio.run(first())
    asyncio.run(second())
