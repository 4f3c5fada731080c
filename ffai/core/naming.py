"""Reading times out of a text rule by rule: what one rule has read, no later one reads again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from ffai.core.calendar_days import CalendarDays, LocalSpan

Time = CalendarDays | LocalSpan
Reader = Callable[[re.Match[str], datetime | None], Time | None]
"""Tells what a match means, given the time it is; ``None`` where it means none. Raises where there is no such day."""


class Rule(NamedTuple):
    """A form in which times are named."""

    pattern: re.Pattern[str]
    read: Reader


class Named(NamedTuple):
    """A time, and where the text names it."""

    begins: int
    ends: int
    time: Time


_READ = "\0"


def rule(pattern: str, read: Reader) -> Rule:
    """Make a rule of a pattern, which is read in either case and begins and ends between words."""
    return Rule(re.compile(rf"(?<![\w])(?:{pattern})(?![\w])", re.IGNORECASE), read)


def apply(rules: Sequence[Rule], text: str, now: datetime | None) -> tuple[list[Named], str]:
    """Read what a text names.

    Args:
        rules: the first one that fits a place has it.
        text: what to read.
        now: the time it is; ``None`` where that is not known.

    Returns:
        The times in the order they were found, and the text without what was read, as long as before.
    """
    found: list[Named] = []
    for pattern, read in rules:
        left, read_up_to = [], 0
        for match in pattern.finditer(text):
            try:
                time = read(match, now)
            except (ValueError, OverflowError):  # 31 February, or before the year 1: named, and never was
                pass
            else:
                if time is None:
                    continue
                found.append(Named(match.start(), match.end(), time))
            left += [text[read_up_to : match.start()], _READ * (match.end() - match.start())]
            read_up_to = match.end()
        text = "".join([*left, text[read_up_to:]])
    return found, text
