"""When: which times a question names, how close moments are to them, and how recent they are."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffai.core.arguments import check_number, check_str, check_timestamp
from ffai.core.calendar_days import CalendarDays, LocalSpan, Precision, months_before
from ffai.core.naming import Named, Time, apply
from ffai.core.relative_times import RELATIVE
from ffai.core.written_dates import DATES, joined
from ffai.errors import InvalidArgumentError

Closeness = NDArray[np.float64]

INSIDE, NEAR, FAR = 1.0, 0.6, 0.2
"""How close a moment is within the time that is named, next to it, and farther off."""
_NEAR_DAYS: dict[Precision, int] = {"day": 7, "week": 7, "month": 7, "year": 31}
"""Days before and after that count as next to it: of a month, too, is told in the first days of the next."""
_LATEST = np.finfo(np.float64).max
_BEGIN, _END = -62_135_596_800.0, 253_402_300_800.0
"""The years 1 to 9999, in seconds since the epoch."""
_YEAR = 365.2425 * 86_400
_MANY_YEARS = 100
_MANY_EDGES = 60
_MOST_HALVES = 1000.0
"""Half-lives after which nothing gets smaller: a known time never counts as an unknown one."""

_HINT = re.compile(
    r"\d{4}|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|day\b|\bago\b|\bback\b|\btonight\b"
    r"|\b(?:last|past|previous|this|current|other|that|on|since|until|half|spring|summer|autumn|fall|winter)\b"
    r"|morning|evening|night|afternoon|weekend|quarter|\bq[1-4]\b|day(?:'|’)",
    re.IGNORECASE,
)
"""Something of this is in every text that names a time."""
_LONGEST = 10_000
"""Characters that are read, in 50 ms: who pastes more asks about something else than its dates."""
_LOOK_BACK = 20
"""Characters before a time in which a word may stand that belongs to it."""
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?$|^since\b", re.IGNORECASE)


class Span(NamedTuple):
    """A time that is named."""

    start: float
    """In seconds since the epoch."""
    end: float
    """The first second after it; infinity where it goes on (*since 2022*)."""
    precision: Precision


@dataclass(frozen=True, slots=True)
class NamedTimes:
    """The times that a question names; false where it names none.

    Examples:
        >>> times = named_times("What did we decide on 7 May 2023?")
        >>> [(datetime.fromtimestamp(span.start, UTC).isoformat(), span.precision) for span in times.spans]
        [('2023-05-07T00:00:00+00:00', 'day')]
        >>> times.closeness([times.spans[0].start, times.spans[0].end, float("nan")]).tolist()
        [1.0, 0.6, 0.0]
    """

    local: tuple[LocalSpan, ...] = ()
    """Those of one year, by the clock on the wall."""
    yearly: tuple[CalendarDays, ...] = ()
    """Those that name no year, and mean any."""
    zone: tzinfo = UTC
    """Where that clock hangs."""

    def __bool__(self) -> bool:
        return bool(self.local or self.yearly)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Those of one year."""
        return tuple(Span(self._seconds(span.start), self._seconds(span.end), span.precision) for span in self.local)

    def spans_in(self, first_year: int, last_year: int) -> tuple[Span, ...]:
        """Give all, those without a year in each of these years (which are included) that has them."""
        years = range(max(first_year, 1), min(last_year, 9998) + 1)
        local = (*self.local, *_in_years(self.yearly, years))
        return NamedTimes(local, zone=self.zone).spans

    def closeness(self, timestamps: ArrayLike) -> Closeness:
        """Tell how close moments are to what is named, the closest of several.

        A moment within it gets 1. One within a week of a day, a week or a month, or within a month of a year, gets
        0.6. Otherwise one in the calendar months of a day or a week, or in the month before or after a month, gets
        0.2; all others get 0.

        Args:
            timestamps: seconds since the epoch; NaN and infinities are unknown.

        Returns:
            float64, of the same shape; 0 where no time is named or the moment is unknown.
        """
        moments = np.asarray(timestamps, dtype=np.float64)
        if not self or not moments.size:
            return np.zeros(moments.shape)
        edges, values = self._steps(_years_of(moments) if self.yearly else ())
        close: Closeness = values[_step_of(moments, edges)]
        return close

    def _steps(self, years: Iterable[int]) -> tuple[Closeness, Closeness]:
        """Give closeness as a function of the moment: where its value changes, and its values around these."""
        graded: list[tuple[float, float, float]] = []
        for span in (*self.local, *_in_years(self.yearly, years)):
            graded += [(value, self._seconds(start), self._seconds(end)) for value, start, end in _around(span)]
        edges = np.unique([edge for _, start, end in graded for edge in (start, min(end, _LATEST))])
        values = np.zeros(len(edges) + 1)
        for value, start, end in sorted(graded):
            values[np.searchsorted(edges, start) + 1 : np.searchsorted(edges, min(end, _LATEST)) + 1] = value
        return edges, values

    def _seconds(self, moment: datetime) -> float:
        return np.inf if moment == datetime.max else moment.replace(tzinfo=self.zone).timestamp()


def named_times(question: str, as_of: float | None = None, zone: tzinfo = UTC) -> NamedTimes:
    """Read which times a question names.

    Dates are read in English and as numbers; *7 May* and *in May* without a year mean those of any year. *Yesterday*,
    *last Tuesday*, *two months ago* are counted from ``as_of``. What is ahead (*tomorrow*, *next week*) is left out,
    because nothing was said then.

    Args:
        question: what is asked; of a very long one the first 10,000 characters are read.
        as_of: when it is asked, in seconds since the epoch; without it relative words name nothing.
        zone: where a day begins and ends.

    Raises:
        ArgumentTypeError: the question is not text, or ``as_of`` no number.
        InvalidArgumentError: ``as_of`` is not within the years 1 to 9999.

    Examples:
        >>> as_of = datetime(2023, 5, 18, tzinfo=UTC).timestamp()
        >>> [span.precision for span in named_times("What broke last Tuesday?", as_of).spans]
        ['day']
        >>> bool(named_times("May I ask something?", as_of)), bool(named_times("What broke last Tuesday?"))
        (False, False)
    """
    check_str("question", question)
    now = None if as_of is None else _on_the_wall(check_timestamp("as_of", as_of), zone)
    question = question[:_LONGEST]
    if not _HINT.search(question):
        return NamedTimes(zone=zone)
    dates, rest = apply(DATES, question, now)
    relative = [] if now is None else apply(RELATIVE, rest, now)[0]
    times = [_open_ended(named, question, now) for named in [*joined(dates, question), *sorted(relative)]]
    local = [time if isinstance(time, LocalSpan) else time.span() for time in times if not _is_yearly(time)]
    yearly = [time for time in times if isinstance(time, CalendarDays) and time.year is None]
    return NamedTimes(tuple(dict.fromkeys(local)), tuple(dict.fromkeys(yearly)), zone)


def recency(timestamps: ArrayLike, as_of: float, half_life: float) -> Closeness:
    """Tell how recent moments are.

    Args:
        timestamps: seconds since the epoch; NaN and infinities are unknown.
        as_of: the present; what comes after it counts as the present.
        half_life: seconds after which a moment counts half.

    Returns:
        float64, of the same shape: in ``(0, 1]``, 0 where the moment is unknown.

    Raises:
        ArgumentTypeError, InvalidArgumentError: ``as_of`` or ``half_life`` is no such number.

    Examples:
        >>> recency([100.0, 90.0, 80.0, float("nan")], as_of=100.0, half_life=10.0).tolist()
        [1.0, 0.5, 0.25, 0.0]
    """
    check_timestamp("as_of", as_of)
    if not 0 < check_number("half_life", half_life) < np.inf:
        raise InvalidArgumentError(f"half_life must be seconds above 0, not {half_life!r}.")
    moments = np.asarray(timestamps, dtype=np.float64)
    known = np.isfinite(moments)
    halves = np.maximum(as_of - np.where(known, moments, as_of), 0.0) / half_life
    recent: Closeness = np.where(known, np.exp2(-np.minimum(halves, _MOST_HALVES)), 0.0)
    return recent


def _step_of(moments: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
    """Count the edges at or before each moment: 0 for what is unknown, or all of them.

    Comparing with each edge takes 40 µs for 100,000 moments, a search among seven of them 2.5 ms.
    """
    if len(edges) > _MANY_EDGES:
        return np.searchsorted(edges, moments, side="right")
    step = np.zeros(moments.shape, np.uint8)
    for edge in edges:
        step += moments >= edge
    return step


def _on_the_wall(timestamp: float, zone: tzinfo) -> datetime:
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=timestamp)
    try:
        return utc.astimezone(zone).replace(tzinfo=None)
    except OverflowError:  # within hours of the first or last moment of the calendar
        return utc.replace(tzinfo=None)


def _is_yearly(time: Time) -> bool:
    return isinstance(time, CalendarDays) and time.year is None


def _open_ended(named: Named, question: str, now: datetime | None) -> Time:
    """Let *since May* go on."""
    begins = question[named.begins : named.ends]
    if not (_SINCE.search(question[max(0, named.begins - _LOOK_BACK) : named.begins]) or _SINCE.match(begins)):
        return named.time
    time = named.time
    if isinstance(time, CalendarDays):
        if time.year is None and now is None:
            return time
        time = time.latest(now) if time.year is None and now is not None else time.span()
    return time._replace(end=datetime.max)


def _in_years(yearly: Sequence[CalendarDays], years: Iterable[int]) -> Iterator[LocalSpan]:
    for days in yearly:
        for year in years:
            try:
                yield days.span(year)
            except (ValueError, OverflowError):  # 29 February
                continue


def _years_of(moments: NDArray[np.float64]) -> list[int]:
    """Give the years that the moments lie in, and those next to them."""
    known = moments[(moments > _BEGIN) & (moments < _END)]
    if not known.size:
        return []
    first, last = (int(moment // _YEAR) + 1970 for moment in (known.min(), known.max()))
    years: Iterable[int] = range(first, last + 1)
    if last - first > _MANY_YEARS:  # one moment far off is no reason to go through thousands of years
        years = (np.unique(known // _YEAR).astype(int) + 1970).tolist()
    around = {year + step for year in years for step in (-1, 0, 1)}
    return sorted(year for year in around if 1 <= year < 9999)


def _around(span: LocalSpan) -> Iterator[tuple[float, datetime, datetime]]:
    """Give what is close to a span: how close, from when, until when."""
    yield INSIDE, span.start, span.end
    margin = timedelta(days=_NEAR_DAYS[span.precision])
    yield NEAR, _moved(span.start, -margin), _moved(span.end, margin)
    if span.precision != "year":
        months = 1 if span.precision == "month" else 0
        yield FAR, _month_start(span.start, months), _month_end(span.end, months)


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return datetime.min if by < timedelta(0) else datetime.max


def _month_start(moment: datetime, before: int) -> datetime:
    try:
        first = months_before(moment.date().replace(day=1), before)
    except ValueError:
        return datetime.min
    return datetime(first.year, first.month, 1)


def _month_end(end: datetime, after: int) -> datetime:
    """Give the end of the month that the last moment before ``end`` is in, or of the one after it."""
    last = _moved(end, -timedelta(microseconds=1)).date()
    try:
        month = months_before(last.replace(day=1), -after)
    except ValueError:
        return datetime.max
    days = calendar.monthrange(month.year, month.month)[1]
    return _moved(datetime(month.year, month.month, days), timedelta(days=1))
