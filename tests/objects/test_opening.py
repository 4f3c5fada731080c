"""The door from an FFAI to the records of a database."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from ffai import FFAI, Memory
from ffai.config import Config, ObjectSettings
from ffai.objects import AsyncStore, Store, StoreSettings
from ffai.testing import FakeClient, FakeEmbedder
from tests.objects.library import Article


def test_the_settings_of_the_configuration_are_those_of_a_store() -> None:
    assert StoreSettings(**ObjectSettings().model_dump()) == StoreSettings()


def test_an_ffai_opens_a_store_with_its_client_and_the_embedder_of_its_memory(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    ffai = FFAI(FakeClient(["It is."]), memory=Memory(embedder), config={"objects": {"generate": "commit"}})
    with ffai.records(create_engine(f"sqlite:///{tmp_path}/app.db")) as store:
        assert isinstance(store, Store)
        assert store.wiring.settings.generate == "commit"
        assert store.wiring.embedder(Article) is embedder
    assert isinstance(ffai.records(create_async_engine("sqlite+aiosqlite://")), AsyncStore)


def test_keywords_win_over_the_configuration() -> None:
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()), config={"objects": {"tool_rounds": 3}})
    store = ffai.records(create_engine("sqlite://"), tool_rounds=7)
    assert store.wiring.settings.tool_rounds == 7


def test_a_model_that_is_named_is_taken_before_that_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    embedder = FakeEmbedder()
    ffai = FFAI(
        FakeClient(), memory=Memory(embedder), config={"objects": {"embedding_model": "openai/text-embedding-3-small"}}
    )
    chosen = ffai.records(create_engine("sqlite://")).wiring.embedder(Article)
    assert getattr(chosen, "model", "") == "openai/text-embedding-3-small"


def test_an_unknown_setting_is_told_with_those_that_there_are() -> None:
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()))
    with pytest.raises(TypeError, match="storag"):
        ffai.records(create_engine("sqlite://"), storag="native")


def test_what_is_no_engine_is_told(tmp_path: Path) -> None:
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()))
    with pytest.raises(TypeError, match="create_engine"):
        ffai.records("sqlite://")
    assert Config().objects.storage == "process"
