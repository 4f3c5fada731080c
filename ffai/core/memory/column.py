"""One number a turn, in an array that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 64


class Column:
    """Numbers of one kind. Adding is for one thread at a time; a view that was given stays as it is.

    Examples:
        >>> column = Column(np.int64)
        >>> column.extend([3, 4])
        >>> column.view(2).tolist()
        [3, 4]
    """

    def __init__(self, kind: type[Any]) -> None:
        self._values: NDArray[Any] = np.empty(SMALLEST, dtype=kind)
        self._count = 0

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Add numbers at the end."""
        count = self._count + len(values)
        if count > len(self._values):
            grown = np.empty(max(count, 2 * len(self._values)), dtype=self._values.dtype)
            grown[: self._count] = self._values[: self._count]
            self._values = grown
        self._values[self._count : count] = values
        self._count = count

    def view(self, count: int) -> NDArray[Any]:
        """Return the first numbers, without copying them."""
        return self._values[:count]
