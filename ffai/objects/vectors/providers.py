"""Where vectors come from: the chat client, a model on this machine, or a provider."""

from __future__ import annotations

from typing import Any

from ffai.chat.calling import method
from ffai.core.embeddings.api import find_key, key_variables
from ffai.core.embeddings.embeddings import Embeddings
from ffai.core.embeddings.protocol import AbsentEmbedder, Embedder
from ffai.core.embeddings.resolve import API_MODELS, LOCAL_MODEL, resolve_embedder
from ffai.objects.declaration import Provider
from ffai.objects.settings import StoreSettings


class ClientEmbedder:
    """A chat client that has an ``embed(texts)`` of its own, as an embedder.

    Examples:
        >>> class Client:
        ...     model = "chat-1"
        ...     def embed(self, texts): return [[1.0, 0.0] for _ in texts]
        >>> ClientEmbedder(Client()).model
        'chat-1/embed'
    """

    concurrent = True

    def __init__(self, client: Any, model: str | None = None) -> None:
        self._client = client
        named = model or getattr(client, "embedding_model", None)
        self.model: str = named if isinstance(named, str) and named else f"{getattr(client, 'model', '')}/embed"

    def embed(self, texts: list[str], /) -> Any:
        """Return one row a text."""
        return self._client.embed(texts)


def embedder_for(provider: Provider, settings: StoreSettings, llm: Any = None) -> Embedder:
    """Choose what embeds; loads and sends nothing. See `StoreSettings.provider`.

    Returns:
        An embedder. Where there is none, one that says why when it is asked: texts wait for it.
    """
    if provider != "local" and llm is not None and method(llm, "embed"):
        return ClientEmbedder(llm, settings.embedding_model)
    named = settings.embedding_model
    if provider == "ai":
        found = _first_provider(settings)
    else:
        resolution = resolve_embedder(
            named or (LOCAL_MODEL if provider == "local" else None),
            allow_api=settings.allow_api and provider != "local",
        )
        found = resolution.embedder or AbsentEmbedder(
            named or LOCAL_MODEL, f"No embedding model can be used: {resolution.reason}"
        )
    return _of_size(found, settings.dimensions)


def _first_provider(settings: StoreSettings) -> Embedder:
    """Take the model that is named, or the first provider that has a key."""
    reasons = []
    for model in (settings.embedding_model,) if settings.embedding_model else API_MODELS:
        if settings.embedding_model is None and find_key(model) is None:
            reasons.append(f"{model}: {key_variables(model)[0]} is not set")
            continue
        resolution = resolve_embedder(model, allow_api=settings.allow_api)
        if resolution.embedder is not None:
            return resolution.embedder
        reasons.append(resolution.reason)
    return AbsentEmbedder(
        settings.embedding_model or API_MODELS[0], f"No provider's model can be used: {'; '.join(reasons)}"
    )


def _of_size(embedder: Embedder, dimensions: int | None) -> Embedder:
    """Ask a provider's model for vectors of a size; others have the size that they have."""
    if dimensions is None or not isinstance(embedder, Embeddings) or embedder.is_local:
        return embedder
    return Embeddings(embedder.model, embedder.api_key, embedder.api_base, dimensions=dimensions)
