"""Days as a calendar names them: some days of a year, or of every year."""

from __future__ import annotations

import calendar
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

Precision = Literal["day", "week", "month", "year"]
"""How exactly a time is named: two dates with a day between them are exact to the day, *last summer* to the month."""


_LEAP_YEAR = 2000


class LocalSpan(NamedTuple):
    """From one moment to another, by the clock on the wall."""

    start: datetime
    end: datetime
    """The first moment after it; ``datetime.max`` where it goes on."""
    precision: Precision


def whole_days(first: date, last: date, precision: Precision) -> LocalSpan:
    """Give the span from the beginning of one day to the end of another.

    Raises:
        OverflowError: there is no day after the last.
        ValueError: the last is before the first.

    Examples:
        >>> whole_days(date(2023, 5, 7), date(2023, 5, 7), "day").end
        datetime.datetime(2023, 5, 8, 0, 0)
    """
    if last < first:
        raise ValueError(f"{last} is before {first}.")
    return LocalSpan(_midnight(first), _midnight(last + timedelta(days=1)), precision)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


@dataclass(frozen=True, slots=True)
class CalendarDays:
    """Days of a year, or where that is not named, of every year.

    Examples:
        >>> CalendarDays((2, 1), (2, 31), "month").span(2024).end
        datetime.datetime(2024, 3, 1, 0, 0)
    """

    first: tuple[int, int]
    """Month and day."""
    last: tuple[int, int]
    """Month and day; one that the month does not have is its end. Before ``first``, it is of the next year."""
    precision: Precision
    year: int | None = None

    def span(self, year: int | None = None) -> LocalSpan:
        """Give the span of its year, or of another.

        Raises:
            ValueError, OverflowError: that year does not have these days.
        """
        year = year if year is not None else self.year
        if year is None:
            raise ValueError("It has no year.")
        end_year = year if self.last >= self.first else year + 1
        month, day = self.last
        last = date(end_year, month, min(day, calendar.monthrange(end_year, month)[1]))
        return whole_days(date(year, *self.first), last, self.precision)

    def of(self, year: int | None) -> CalendarDays:
        """Give the same days of a year, or of every year.

        Raises:
            ValueError, OverflowError: it, or every year, is without them.
        """
        days = replace(self, year=year)
        days.span(_LEAP_YEAR if year is None else year)
        return days

    def latest(self, now: datetime) -> LocalSpan:
        """Give the last ones that had begun at a time.

        Examples:
            >>> CalendarDays((6, 1), (8, 31), "month").latest(datetime(2023, 5, 18)).start
            datetime.datetime(2022, 6, 1, 0, 0)
        """
        year = now.year
        while True:
            try:
                span = self.span(year)
            except ValueError:  # 29 February
                if year < 1:
                    raise
            else:
                if span.start <= now:
                    return span
            year -= 1


def one_day(month: int, day: int) -> CalendarDays:
    """Give a day of a month."""
    return CalendarDays((month, day), (month, day), "day")


def whole_month(month: int) -> CalendarDays:
    """Give a month."""
    return CalendarDays((month, 1), (month, 31), "month")


def whole_year(year: int) -> CalendarDays:
    """Give a year."""
    return CalendarDays((1, 1), (12, 31), "year", year)


def months_before(day: date, count: int) -> date:
    """Give the day so many months before; the end of the month where that has no such day.

    Raises:
        ValueError: that is before the year 1.

    Examples:
        >>> months_before(date(2024, 3, 31), 1)
        datetime.date(2024, 2, 29)
    """
    year, month = divmod(day.year * 12 + day.month - 1 - count, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def unit_before(now: date, unit: str, count: int, most: int | None = None) -> LocalSpan:
    """Give the day, week (from Monday), month or year so many before this one; where two counts are given, all between.

    Args:
        now: the day it is.
        unit: ``"day"``, ``"week"``, ``"month"`` or ``"year"``.
        count: how many before; 0 is the one that ``now`` is in.
        most: where the span begins, as many before.

    Raises:
        ValueError, OverflowError: that is before the year 1.

    Examples:
        >>> unit_before(date(2023, 5, 18), "week", 1).start
        datetime.datetime(2023, 5, 8, 0, 0)
    """
    early = count if most is None else most
    if unit == "day":
        return whole_days(now - timedelta(days=early), now - timedelta(days=count), "day")
    if unit == "week":
        monday = now - timedelta(days=now.weekday())
        return whole_days(monday - timedelta(weeks=early), monday - timedelta(weeks=count, days=-6), "week")
    if unit == "month":
        first, last = months_before(now.replace(day=1), early), months_before(now.replace(day=1), count)
        return whole_days(first, last.replace(day=calendar.monthrange(last.year, last.month)[1]), "month")
    return whole_days(date(now.year - early, 1, 1), date(now.year - count, 12, 31), "year")
