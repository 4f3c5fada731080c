"""An embedder whose vectors are angles, so that every similarity is known."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray


class Degrees:
    """Embeds a text with ``deg:<n>`` in it as ``(cos n°, sin n°)``, and any other as 0°."""

    model, dimensions, concurrent = "degrees", 2, True

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        angles = [math.radians(_angle(text)) for text in texts]
        return np.array([[math.cos(angle), math.sin(angle)] for angle in angles], dtype=np.float32)


def _angle(text: str) -> float:
    told = re.search(r"deg:(-?[0-9.]+)", text)
    return float(told[1]) if told else 0.0
