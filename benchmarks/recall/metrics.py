"""How much of what answers a question was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import chain

TOP_K = 10


def hits_recall(hits: Sequence[Iterable[str]], expected: Set[str], k: int) -> float:
    """Return the share of the expected messages in the first ``k`` hits: ``U@k``.

    Args:
        hits: the messages in each hit, best first.
        expected: the messages that answer the question; at least one.
        k: how many hits count.

    Examples:
        >>> hits_recall([("a", "b"), ("c", "d")], {"b", "c"}, k=1)
        0.5
    """
    return len(expected.intersection(chain.from_iterable(hits[:k]))) / len(expected)


def messages_recall(hits: Sequence[Iterable[str]], expected: Set[str], k: int) -> float:
    """Return the share of the expected messages among the first ``k`` messages of the hits, in their order: ``R@k``.

    A hit of several messages pays for each of them.

    Examples:
        >>> messages_recall([("a", "b"), ("c", "d")], {"b", "c"}, k=2)
        0.5
    """
    return len(expected.intersection(_messages(hits)[:k])) / len(expected)


def hit(hits: Sequence[Iterable[str]], expected: Set[str], k: int) -> float:
    """Return 1.0 if an expected message is among the first ``k`` messages of the hits, else 0.0: ``Hit@k``.

    Examples:
        >>> hit([("a", "b"), ("c", "d")], {"c"}, k=2), hit([("a", "b"), ("c", "d")], {"c"}, k=3)
        (0.0, 1.0)
    """
    return float(not expected.isdisjoint(_messages(hits)[:k]))


def _messages(hits: Sequence[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(hits)))


MEASURES = {
    "U@1": (hits_recall, 1),
    "U@5": (hits_recall, 5),
    "U@10": (hits_recall, 10),
    "R@10": (messages_recall, 10),
    "Hit@10": (hit, 10),
}
"""What the table shows."""


def measure(hits: Sequence[Iterable[str]], expected: Set[str]) -> dict[str, float]:
    """Return every measure of one question."""
    return {name: how(hits, expected, k) for name, (how, k) in MEASURES.items()}
