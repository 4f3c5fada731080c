"""The times that a text names from where it stands: yesterday, last Tuesday, two months ago. The words are English.

Times to come (*next week*) are left out: nothing was said then.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from ffai.core.calendar_days import LocalSpan, months_before, unit_before, whole_days, whole_month
from ffai.core.naming import Rule, Time, rule
from ffai.core.written_dates import FULL_MONTH, SEASON, WEEKDAY, WEEKDAYS, is_verb, month_of, season

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SOME = {"couple": (2, 3), "few": (2, 6), "several": (2, 6)}
"""What people mean by words that name no number."""
_COUNT = rf"(?:\d{{1,4}}|an?\s+(?:couple(?:\s+of)?|few)|(?:couple(?:\s+of)?|few|several)|an?|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>day|week|month|year)"
_UNIT_OR_HOUR = r"(?P<unit>hour|day|week|month|year)"
_HALVES = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours from the midnight before; a night ends in the morning after."""
_PART = rf"(?P<part>{'|'.join(_HALVES)})"
_NOT_TO_COME = r"(?<!next )(?<!every )(?<!each )(?<!coming )(?<!black )(?<!good )(?<!a )(?<!is )(?<!this )"
_ENDS = r"\s*(?:[?!;]|[.,](?!\w)|$)"
"""The end of a sentence, or of a part of it: *What did I do Monday?*"""


def _counts(said: str) -> tuple[int, int]:
    """Read how many: the least and the most that may be meant."""
    words = said.lower().split()
    for word in words:
        if word in _SOME:
            return _SOME[word]
    if words[0].isdecimal():
        return int(words[0]), int(words[0])
    number = 1 if words[0] in ("a", "an") else _NUMBERS.index(words[0]) + 1
    return number, number


def _part_of(day: date, part: str) -> LocalSpan:
    midnight = whole_days(day, day, "day").start
    begins, ends = _HALVES[part.lower()]
    return LocalSpan(midnight + timedelta(hours=begins), midnight + timedelta(hours=ends), "day")


def _days_ago(match: re.Match[str], now: datetime | None) -> Time | None:
    """Read *yesterday evening* and the like."""
    if now is None:
        return None
    said = re.sub(r"\s+", " ", match["day"].lower())
    ago = {"the day before yesterday": 2, "yesterday": 1, "last": 1}.get(said, 0)
    day = now.date() - timedelta(days=ago)
    part = match["part"] or ("night" if said == "tonight" else None)
    return whole_days(day, day, "day") if part is None else _part_of(day, part)


def _ago(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    least, most = _counts(match["count"])
    return unit_before(now.date(), match["unit"].lower(), least, most)


def _hours_ago(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    least, most = _counts(match["count"])
    unit = timedelta(hours=1) if match["unit"].lower().startswith("h") else timedelta(minutes=1)
    return LocalSpan(now - (most + 1) * unit, now - (least - 1) * unit, "day")


def _ago_today(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    unit, count = match["unit"].lower(), _counts(match["count"])[0]
    days, months = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "year": (0, 12)}[unit]
    day = months_before(now.date(), months * count) - timedelta(days=days * count)
    return whole_days(day, day, "day")


def _before_last(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    unit = match["unit"].lower()
    if unit == "night":
        return _part_of(now.date() - timedelta(days=2), unit)
    return unit_before(now.date(), unit, 2)


def _half_a_year_ago(_: re.Match[str], now: datetime | None) -> Time | None:
    return None if now is None else unit_before(now.date(), "month", 6)


def _the_other_day(_: re.Match[str], now: datetime | None) -> Time | None:
    return None if now is None else unit_before(now.date(), "day", *_SOME["few"])


def _past(match: re.Match[str], now: datetime | None) -> Time | None:
    """Read *the last two weeks*: up to now, and of units below, because no calendar is meant."""
    if now is None:
        return None
    count = _counts(match["count"])[1] if match["count"] else 1
    unit, today = match["unit"].lower(), now.date()
    if unit == "hour":
        return LocalSpan(now - timedelta(hours=count), now + timedelta(microseconds=1), "day")
    if unit in ("day", "week"):
        return whole_days(today - timedelta(days=count * (7 if unit == "week" else 1)), today, "day")
    if unit == "month":
        return whole_days(months_before(today, count), today, "week")
    return whole_days(months_before(today, 12 * count), today, "month")


def _unit(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    return unit_before(now.date(), match["unit"].lower(), 0 if match["which"].lower() in ("this", "current") else 1)


def _weekend(match: re.Match[str], now: datetime | None) -> Time | None:
    if now is None:
        return None
    saturday = now.date() - timedelta(days=(now.weekday() - 5) % 7)
    which = (match["which"] or "").lower()
    if which == "this" and now.weekday() < 5:
        return None  # it is ahead
    if which in ("last", "past") and now.weekday() >= 5:
        saturday -= timedelta(weeks=1)
    return whole_days(saturday, saturday + timedelta(days=1), "day")


def _weekday(match: re.Match[str], now: datetime | None) -> Time | None:
    """Read the last such day: today where it is one, but *last Tuesday* is never today."""
    if now is None:
        return None
    said = match.groupdict()
    wanted = next(number for number, name in enumerate(WEEKDAYS) if name.startswith(match["weekday"][:3].lower()))
    if said.get("of_week"):
        monday = now.date() - timedelta(days=now.weekday(), weeks=said["of_week"].lower() == "last")
        day = monday + timedelta(days=wanted)
    else:
        before = (now.weekday() - wanted) % 7
        which = (said.get("which") or "").lower()
        if which == "this" and before > now.weekday():
            return None  # it is ahead
        day = now.date() - timedelta(days=7 if which in ("last", "past") and before == 0 else before)
    part = said.get("part")
    return whole_days(day, day, "day") if part is None else _part_of(day, part)


def _last_or_this(match: re.Match[str], now: datetime | None) -> Time | None:
    """Read *last summer*, *this May*: the last is one that has ended."""
    if now is None or ("m" in match.groupdict() and is_verb(match)):
        return None
    named = whole_month(month_of(match["m"])) if "m" in match.groupdict() else season(match["season"])
    latest = named.latest(now)
    if match["which"].lower() != "this":
        return latest if latest.end <= now else named.span(latest.start.year - 1)
    return latest if latest.end > now else named.span(now.year)


RELATIVE: tuple[Rule, ...] = (
    rule(rf"(?<![\d.,])(?P<count>{_COUNT})\s+{_UNIT}s?\s+ago\s+today", _ago_today),
    rule(rf"(?P<day>the\s+day\s+before\s+yesterday|yesterday|tonight|today)(?:(?:'s|’s)?\s+{_PART})?", _days_ago),
    rule(rf"(?:earlier\s+)?(?P<day>this)\s+{_PART}", _days_ago),
    rule(r"(?P<day>last)\s+(?P<part>night|evening)", _days_ago),
    rule(r"(?P<which>last|past|this)\s+weekend", _weekend),
    rule(r"(?:over|at|on|during)\s+the(?P<which>)\s+weekend(?!\s+(?:of|before|after)\b)", _weekend),
    rule(r"the\s+(?P<unit>night|week|month|year)\s+before\s+last", _before_last),
    rule(r"half\s+a\s+year\s+(?:ago|back)", _half_a_year_ago),
    rule(rf"(?<![\d.,])(?P<count>{_COUNT})\s+{_UNIT}s?\s+(?:ago|back)", _ago),
    rule(
        rf"(?<![\d.,])(?P<count>{_COUNT})\s+(?P<unit>hour|hr|minute|min)s?\s+(?:ago|back)",
        _hours_ago,
    ),
    rule(r"the\s+other\s+(?:day|night|evening|morning)", _the_other_day),
    rule(rf"(?:last|past|previous)\s+(?P<count>{_COUNT})\s+{_UNIT_OR_HOUR}s?(?!\s+of\b)", _past),
    rule(rf"(?:(?:in|over|during|within|for)\s+the\s+last|past)(?P<count>)\s+{_UNIT_OR_HOUR}(?!\s+of\b)", _past),
    rule(
        rf"(?P<of_week>last|this)\s+week(?:'s|’s)?\s+(?:on\s+)?(?P<weekday>{WEEKDAY})(?:\s+{_PART})?",
        _weekday,
    ),
    rule(rf"(?P<weekday>{WEEKDAY})\s+(?:of\s+)?(?P<of_week>last|this)\s+week", _weekday),
    rule(r"(?P<which>last|previous|this|current)\s+(?P<unit>week|month|year)(?!\s+of\b)", _unit),
    rule(
        rf"(?P<which>last|this|past|on|since|until|that)\s+"
        rf"(?P<weekday>{WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri)(?:\s+{_PART})?",
        _weekday,
    ),
    rule(rf"{_NOT_TO_COME}(?P<weekday>{WEEKDAY})(?:(?=(?:'s|’s)|{_ENDS})|\s+{_PART})", _weekday),
    rule(rf"(?P<which>last|past|this)\s+(?P<season>{SEASON})", _last_or_this),
    rule(rf"(?P<which>last|past|this)\s+(?P<m>{FULL_MONTH})", _last_or_this),
)
