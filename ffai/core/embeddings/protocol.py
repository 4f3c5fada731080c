"""What an embedding model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ffai.errors import ModelUnavailableError


class Embedder(Protocol):
    """Turns texts into vectors. Any object with this method is an embedder.

    ffai also uses, where an embedder has them: ``aembed`` (the same, awaited), ``model`` (its name), ``dimensions``
    (the length of its vectors, in numbers), ``concurrent`` (``True`` lets several threads call ``embed`` at once; else
    they take turns, since most models break when two enter them), ``forget`` (takes a list of texts, drops what it
    keeps of them in caches or logs, and returns of how many it kept something; called when turns are forgotten).
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


def forget_texts(embedder: object, texts: Sequence[str]) -> int:
    """Let an embedder drop what it keeps of texts, where it can; return of how many it kept something.

    Examples:
        >>> forget_texts(AbsentEmbedder("m", "not installed"), ["Where is the key?"])
        0
    """
    forget = getattr(embedder, "forget", None)
    return int(forget(list(texts))) if callable(forget) else 0


class AbsentEmbedder:
    """Stands in for a model that can't be used at present: turns wait for it, and a query says why.

    Args:
        model: the model the turns wait for.
        reason: why it can't be used, and what to do.

    Examples:
        >>> AbsentEmbedder("local/all-MiniLM-L6-v2", "fastembed is not installed.").embed(["a"])
        Traceback (most recent call last):
        ...
        ffai.errors.ModelUnavailableError: fastembed is not installed.
    """

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason

    def embed(self, texts: list[str], /) -> Any:  # noqa: ARG002 - the role has it
        """Raise :class:`~ffai.errors.ModelUnavailableError`."""
        raise ModelUnavailableError(self.reason)


__all__ = ["AbsentEmbedder", "Embedder", "embedder_name", "forget_texts"]
