"""An embedder whose vectors are angles: how close two texts are can be told by looking at them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


class Deg:
    """Embeds ``deg:<n>`` as ``(cos n°, sin n°)``; more dimensions are zeros."""

    concurrent = True

    def __init__(self, model: str = "deg", dimensions: int = 2, *, tells_size: bool = True) -> None:
        self.model, self.size = model, dimensions
        if tells_size:
            self.dimensions = dimensions
        self.calls: list[list[str]] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> NDArray[np.float32]:
        angle = math.radians(float(text.removeprefix("deg:")))
        return np.array([math.cos(angle), math.sin(angle), *[0.0] * (self.size - 2)], dtype=np.float32)
