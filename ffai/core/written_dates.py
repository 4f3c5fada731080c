"""The dates that a text writes out: days, parts of months, months, seasons, years. The words are English."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime

from ffai.core.calendar_days import CalendarDays, LocalSpan, one_day, whole_days, whole_month, whole_year
from ffai.core.naming import Named, Rule, Time, rule

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
FULL_MONTH = r"(?:january|february|march|april|may|june|july|august|sept(?:ember)?|october|november|december)"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each, on the northern half of the world; a winter has the year it begins in."""
SEASON = rf"(?:{'|'.join(SEASONS)})"

_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_YEAR = r"(?:19|20)\d\d"
_OF_YEAR = rf"(?:(?:\s*,|\s+of)?\s*(?P<y>{_YEAR})|(?:\s*,|\s+of|\s+in)?\s+(?P<ry>last year|this year))"
_AND = r"\s*(?:-|–|—|\bto\b|\band\b|\buntil\b|\btill\b|\bthrough\b)\s*"
_IN = r"(?:in|during|throughout|since|until|till|over)"
_PARTS = {
    **dict.fromkeys(("early", "beginning", "start"), (1, 10)),
    **dict.fromkeys(("mid", "middle"), (11, 20)),
    **dict.fromkeys(("late", "end"), (21, 31)),
    "first week": (1, 7),
    "second week": (8, 14),
    "third week": (15, 21),
    "fourth week": (22, 28),
    "last week": (25, 31),
}
_NUMBER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
_NTH = rf"(?:{'|'.join(_NUMBER)})"
_THIRDS = {"early": (1, 4), "mid": (5, 8), "late": (9, 12)}
_NO_NOUN = r"(?![.,]?\d|-\w|\s*[%°$€£]|\s+(?!(?:was|is|does|has|this|his|its|as|us|always|perhaps)\b)(?-i:[a-z]+s)\b)"
"""Not before what the number counts: "in 2000 steps"."""
_WORDS_GO_ON, _HAS_ORDINAL = re.compile(r"\s+[a-z]"), re.compile(r"\d(?:st|nd|rd|th)", re.IGNORECASE)
_COUNTS_NOTHING = re.compile(_NO_NOUN, re.IGNORECASE)


def month_of(name: str) -> int:
    """Give the number of a month.

    Examples:
        >>> month_of("Sept.")
        9
    """
    return _MONTHS.index(name[:3].lower()) + 1


def is_verb(match: re.Match[str]) -> bool:
    """Tell whether *may* or *march* is rather the verb: small or the first word, and more words after it."""
    name = match["m"]
    is_small = name.islower() or match.start("m") == 0
    return is_small and name.lower() in ("may", "march") and _WORDS_GO_ON.match(match.string, match.end()) is not None


def _year(match: re.Match[str], now: datetime | None) -> int | None:
    said = match.groupdict()
    if year := said.get("y"):
        return int(year)
    if now is not None and (relative := said.get("ry")):
        return now.year - (relative.lower() == "last year")
    return None


def _day(match: re.Match[str], now: datetime | None) -> Time | None:
    year = _year(match, now)
    unsure = year is None and not match["sure"] and not _HAS_ORDINAL.search(match.group())
    if unsure and (is_verb(match) or not _COUNTS_NOTHING.match(match.string, match.end())):
        return None
    return one_day(month_of(match["m"]), int(match["d"])).of(year)


def _days(match: re.Match[str], now: datetime | None) -> Time | None:
    month = month_of(match["m"])
    return CalendarDays((month, int(match["d"])), (month, int(match["d2"])), "day").of(_year(match, now))


def _month(match: re.Match[str], now: datetime | None) -> Time | None:
    return whole_month(month_of(match["m"])).of(_year(match, now))


def _months(match: re.Match[str], now: datetime | None) -> Time | None:
    first, last = month_of(match["m"]), month_of(match["m2"])
    year = _year(match, now)
    if year is not None and first > last:
        year -= 1
    return CalendarDays((first, 1), (last, 31), "month").of(year)


def _part_of_month(match: re.Match[str], now: datetime | None) -> Time | None:
    month, (first, last) = month_of(match["m"]), _PARTS[match["part"].lower()]
    return CalendarDays((month, first), (month, last), "week").of(_year(match, now))


def _part_of_year(match: re.Match[str], now: datetime | None) -> Time | None:
    first, last = _THIRDS[match["part"].lower()]
    return CalendarDays((first, 1), (last, 31), "month").of(_year(match, now))


def season(name: str) -> CalendarDays:
    """Give a season of every year."""
    first = SEASONS[name.lower()]
    return CalendarDays((first, 1), ((first + 1) % 12 + 1, 31), "month")


def _season(match: re.Match[str], now: datetime | None) -> Time | None:
    return season(match["season"]).of(_year(match, now))


def _quarter(match: re.Match[str], now: datetime | None) -> Time | None:
    said = match["quarter"].lower()
    number = int(said[1]) if said[1].isdigit() else _NUMBER[said.split()[0]]
    return CalendarDays((3 * number - 2, 1), (3 * number, 31), "month").of(_year(match, now))


def _of_year(match: re.Match[str], _: datetime | None) -> Time | None:
    return whole_year(int(match["y"]))


def _years(match: re.Match[str], _: datetime | None) -> Time | None:
    return whole_days(date(int(match["y"]), 1, 1), date(int(match["y2"]), 12, 31), "year")


def _numbers(match: re.Match[str], _: datetime | None) -> Time | None:
    year, month = int(match["y"]), int(match["m"])
    if "d" not in match.groupdict():
        return whole_month(month).of(year)
    day = int(match["d"])
    if match.groupdict().get("slash") and month > 12:  # 17/5/2023 and 5/17/2023: what can be a month is one
        month, day = day, month
    return one_day(month, day).of(year)


_BEFORE, _AFTER = r"(?<![./-])", r"(?![/-]\w|[.]\d)"
_ORDINAL = r"(?:st|nd|rd|th)"
_ON = rf"(?:{WEEKDAY},?\s+)?(?:the\s+)?"

DATES: tuple[Rule, ...] = (
    rule(rf"{_BEFORE}(?P<y>{_YEAR})(?P<sep>[-/])(?P<m>\d\d)(?P=sep)(?P<d>\d\d)(?:T\d[\w:.+]*)?{_AFTER}", _numbers),
    rule(rf"{_BEFORE}(?P<d>{_DAY})\.(?P<m>\d\d?)\.(?P<y>{_YEAR}){_AFTER}", _numbers),
    rule(rf"{_BEFORE}(?P<m>\d\d?)(?P<slash>/)(?P<d>\d\d?)/(?P<y>{_YEAR}){_AFTER}", _numbers),
    rule(rf"{_BEFORE}(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2]){_AFTER}", _numbers),
    rule(
        rf"(?P<d>{_DAY}){_ORDINAL}?{_AND}(?:the\s+)?(?P<d2>{_DAY}){_ORDINAL}?\s+(?:of\s+)?(?P<m>{MONTH})(?:{_OF_YEAR})?",
        _days,
    ),
    rule(
        rf"(?P<m>{MONTH})\s+(?P<d>{_DAY}){_ORDINAL}?{_AND}(?P<d2>{_DAY}){_ORDINAL}?(?!\s*(?::|[ap]\.?m\b))(?:{_OF_YEAR})?",
        _days,
    ),
    rule(
        rf"(?P<sure>(?:\bon|\bsince|\buntil|\bfor)\s+)?{_ON}(?P<d>{_DAY})(?:{_ORDINAL}\s+(?:of\s+)?|\s*)"
        rf"(?P<m>{MONTH})(?:{_OF_YEAR})?",
        _day,
    ),
    rule(
        rf"(?P<sure>(?:\bon|\bsince|\buntil|\bfor)\s+)?{_ON}(?P<m>{MONTH})\s+(?:the\s+)?(?P<d>{_DAY})"
        rf"{_ORDINAL}?(?:{_OF_YEAR})?",
        _day,
    ),
    rule(
        rf"(?P<part>early|mid|late|(?:beginning|start|middle|end|(?:first|second|third|fourth|last) week)(?=\s+of\s))"
        rf"(?:\s+of)?[\s-]+(?P<m>{MONTH})(?:{_OF_YEAR})?",
        _part_of_month,
    ),
    rule(rf"(?:between|from)\s+(?P<m>{MONTH}){_AND}(?P<m2>{MONTH})(?:{_OF_YEAR})?", _months),
    rule(rf"(?P<m>{MONTH})(?:{_OF_YEAR})", _month),
    rule(rf"{_IN}\s+(?:the\s+month\s+of\s+)?(?P<m>{FULL_MONTH})", _month),
    rule(rf"(?P<season>{SEASON})(?:{_OF_YEAR})", _season),
    rule(rf"{_IN}\s+(?:the\s+)?(?P<season>{SEASON})", _season),
    rule(rf"(?:(?:in|during|since|of|for)\s+)?(?P<quarter>Q[1-4]|{_NTH}\s+quarter)(?:{_OF_YEAR})", _quarter),
    rule(rf"{_IN}\s+(?:the\s+)?(?P<quarter>Q[1-4]|{_NTH}\s+quarter)(?!\s+of\b)", _quarter),
    rule(rf"(?:between|from)\s+(?P<y>{_YEAR}){_AND}(?P<y2>{_YEAR})", _years),
    rule(rf"(?P<part>early|mid|late)[\s-]+(?:in\s+)?(?P<y>{_YEAR}){_NO_NOUN}", _part_of_year),
    rule(rf"(?:{_IN}|of|year)\s+(?:the\s+year\s+)?(?P<y>{_YEAR}){_NO_NOUN}", _of_year),
)

_LOOK_BACK = 20
_BETWEEN = re.compile(r"\b(?:between|from)\s+$", re.IGNORECASE)
_TO = re.compile(r"\s*[-–—]\s*|\s+(?:to|and|until|till|through)\s+", re.IGNORECASE)


def joined(found: list[Named], text: str) -> list[Named]:
    """Make one of each two that a text names as its ends: *between August 11 and August 15, 2023*."""
    result: list[Named] = []
    for named in sorted(found):
        if result and (whole := _whole(result[-1], named, text)) is not None:
            result[-1] = Named(result[-1].begins, named.ends, whole)
        else:
            result.append(named)
    return result


def _whole(one: Named, other: Named, text: str) -> Time | None:
    between = text[one.ends : other.begins]
    if not (
        _TO.fullmatch(between)
        and (_BETWEEN.search(text[max(0, one.begins - _LOOK_BACK) : one.begins]) or "and" not in between.lower())
    ):
        return None
    first, last = one.time, other.time
    if isinstance(first, LocalSpan) or isinstance(last, LocalSpan) or first.precision != last.precision:
        return None
    if first.year is None and last.year is None:
        return replace(first, last=last.last)
    begins = first.year if first.year is not None else (last.year or 0) - (first.first > last.first)
    ends = last.year if last.year is not None else begins + (first.first > last.first)
    start, end = first.span(begins), last.span(ends)
    return LocalSpan(start.start, end.end, first.precision) if start.start < end.end else None
