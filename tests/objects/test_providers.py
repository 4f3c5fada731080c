"""Where vectors come from: the chat client, a local model, or a provider."""

from __future__ import annotations

from typing import Any

import pytest

from ffai.errors import ModelUnavailableError
from ffai.objects.settings import StoreSettings
from ffai.objects.vectors.providers import embedder_for
from ffai.testing import FakeClient
from tests.core.embeddings.servers import Provider


class EmbeddingClient(FakeClient):
    """A chat client that embeds too."""

    embedding_model = "house/embed-1"

    def embed(self, texts: list[str]) -> Any:
        return [[1.0, 0.0] for _ in texts]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MISTRAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("provider", ["ai", "auto"])
def test_a_client_that_embeds_is_taken(provider: Any) -> None:
    embedder = embedder_for(provider, StoreSettings(), EmbeddingClient())
    assert getattr(embedder, "model", "") == "house/embed-1"
    assert len(embedder.embed(["a", "b"])) == 2


def test_local_never_takes_the_client() -> None:
    settings = StoreSettings(embedding_model="local/all-MiniLM-L6-v2")
    embedder = embedder_for("local", settings, EmbeddingClient())
    assert getattr(embedder, "model", "") == "local/all-MiniLM-L6-v2"


def test_a_provider_is_the_first_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    embedder = embedder_for("ai", StoreSettings())
    assert getattr(embedder, "model", "") == "openai/text-embedding-3-small"


def test_without_any_provider_the_reason_is_told_when_a_text_is_embedded() -> None:
    embedder = embedder_for("ai", StoreSettings())
    with pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY"):
        embedder.embed(["a"])


def test_texts_stay_here_where_no_provider_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    embedder = embedder_for("ai", StoreSettings(allow_api=False))
    with pytest.raises(ModelUnavailableError, match="allow_api"):
        embedder.embed(["a"])


def test_a_size_is_asked_of_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    settings = StoreSettings(embedding_model="openai/text-embedding-3-small", dimensions=256)
    with Provider() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        embedder_for("auto", settings).embed(["a"])
        assert server.bodies[0]["dimensions"] == 256
