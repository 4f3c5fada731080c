"""What goes wrong at a store's door is told with what to do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from ffai.errors import ConfigError
from ffai.objects import AsyncStore, Store
from ffai.testing import FakeEmbedder
from tests.contract.objects.models import Article, Base

TYPOS = [
    ("semantic_search", ["refunds"], {"feild": "title"}, "semantic_search.*'feild'.*field"),
    ("find_similar", ["a-1"], {"lmit": 3}, "find_similar.*'lmit'.*limit"),
    ("find_similar_to_vector", [[1.0]], {"lmit": 3}, "find_similar_to_vector.*'lmit'"),
    ("remember", ["s", "k", 1], {"confidance": 1}, "remember.*'confidance'.*confidence"),
    ("recall", ["s", "k"], {"defualt": 1}, "recall.*'defualt'.*default"),
    ("entries", ["s"], {"include_descendents": True}, "entries.*include_descendants"),
]


@pytest.mark.parametrize(("name", "args", "options", "told"), TYPOS, ids=[typo[0] for typo in TYPOS])
def test_a_typo_in_an_argument_is_told_with_the_method_that_was_called(
    name: str, args: list[Any], options: dict[str, Any], told: str
) -> None:
    articles = Store(create_engine("sqlite://"), embedder=FakeEmbedder())[Article]
    with pytest.raises(TypeError, match=told):
        getattr(articles, name)(*args, **options)
    waiting = AsyncStore(create_async_engine("sqlite+aiosqlite://"), embedder=FakeEmbedder())[Article]
    with pytest.raises(TypeError, match=told):
        asyncio.run(getattr(waiting, name)(*args, **options))


@pytest.fixture
def without_tables(tmp_path: Path) -> Store:
    engine = create_engine(f"sqlite:///{tmp_path}/app.db")
    Base.metadata.create_all(engine)
    return Store(engine, embedder=FakeEmbedder())


def test_missing_tables_are_told_with_what_makes_them(without_tables: Store) -> None:
    articles = without_tables[Article]
    with pytest.raises(ConfigError, match="create_all"):
        articles.semantic_search("refunds")
    with pytest.raises(ConfigError, match="create_all"):
        articles.remember("s", "k", 1)
    with pytest.raises(ConfigError, match="create_all"), without_tables.session() as session:
        session.add(Article(id="a-1", title="Refunds"))


def test_a_store_over_tables_that_are_made_later_goes_on(without_tables: Store) -> None:
    articles = without_tables[Article]
    without_tables.create_all()
    with without_tables.session() as session:
        session.add(Article(id="a-1", title="Refunds"))
    without_tables.drain()
    assert [hit.record.title for hit in articles.semantic_search("refunds")] == ["Refunds"]
