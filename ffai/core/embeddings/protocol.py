"""What an embedding model is."""

from __future__ import annotations

from typing import Any, Protocol


class Embedder(Protocol):
    """Turns texts into vectors. Any object with this method is an embedder.

    ffai also uses, where an embedder has them: ``aembed`` (the same, awaited), ``model`` (its name),
    ``dimensions`` (the length of its vectors, in numbers).
    """

    def embed(self, texts: list[str], /) -> Any:
        """Return one row per text, in order: lists of floats, or an array of shape ``(len(texts), dim)``."""
        ...


def embedder_name(embedder: Embedder) -> str:
    """Name the model of an embedder: its ``model``, else its class's qualified name."""
    name = getattr(embedder, "model", None)
    if isinstance(name, str) and name:
        return name
    kind = type(embedder)
    return f"{kind.__module__}.{kind.__qualname__}"


__all__ = ["Embedder", "embedder_name"]
