"""What a recall test found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ffai.core.memory.hit import TurnHit

Missed = Literal["lower", "below threshold", "filtered out", "waiting", "failed", "not stored", "unknown"]

_SHOWN = 60
"""Characters of a text that a line of the report shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A turn that a question did not bring up."""

    question: str
    expected: str
    """The id or the words that were looked for."""
    reason: Missed
    """``"lower"``: it ranked lower, see ``rank``; ``"below threshold"``: its cosine is below the one asked for;
    ``"filtered out"``: it is of another scope, or its metadata has other values; ``"waiting"`` to be embedded;
    ``"failed"`` to be; ``"not stored"``, or forgotten, or expired; ``"unknown"``: what was searched can't be listed."""
    rank: int | None
    """Where it ranked, from 1, without a threshold; ``None`` where it was not among the first 1000."""
    score: float | None
    """Its cosine; ``None`` where it has no rank."""
    turn_ids: Sequence[str]
    """The turns that are kept and fit."""
    found: Sequence[TurnHit]
    """What was found first instead."""

    def __str__(self) -> str:
        instead = ", ".join(f"{_short(hit.text)} ({hit.score:.2f})" for hit in self.found) or "nothing"
        return f"{_short(self.question)} should bring up {_short(self.expected)}: {self._why()}\n    instead: {instead}"

    def _why(self) -> str:
        if self.reason == "lower":
            return "not among the first 1000" if self.rank is None else f"rank {self.rank}, cosine {self.score:.2f}"
        if self.reason == "below threshold":
            return f"rank {self.rank}, but its cosine {self.score:.2f} is below the threshold"
        return {
            "filtered out": "it is stored, and left out by scope or where",
            "waiting": "it waits to be embedded; flush() waits for it",
            "failed": "it could not be embedded; status() says why",
            "not stored": "no such turn is stored",
        }.get(self.reason, "not among the first 1000")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport:
    """How much was recalled, and what was not.

    Examples:
        >>> print(RecallReport(questions=2, recall={1: 0.5, 5: 1.0}, misses=()))
        recall of 2 questions
          first 1    50 %
          first 5   100 %
        nothing was missed
    """

    questions: int
    recall: Mapping[int, float]
    """For 1, 5, 10 and so on: the share of the expected turns among so many first hits, each question counting the
    same; in ``[0, 1]``."""
    misses: Sequence[Miss]
    """The expected turns that were not among the hits."""

    def __str__(self) -> str:
        width = max(len(str(level)) for level in self.recall)
        lines = [f"recall of {self.questions} question{'s' if self.questions != 1 else ''}"]
        lines += [f"  first {level:<{width}} {100 * share:5.0f} %" for level, share in self.recall.items()]
        lines.append(f"missed: {len(self.misses)}" if self.misses else "nothing was missed")
        lines += [f"  {miss}" for miss in self.misses]
        return "\n".join(lines)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 1]}…")
