"""One way to use a store, whether it waits or is awaited, so that a case is written once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from ffai.objects import AIRecord, AsyncStore, Store


class Waiting:
    """A `Store`, called."""

    def __init__(self, url: str, article: type[Any], author: type[Any], **engine: Any) -> None:
        self.engine = create_engine(url, **engine)
        self.Article, self.Author = article, author
        self.stores: list[Any] = []

    def open(self, **settings: Any) -> Any:
        store = Store(self.engine, **settings)
        store.create_all(self.Article)
        self.stores.append(store)
        return store

    def call(self, owner: Any, name: str, *args: Any, **options: Any) -> Any:
        """Call a method of a store, a collection or a record."""
        return getattr(owner, name)(*args, **options)

    def within(self, store: Any, work: Callable[[Session], Any]) -> Any:
        """Do work within a session of a store, and commit."""
        with store.session() as session:
            return work(session)

    def with_record(self, store: Any, identity: Any, name: str, *args: Any, **options: Any) -> Any:
        """Call a method of a record that is in a session; the change is committed."""
        with store.session() as session:
            return getattr(session.get(self.Article, identity), name)(*args, **options)

    def close(self) -> None:
        for store in self.stores:
            store.close()
        self.engine.dispose()


class Awaited:
    """An `AsyncStore`, awaited; all of a test in one loop."""

    def __init__(self, url: str, article: type[Any], author: type[Any], **engine: Any) -> None:
        self.engine = create_async_engine(url, **engine)
        self.Article, self.Author = article, author
        self.stores: list[Any] = []
        self._runner = asyncio.Runner()

    def open(self, **settings: Any) -> Any:
        store = AsyncStore(self.engine, **settings)
        self._runner.run(store.create_all(self.Article))
        self.stores.append(store)
        return store

    def call(self, owner: Any, name: str, *args: Any, **options: Any) -> Any:
        async def called() -> Any:
            return await getattr(owner.aio if isinstance(owner, AIRecord) else owner, name)(*args, **options)

        return self._runner.run(called())

    def within(self, store: Any, work: Callable[[Session], Any]) -> Any:
        async def done() -> Any:
            async with store.session() as session:
                return await session.run_sync(work)

        return self._runner.run(done())

    def with_record(self, store: Any, identity: Any, name: str, *args: Any, **options: Any) -> Any:
        async def called() -> Any:
            async with store.session() as session:
                record = await session.get(self.Article, identity)
                return await getattr(record.aio, name)(*args, **options)

        return self._runner.run(called())

    def close(self) -> None:
        async def closed() -> None:
            for store in self.stores:
                await store.close()
            await self.engine.dispose()

        self._runner.run(closed())
        self._runner.close()


World = Waiting | Awaited


def added(world: World, store: Any, *rows: dict[str, Any]) -> list[str]:
    """Add articles, wait until they are embedded, and return their ids."""
    world.within(store, lambda session: session.add_all([world.Article(**row) for row in rows]))
    world.call(store, "drain")
    return [row["id"] for row in rows]
