"""What of the found is close enough to a question for an answer to rest on it.

Measured on LoCoMo with all-MiniLM-L6-v2 (786 questions with an answer, 300 about other people, 150 about none of the
chats): by a cosine of at least 0.5 alone, 31 % of the questions find something, and 11 % of the evidence is among it;
by the rules here 87 % and 60 %. Of the questions about other people 9 % find something then, of the others 3 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ENOUGH_WORDS = 0.6
"""Coverage that is enough, whatever the cosine."""
WORDS_COUNT = 0.5
"""What all words of a question count for, as a cosine."""
FEW_WORDS = 0.1
"""Coverage that one must have to follow another one that is close."""
FOLLOWS = 0.5
"""Share of the least cosine that is enough for that, with its words."""


class Fit(NamedTuple):
    """How well something fits a question."""

    cosine: float
    """In ``[-1, 1]``; 0 where it is not known."""
    coverage: float
    """How much of what the words of the question can be worth it has, in ``[0, 1]``."""

    @property
    def closeness(self) -> float:
        """The cosine, and what its words count for beside it."""
        return self.cosine + WORDS_COUNT * self.coverage


def is_close(fit: Fit, min_score: float) -> bool:
    """Tell whether something is close to a question: by its meaning, by its words, or by both together.

    Examples:
        >>> is_close(Fit(0.5, 0.0), 0.5), is_close(Fit(0.1, 0.7), 0.5), is_close(Fit(0.35, 0.3), 0.5)
        (True, True, True)
        >>> is_close(Fit(0.49, 0.0), 0.5)
        False
    """
    return (
        fit.cosine >= min_score or fit.coverage >= ENOUGH_WORDS or (fit.coverage > 0.0 and fit.closeness >= min_score)
    )


def close_ones(fits: Sequence[Fit], min_score: float) -> list[bool]:
    """Tell which of the found may be told to a model.

    Those that are close; and where one is, those that have some of the question's words too, and are half as close.

    Args:
        fits: how well each fits.
        min_score: the least cosine of one that has none of the words.

    Examples:
        >>> close_ones([Fit(0.6, 0.5), Fit(0.2, 0.2), Fit(0.2, 0.0)], 0.5), close_ones([Fit(0.2, 0.2)], 0.5)
        ([True, True, False], [False])
    """
    close = [is_close(fit, min_score) for fit in fits]
    if not any(close):
        return close
    return [
        one or (fit.coverage >= FEW_WORDS and fit.closeness >= FOLLOWS * min_score)
        for one, fit in zip(close, fits, strict=True)
    ]
