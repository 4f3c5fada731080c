"""Doubles for tests of code that uses ffai: no network, no model, the same answers each time."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FakeEmbedder:
    """An embedder whose vectors are hashed words: texts that share words are close.

    Args:
        dimensions: length of the vectors, in numbers.
        model: the name it goes by.
        delay: seconds that each call takes.
        max_words: words of a text that it reads; the rest is ignored, as real models do.
        fail: called with each text; an exception that it returns is raised for the whole call.

    Attributes:
        calls: the lists of texts it was given, in order.
        gate: an event each call waits for; set at the start.

    Example:
        >>> embedder = FakeEmbedder()
        >>> a, b, c = embedder.embed(["red house", "the house is red", "blue boat"])
        >>> bool(a @ b > a @ c)
        True
    """

    def __init__(
        self,
        dimensions: int = 64,
        *,
        model: str = "fake/hashed-words",
        delay: float = 0.0,
        max_words: int | None = None,
        fail: Callable[[str], Exception | None] | None = None,
    ) -> None:
        self.dimensions, self.model, self.delay = dimensions, model, delay
        self.max_words, self.fail = max_words, fail
        self.calls: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one unit vector per text: shape ``(len(texts), dimensions)``."""
        import numpy as np

        self.calls.append(list(texts))
        self.gate.wait()
        if self.delay:
            time.sleep(self.delay)
        for error in map(self.fail, texts) if self.fail else ():
            if error is not None:
                raise error
        return np.stack([self._vector(_words(text)[: self.max_words]) for text in texts])

    def _vector(self, words: Iterable[str]) -> NDArray[np.float32]:
        import numpy as np

        vector = np.full(self.dimensions, 1e-3, dtype=np.float32)  # a text without words is not a zero vector
        for word in words:
            digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(self.dimensions // 8 + 1)
            bits = np.unpackbits(np.frombuffer(digest, np.uint8))[: self.dimensions]
            vector += 2.0 * bits - 1.0
        return vector / np.linalg.norm(vector)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
