"""What a search asks for, checked once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

from ffai.core.arguments import check_number, check_timestamp
from ffai.core.memory.filters import EVERY_TURN, TurnFilter
from ffai.errors import InvalidArgumentError

LATEST = 6e10
"""Seconds around the epoch that calendars have years for."""

Mode = Literal["vector", "keyword", "hybrid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One search.

    Examples:
        >>> Question.of("the key", mode="hybrid", as_of=0.0).as_of
        0.0
    """

    text: str
    """What is looked for."""
    top_k: int = 5
    threshold: float | None = None
    """The least cosine; ``None`` sets none."""
    wanted: TurnFilter = EVERY_TURN
    distinct: bool = False
    """Whether turns with the same text in the same scope count once."""
    mode: Mode = "vector"
    as_of: float = 0.0
    """When it is asked, in seconds since the epoch."""
    half_life: float | None = None
    """Seconds after which being recent counts half; ``None`` lets it not count."""
    explain: bool = False
    """Whether each hit tells what its place is made of."""

    @classmethod
    def of(
        cls,
        text: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        wanted: TurnFilter = EVERY_TURN,
        distinct: bool = False,
        mode: Mode = "vector",
        as_of: float | None = None,
        half_life: float | None = None,
        explain: bool = False,
    ) -> Question:
        """Check what is asked for.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
        """
        if mode not in get_args(Mode):
            raise InvalidArgumentError(f"mode must be one of {get_args(Mode)!r}, not {mode!r}.")
        if half_life is not None and not 1e-3 <= check_number("half_life", half_life) <= LATEST:
            raise InvalidArgumentError(f"half_life must be a time in seconds, more than 0, not {half_life!r}.")
        if as_of is not None and not -LATEST < check_timestamp("as_of", as_of) < LATEST:
            raise InvalidArgumentError(f"as_of must be a time in seconds since the epoch, not {as_of!r}.")
        if mode == "vector" and half_life is not None:
            raise InvalidArgumentError("half_life counts where signals are summed: with mode='hybrid'.")
        return cls(
            text=text,
            top_k=top_k,
            threshold=threshold,
            wanted=wanted,
            distinct=distinct,
            mode=mode,
            as_of=time.time() if as_of is None else float(as_of),
            half_life=half_life,
            explain=explain,
        )
