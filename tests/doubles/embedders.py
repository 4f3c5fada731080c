"""Embedders for tests of memory, beside the one that ffai ships."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ffai.testing import FakeEmbedder


class WatchedEmbedder(FakeEmbedder):
    """A FakeEmbedder that says when somebody asks it for vectors.

    Attributes:
        entered: set while, or after, a call has begun.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entered = threading.Event()

    def embed(self, texts: list[str]) -> Any:
        self.entered.set()
        return super().embed(texts)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let no call return until the block ends."""
        self.gate.clear()
        try:
            yield
        finally:
            self.gate.set()


class Letters:
    """Counts letters: vectors that a reader can check, and that single precision can't hold. It has no name."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[text.count(letter) / 7 for letter in "abcdefgh"] for text in texts]


class Table:
    """Gives the vectors that were written down for texts.

    Attributes:
        calls: the lists of texts it was given, in order.
    """

    def __init__(self, vectors: dict[str, Any], **attributes: Any) -> None:
        self.vectors, self.calls = vectors, list[list[str]]()
        self.__dict__.update(attributes)

    def embed(self, texts: list[str]) -> list[Any]:
        self.calls.append(texts)
        return [self.vectors[text] for text in texts]
