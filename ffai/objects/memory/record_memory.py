"""Memory of records: JSON values that belong to a record or to a class, in a table beside the user's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, Unpack

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from ffai.chat.flow import Flow
from ffai.core.arguments import known_keywords
from ffai.errors import ArgumentTypeError
from ffai.objects.memory.entry import MemoryEntry
from ffai.objects.memory.flows import MemoryFlows
from ffai.objects.memory.options import Choosing, Listing, Recalling, Remembering
from ffai.objects.memory.whose import Rules
from ffai.objects.steps import AsyncPlace, InDatabase, Place, Step, given
from ffai.objects.tables import Tables

R = TypeVar("R")


class RecordMemory:
    """Values that are remembered for a record, or for a class as a whole.

    Whose a memory is comes first in each call: a record with a primary key, or its class. It lies in a *scope*, a path
    such as ``"parser/example.com"``, under a *key*. Each method has a twin that is awaited, with ``a`` in front; an
    ``Engine`` serves the plain ones, an ``AsyncEngine`` the twins.

    Args:
        engine: of the database that holds the records.
        tables: where memories are stored.
        tenancy: what can be seen now; a record that can't has no memories, and those of a class lie apart for each
            tenant. ``None`` for everything.
        session: whose transaction everything is part of; without one, each call is a transaction.
        clock: gives seconds since the epoch.

    Raises:
        ArgumentTypeError: ``engine`` is none, or a method is called that is not for its kind.

    Examples:
        >>> from sqlalchemy import Column, String, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase
        >>> class Base(DeclarativeBase): pass
        >>> class Parser(Base):
        ...     __tablename__ = "parsers"
        ...     id = Column(String, primary_key=True)
        >>> memory, parser = RecordMemory(create_engine("sqlite://")), Parser(id="p-1")
        >>> memory.create_all()
        >>> memory.remember(parser, "parser/example.com", "css", "article .body", confidence=0.9)
        >>> memory.recall(parser, "parser/example.com/article", "css", include_ancestors=True)
        'article .body'
        >>> memory.recall_all(parser, "parser", include_descendants=True)
        {'css': 'article .body'}
        >>> memory.forget_scope(parser, "parser", include_descendants=True)
        1
    """

    def __init__(
        self,
        engine: Engine | AsyncEngine,
        *,
        tables: Tables | None = None,
        tenancy: Rules | None = None,
        session: Session | AsyncSession | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(engine, (Engine, AsyncEngine)):
            raise ArgumentTypeError(f"engine must be an Engine or an AsyncEngine of SQLAlchemy, not {engine!r:.100}.")
        self._place = _place_of(engine, session)
        self._tables = Tables() if tables is None else tables
        self.flows = MemoryFlows(self._tables, tenancy, clock=clock)

    def remember(self, whose: object, scope: str, key: str, value: Any, **options: Unpack[Remembering]) -> None:
        """Write a value, over the one that is there.

        Only what is given changes: without ``confidence``, ``metadata`` or an expiry they stay, and so do the id, the
        time of creation and the counts of outcomes. Over what has expired a new memory is written.

        Args:
            whose: a record, or a mapped class.
            scope: a path; slashes around it don't count, upper and lower case do.
            key: any text that is not blank.
            value: anything JSON can say; ``None`` too. Tuples come back as lists.
            options: ``confidence``, ``metadata``, ``expires_at`` or ``expires_in``, ``version``; see `Remembering`.

        Raises:
            ArgumentTypeError, InvalidArgumentError: an argument can't be used; nothing is written.
        """
        self.run(self.flows.remember_flow(whose, scope, key, value, **known_keywords("remember", options, Remembering)))

    async def aremember(self, whose: object, scope: str, key: str, value: Any, **options: Unpack[Remembering]) -> None:
        """Write a value; see `remember`."""
        await self.arun(
            self.flows.remember_flow(whose, scope, key, value, **known_keywords("remember", options, Remembering))
        )

    def recall(self, whose: object, scope: str, key: str, **options: Unpack[Recalling]) -> Any:
        """Return a value: that of the surest version, and of the newest of these.

        Args:
            whose: a record, or a mapped class.
            scope: where it lies.
            key: its name there.
            options: ``include_ancestors``, ``min_confidence``, ``version``, ``prefer``, ``include_expired``; and
                ``default``, returned where there is nothing. See `Recalling`.

        Raises:
            ArgumentTypeError, InvalidArgumentError: an argument can't be used.
        """
        return self.run(self.flows.recall_flow(whose, scope, key, **known_keywords("recall", options, Recalling)))

    async def arecall(self, whose: object, scope: str, key: str, **options: Unpack[Recalling]) -> Any:
        """Return a value; see `recall`."""
        return await self.arun(
            self.flows.recall_flow(whose, scope, key, **known_keywords("recall", options, Recalling))
        )

    def recall_entry(self, whose: object, scope: str, key: str, **options: Unpack[Choosing]) -> MemoryEntry | None:
        """Return what `recall` finds, with all that is known of it; ``None`` where there is nothing."""
        return self.run(
            self.flows.recall_entry_flow(whose, scope, key, **known_keywords("recall_entry", options, Choosing))
        )

    async def arecall_entry(
        self, whose: object, scope: str, key: str, **options: Unpack[Choosing]
    ) -> MemoryEntry | None:
        """Return what `arecall` finds; see `recall_entry`."""
        return await self.arun(
            self.flows.recall_entry_flow(whose, scope, key, **known_keywords("recall_entry", options, Choosing))
        )

    def recall_all(self, whose: object, scope: str | None = None, **options: Unpack[Listing]) -> dict[str, Any]:
        """Return the values of a scope by their keys; of all scopes where none is named.

        Where a key is there more than once, the surest counts, then the newest version, then the shortest scope.

        Args:
            whose: a record, or a mapped class.
            scope: where they lie.
            options: ``include_descendants``, ``min_confidence``, ``include_expired``; see `Listing`.

        Raises:
            ArgumentTypeError, InvalidArgumentError: an argument can't be used.
        """
        return self.run(self.flows.recall_all_flow(whose, scope, **known_keywords("recall_all", options, Listing)))

    async def arecall_all(self, whose: object, scope: str | None = None, **options: Unpack[Listing]) -> dict[str, Any]:
        """Return the values of a scope; see `recall_all`."""
        return await self.arun(
            self.flows.recall_all_flow(whose, scope, **known_keywords("recall_all", options, Listing))
        )

    def entries(self, whose: object, scope: str | None = None, **options: Unpack[Listing]) -> list[MemoryEntry]:
        """Return every memory that `recall_all` chooses from, by scope and key, the best version first."""
        return self.run(self.flows.entries_flow(whose, scope, **known_keywords("entries", options, Listing)))

    async def aentries(self, whose: object, scope: str | None = None, **options: Unpack[Listing]) -> list[MemoryEntry]:
        """Return every memory; see `entries`."""
        return await self.arun(self.flows.entries_flow(whose, scope, **known_keywords("entries", options, Listing)))

    def forget(self, whose: object, scope: str, key: str) -> int:
        """Delete every version of a memory; return how many there were."""
        return self.run(self.flows.forget_flow(whose, scope, key))

    async def aforget(self, whose: object, scope: str, key: str) -> int:
        """Delete every version of a memory; see `forget`."""
        return await self.arun(self.flows.forget_flow(whose, scope, key))

    def forget_scope(self, whose: object, scope: str, *, include_descendants: bool = False) -> int:
        """Delete what lies in a scope, and below it where that is asked; return how many there were."""
        return self.run(self.flows.forget_scope_flow(whose, scope, include_descendants=include_descendants))

    async def aforget_scope(self, whose: object, scope: str, *, include_descendants: bool = False) -> int:
        """Delete what lies in a scope; see `forget_scope`."""
        return await self.arun(self.flows.forget_scope_flow(whose, scope, include_descendants=include_descendants))

    def purge_expired(self) -> int:
        """Delete what has expired, whosever it is; return how many there were."""
        return self.run(self.flows.purge_expired_flow())

    async def apurge_expired(self) -> int:
        """Delete what has expired; see `purge_expired`."""
        return await self.arun(self.flows.purge_expired_flow())

    def create_all(self) -> None:
        """Create the table, where it is not there yet."""
        self.run(self._create_flow())

    async def acreate_all(self) -> None:
        """Create the table; see `create_all`."""
        await self.arun(self._create_flow())

    def run(self, flow: Flow[Step, R]) -> R:
        """Run a flow of `flows`.

        Raises:
            ArgumentTypeError: the engine is an ``AsyncEngine``.
        """
        if isinstance(self._place, AsyncPlace):
            raise ArgumentTypeError(
                "This memory has an AsyncEngine: await the method with an 'a' in front, or give an Engine."
            )
        return self._place.run(flow)

    async def arun(self, flow: Flow[Step, R]) -> R:
        """Run a flow of `flows`, and await it.

        Raises:
            ArgumentTypeError: the engine is an ``Engine``.
        """
        if isinstance(self._place, Place):
            raise ArgumentTypeError(
                "This memory has an Engine: call the method without the 'a', or give an AsyncEngine."
            )
        return await self._place.run(flow)

    def _create_flow(self) -> Flow[Step, None]:
        yield from given(
            InDatabase(
                lambda session: self._tables.metadata.create_all(session.connection(), tables=[self._tables.memories])
            )
        )


def _place_of(engine: Engine | AsyncEngine, session: Session | AsyncSession | None) -> Place | AsyncPlace:
    if isinstance(engine, AsyncEngine):
        if not isinstance(session, (AsyncSession, type(None))):
            raise ArgumentTypeError(f"An AsyncEngine goes with an AsyncSession, not {session!r:.100}.")
        return AsyncPlace(engine, session)
    if not isinstance(session, (Session, type(None))):
        raise ArgumentTypeError(f"An Engine goes with a Session, not {session!r:.100}.")
    return Place(engine, session)
