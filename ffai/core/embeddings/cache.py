"""The vectors of the texts that were embedded last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ffai._fork import renew_after_fork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[Any]


class VectorCache:
    """Keeps the vectors of the ``max_size`` texts that were used last; any number of threads may use it.

    Vectors are shared, not copied: who takes one must not change it.

    Args:
        max_size: number of texts; 0 keeps none.

    Examples:
        >>> import numpy as np
        >>> cache = VectorCache(max_size=1)
        >>> cache.put({"a": np.ones(2), "b": np.zeros(2)})
        >>> sorted(cache.find(["a", "b"]))
        ['b']
    """

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._drops = 0
        renew_after_fork(self)

    def find(self, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those texts that are kept."""
        found = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get(text)
                if vector is not None:
                    self._vectors.move_to_end(text)
                    found[text] = vector
        return found

    @property
    def drops(self) -> int:
        """How often something was dropped; see `put`."""
        return self._drops

    def put(self, vectors: Mapping[str, Vector], *, unless_dropped_since: int | None = None) -> None:
        """Keep these vectors, and let go of the texts that were not used for longest.

        Args:
            vectors: by text.
            unless_dropped_since: what `drops` was before the vectors were made. Where something was dropped meanwhile,
                none is kept: it may have been one of these.
        """
        with self._lock:
            if unless_dropped_since not in (None, self._drops):
                return
            for text, vector in vectors.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self.max_size:
                self._vectors.popitem(last=False)

    def drop(self, texts: Iterable[str]) -> int:
        """Let go of these texts, also of those whose vectors are just being made; return how many there were."""
        with self._lock:
            self._drops += 1
            return sum(self._vectors.pop(text, None) is not None for text in texts)

    def clear(self) -> int:
        """Let go of everything; return how many texts there were."""
        with self._lock:
            self._drops += 1
            count = len(self._vectors)
            self._vectors.clear()
        return count

    def __len__(self) -> int:
        with self._lock:
            return len(self._vectors)

    def renew_after_fork(self) -> None:
        """Take a new lock: the thread that held the old one does not exist in the child."""
        self._lock = threading.Lock()
