"""The steps that flows of records take, and who takes them: a thread that waits, or a task that awaits."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_object_session
from sqlalchemy.orm import Session

from ffai.chat.flow import Failed, Flow, arun, run
from ffai.core.embeddings.turns import taking_turns
from ffai.objects.missing_tables import told_of_missing_tables

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ffai.core.embeddings.protocol import Embedder

R = TypeVar("R")


class Step(Protocol):
    """One thing that a flow waits for."""

    def take(self, place: Place) -> Any:
        """Take it, and wait."""
        ...

    async def atake(self, place: AsyncPlace) -> Any:
        """Take it, and await it."""
        ...


def given(step: Step) -> Flow[Step, Any]:
    """Take a step within a flow, and return what it gave; what it raised is raised here.

    Examples:
        >>> def flow():
        ...     vectors = yield from given(Embed(FakeEmbedder(2), ["a text"]))
        ...     return len(vectors)
        >>> from ffai.testing import FakeEmbedder
        >>> Place(None).run(flow())
        1
    """
    outcome = yield step
    if isinstance(outcome, Failed):
        raise outcome.error
    return outcome


@dataclass(frozen=True, slots=True)
class InDatabase:
    """Work within one transaction: that of the place's session, or one of its own."""

    work: Callable[[Session], Any]

    def take(self, place: Place) -> Any:
        """Do the work."""
        return place.work(self.work)

    async def atake(self, place: AsyncPlace) -> Any:
        """Do the work."""
        return await place.work(self.work)


@dataclass(frozen=True, slots=True)
class WithRecord:
    """Work on a record, which may load what it lacks from the session it belongs to."""

    record: object
    work: Callable[[], Any]

    def take(self, _: Place) -> Any:
        """Do the work."""
        return self.work()

    async def atake(self, _: AsyncPlace) -> Any:
        """Do the work; await what it gave, where that has to be awaited."""
        session = async_object_session(self.record) if hasattr(self.record, "_sa_instance_state") else None
        found = self.work() if session is None else await session.run_sync(lambda _: self.work())
        return await found if inspect.isawaitable(found) else found


@dataclass(frozen=True, slots=True)
class Embed:
    """Turn texts into vectors."""

    embedder: Embedder
    texts: list[str]

    def take(self, _: Place) -> Any:
        """Return one row a text."""
        return self._embed()

    async def atake(self, _: AsyncPlace) -> Any:
        """Return one row a text."""
        own = getattr(self.embedder, "aembed", None)
        return await (own(list(self.texts)) if callable(own) else asyncio.to_thread(self._embed))

    def _embed(self) -> Any:
        with taking_turns(self.embedder):
            return self.embedder.embed(list(self.texts))


class Place:
    """Where flows are run by threads.

    Args:
        engine: of the database; ``None`` for flows that need none.
        session: whose transaction the work takes part in; without one, each piece of work is a transaction.
    """

    def __init__(self, engine: Engine | None, session: Session | None = None) -> None:
        self.engine, self.session = engine, session

    def run(self, flow: Flow[Step, R]) -> R:
        """Run a flow to its end."""
        return run(flow, lambda step: step.take(self))

    def work(self, work: Callable[[Session], R]) -> R:
        """Do work within a transaction."""
        with told_of_missing_tables():
            if self.session is not None:
                self.session.flush()
                return work(self.session)
            with Session(self.engine, expire_on_commit=False) as session, session.begin():
                return work(session)


class AsyncPlace:
    """The async twin of `Place`."""

    def __init__(self, engine: AsyncEngine | None, session: AsyncSession | None = None) -> None:
        self.engine, self.session = engine, session

    async def run(self, flow: Flow[Step, R]) -> R:
        """Run a flow to its end."""
        return await arun(flow, lambda step: step.atake(self))

    async def work(self, work: Callable[[Session], R]) -> R:
        """Do work within a transaction."""
        with told_of_missing_tables():
            if self.session is not None:
                await self.session.flush()
                return await self.session.run_sync(work)
            async with AsyncSession(self.engine, expire_on_commit=False) as session, session.begin():
                return await session.run_sync(work)
