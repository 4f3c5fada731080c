"""Whose the user's own sessions are."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from ffai.errors import ArgumentTypeError
from ffai.objects import AsyncStore, Store
from ffai.testing import FakeEmbedder


def test_a_session_of_one_store_is_not_given_to_another():
    engine = create_engine("sqlite://")
    one, other = Store(engine, embedder=FakeEmbedder()), Store(engine, embedder=FakeEmbedder())
    session = Session(engine)
    one.attach(session)
    one.attach(session)
    with pytest.raises(ArgumentTypeError, match="belongs to another store"):
        other.attach(session)


def test_an_awaited_session_of_one_store_is_not_given_to_another():
    engine = create_async_engine("sqlite+aiosqlite://")
    one, other = AsyncStore(engine, embedder=FakeEmbedder()), AsyncStore(engine, embedder=FakeEmbedder())
    session = AsyncSession(engine)
    one.attach(session)
    with pytest.raises(ArgumentTypeError, match="belongs to another store"):
        other.attach(session)


def test_a_scoped_session_is_refused_with_what_to_give_instead():
    engine = create_engine("sqlite://")
    with pytest.raises(ArgumentTypeError, match="session_factory"):
        Store(engine, embedder=FakeEmbedder()).attach(scoped_session(sessionmaker(engine)))  # type: ignore[arg-type]
