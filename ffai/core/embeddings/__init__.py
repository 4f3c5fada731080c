"""Turning texts into vectors."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.core.embeddings.embeddings import Embeddings
    from ffai.core.embeddings.protocol import Embedder, embedder_name
    from ffai.core.embeddings.resolve import Resolution, resolve_embedder

__all__ = ["Embedder", "Embeddings", "Resolution", "embedder_name", "resolve_embedder"]

__getattr__ = lazy_exports(
    __name__,
    {
        "Embedder": "ffai.core.embeddings.protocol",
        "Embeddings": "ffai.core.embeddings.embeddings",
        "Resolution": "ffai.core.embeddings.resolve",
        "embedder_name": "ffai.core.embeddings.protocol",
        "resolve_embedder": "ffai.core.embeddings.resolve",
    },
)
