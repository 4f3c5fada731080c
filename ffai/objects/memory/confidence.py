"""How sure a memory is: outcomes raise and lower it, time wears it off. Everything is within 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

from ffai.objects.memory.options import check_fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How outcomes and time move a confidence.

    Examples:
        >>> c = Confidence(half_life=3600.0)
        >>> c.after(0.9, success=True), round(c.after(0.95, success=False), 3)
        (0.95, 0.625)
        >>> c.worn(0.9, age=3600.0), c.worn(0.9, age=-5.0)
        (0.45, 0.9)
    """

    floor: float = 0.7
    """What is at least as sure as this is used again."""
    success: float = 0.9
    """What a first success starts with."""
    failure: float = 0.3
    """What a first failure starts with, and what failures lead to."""
    reinforcement: float = 0.5
    """The part of the way that one outcome goes: 0 for none of it, 1 for all."""
    half_life: float | None = None
    """Seconds without an outcome after which half is left; ``None`` for no wear."""

    def __post_init__(self) -> None:
        for name in ("floor", "success", "failure", "reinforcement"):
            check_fraction({"floor": "min_confidence"}.get(name, name), getattr(self, name))

    def first(self, *, success: bool) -> float:
        """Return what a first outcome starts with."""
        return self.success if success else self.failure

    def after(self, confidence: float, *, success: bool) -> float:
        """Return the confidence after an outcome. A success never lowers it, a failure never raises it.

        Args:
            confidence: before the outcome, worn off as `worn` gives it.
            success: whether the outcome was good.
        """
        if success:
            return _bounded(confidence + self.reinforcement * (1.0 - confidence))
        return _bounded(min(confidence, confidence + self.reinforcement * (self.failure - confidence)))

    def worn(self, confidence: float, *, age: float) -> float:
        """Return what is left of a confidence.

        Args:
            confidence: as the last outcome left it.
            age: seconds since then; before it (clocks differ) nothing is worn off.
        """
        if self.half_life is None or age <= 0:
            return _bounded(confidence)
        return _bounded(confidence * 0.5 ** (age / self.half_life))


def _bounded(confidence: float) -> float:
    return min(1.0, max(0.0, confidence))
