"""Which times questions name, how close moments are to them, and how recent they are."""

from __future__ import annotations

import calendar
import math
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffai.core.when import NamedTimes, Span, named_times, recency
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from tests.core.when_questions import AS_OF, DATES, NOTHING, RELATIVE, YEARLY

DAY = 86400.0
MONTHS = list(calendar.month_name)[1:]
days = st.dates(date(1900, 1, 1), date(2099, 12, 31))
WORDS = (
    "last",
    "this",
    "past",
    "next",
    "on",
    "in",
    "since",
    "the",
    "of",
    "a",
    "few",
    "two",
    "3",
    "7",
    "31",
    "2023",
    "00",
    "May",
    "march",
    "Tuesday",
    "summer",
    "night",
    "week",
    "month",
    "year",
    "days",
    "ago",
    "between",
    "and",
    "to",
    "from",
    "-",
    "/",
    ".",
    ",",
    "7th",
    "2023-05-07",
    "early",
    "end",
)
ASKED = [question for question, *_ in (*DATES, *RELATIVE, *YEARLY)]


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, zone: Any = UTC) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=zone).timestamp()


def days_of(span: Span) -> tuple[str, str, str]:
    """The first and the last day of a span, in UTC."""
    if math.isinf(span.end):
        return datetime.fromtimestamp(span.start, UTC).date().isoformat(), "9999-12-31", span.precision
    first, last = (datetime.fromtimestamp(moment, UTC).date() for moment in (span.start, span.end - 1))
    return first.isoformat(), last.isoformat(), span.precision


def close(question: str, moment: float, as_of: float | None = AS_OF) -> float:
    return float(named_times(question, as_of).closeness([moment])[0])


# What is named


@pytest.mark.parametrize("as_of", [AS_OF, None])
@pytest.mark.parametrize(("question", "first", "last", "precision"), DATES)
def test_a_date_with_its_year_is_named_whenever_it_is_asked(
    question: str, first: str, last: str, precision: str, as_of: float | None
) -> None:
    times = named_times(question, as_of)
    assert [days_of(span) for span in times.spans] == [(first, last, precision)]
    assert not times.yearly


@pytest.mark.parametrize(("question", "first", "last", "precision"), RELATIVE)
def test_a_relative_time_is_counted_from_when_it_is_asked(question: str, first: str, last: str, precision: str) -> None:
    assert [days_of(span) for span in named_times(question, AS_OF).spans] == [(first, last, precision)]
    assert not named_times(question).spans


@pytest.mark.parametrize(("question", "first", "last", "precision"), YEARLY)
def test_a_date_without_a_year_is_that_of_any_year(question: str, first: str, last: str, precision: str) -> None:
    times = named_times(question)
    assert not times.spans
    assert [(f"{a:02}-{b:02}", f"{c:02}-{d:02}") for (a, b), (c, d) in ((y.first, y.last) for y in times.yearly)] == [
        (first, last)
    ]
    assert [span.precision for span in times.spans_in(2021, 2023)] == [precision] * 3


@pytest.mark.parametrize("question", NOTHING)
def test_an_ordinary_question_names_no_time(question: str) -> None:
    times = named_times(question, AS_OF)
    assert not times
    assert times.closeness([AS_OF, AS_OF - DAY]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("question", [question for question, *_ in (*DATES, *RELATIVE)])
@pytest.mark.parametrize("written", [str.lower, str.upper])
def test_capitals_do_not_matter_where_a_word_can_mean_only_a_time(question: str, written: Any) -> None:
    assert named_times(written(question), AS_OF).spans == named_times(question, AS_OF).spans


def test_parts_of_a_day_are_hours_of_it() -> None:
    hours = {
        "What did I say this morning?": (at(2023, 5, 18, 4), at(2023, 5, 18, 12)),
        "What did I say yesterday afternoon?": (at(2023, 5, 17, 12), at(2023, 5, 17, 18)),
        "What broke last night?": (at(2023, 5, 17, 18), at(2023, 5, 18, 6)),
        "What did we do on Tuesday evening?": (at(2023, 5, 16, 17), at(2023, 5, 17)),
        "What did you say two hours ago?": (at(2023, 5, 18, 11, 30), at(2023, 5, 18, 13, 30)),
    }
    for question, named in hours.items():
        assert [(span.start, span.end) for span in named_times(question, AS_OF).spans] == [named]


def test_last_tuesday_is_never_today_and_tuesday_may_be() -> None:
    tuesday = at(2023, 5, 16, 9)
    assert named_times("last Tuesday", tuesday).spans[0].start == at(2023, 5, 9)
    assert named_times("on Tuesday", tuesday).spans[0].start == at(2023, 5, 16)
    assert named_times("Tuesday last week", tuesday).spans[0].start == at(2023, 5, 9)


def test_last_summer_is_one_that_has_ended() -> None:
    assert [days_of(s)[0] for s in named_times("last summer", at(2023, 7, 1)).spans] == ["2022-06-01"]
    assert [days_of(s)[0] for s in named_times("last summer", at(2023, 9, 1)).spans] == ["2023-06-01"]
    assert [days_of(s)[0] for s in named_times("this summer", at(2023, 7, 1)).spans] == ["2023-06-01"]


def test_since_goes_on_until_today_and_beyond() -> None:
    for question in (
        "since May 2022",
        "since last week",
        "since 3 October",
        "since Monday",
        "since the summer of 2021",
    ):
        (span,) = named_times(question, AS_OF).spans
        assert span.end == math.inf
        assert close(question, AS_OF) == 1.0
        assert close(question, span.start - 400 * DAY) == 0.0


def test_a_range_takes_its_year_from_either_end() -> None:
    ends = {
        "between 28 December and 3 January 2023": ("2022-12-28", "2023-01-03"),
        "from 28 December 2022 to 3 January": ("2022-12-28", "2023-01-03"),
        "May 3, 2022 - June 7, 2022": ("2022-05-03", "2022-06-07"),
        "between November and February 2023": ("2022-11-01", "2023-02-28"),
    }
    for question, (first, last) in ends.items():
        assert [days_of(span)[:2] for span in named_times(question).spans] == [(first, last)]


def test_several_times_are_all_named_and_the_closest_counts() -> None:
    times = named_times("Was it on 3 May 2021 or in July 2022?")
    assert [days_of(span)[0] for span in times.spans] == ["2021-05-03", "2022-07-01"]
    assert times.closeness([at(2021, 5, 3, 12), at(2022, 7, 9), at(2019, 1, 1)]).tolist() == [1.0, 1.0, 0.0]


def test_a_day_begins_where_the_asker_is() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    (span,) = named_times("7 May 2023", zone=tokyo).spans
    assert (span.start, span.end) == (at(2023, 5, 7, zone=tokyo), at(2023, 5, 8, zone=tokyo))
    late = at(2023, 5, 18, 23)  # in Tokyo it is the 19th
    assert named_times("today", late, tokyo).spans[0].start == at(2023, 5, 19, zone=tokyo)


def test_a_day_of_23_hours_is_a_whole_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    (span,) = named_times("26 March 2023", zone=berlin).spans
    assert span.end - span.start == 23 * 3600


@pytest.mark.parametrize("question", ["9999 years ago", "2500 years ago", "What was 9999 weeks ago, or 31 April 2023?"])
def test_a_time_that_never_was_is_not_named(question: str) -> None:
    assert not [span for span in named_times(question, AS_OF).spans if span.start < at(1800, 1, 1)]


@pytest.mark.parametrize("as_of", [-62135596800.0, -62135510400.0, 253402300799.0])
@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Niue")])
def test_the_ends_of_the_calendar_are_no_trap(as_of: float, zone: Any) -> None:
    for question in ASKED:
        values = named_times(question, as_of, zone).closeness([as_of, -math.inf, math.nan, 0.0])
        assert values[1] == values[2] == 0.0


def test_what_is_asked_must_be_text_and_when_a_time() -> None:
    with pytest.raises(ArgumentTypeError, match="question"):
        named_times(7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="as_of"):
        named_times("today", "now")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="as_of"):
        named_times("today", 1e300)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    times = named_times(text, AS_OF)
    assert all(span.start < span.end for span in times.spans)
    assert set(times.closeness([AS_OF, 0.0]).tolist()) <= {0.0, 0.2, 0.6, 1.0}


words = st.sampled_from(WORDS)


@given(st.lists(words, max_size=12), st.sampled_from([None, AS_OF, at(2024, 2, 29, 12)]))
def test_any_words_about_time_can_be_read(said: list[str], as_of: float | None) -> None:
    times = named_times(" ".join(said), as_of)
    assert all(span.start < span.end for span in times.spans)
    assert np.isin(times.closeness(np.linspace(at(2020, 1, 1), at(2025, 1, 1), 99)), [0.0, 0.2, 0.6, 1.0]).all()


@given(days)
def test_every_way_to_write_a_day_names_the_same_day(day: date) -> None:
    month = MONTHS[day.month - 1]
    ordinal = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}.get(day.day, "th")
    for written in (
        f"{day.day} {month} {day.year}",
        f"{day.day}{ordinal} of {month}, {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{month[:3].lower()} {day.day}{ordinal} {day.year}",
        f"{day:%A}, {month} {day.day}, {day.year}",
        day.isoformat(),
        f"{day:%Y/%m/%d}",
        f"{day.day}.{day.month}.{day.year}",
    ):
        assert [days_of(span) for span in named_times(f"What was on {written}?").spans] == [
            (day.isoformat(), day.isoformat(), "day")
        ], written


@given(days, st.integers(-60, 60))
def test_the_same_words_a_day_later_name_the_day_after(day: date, shift: int) -> None:
    as_of = at(day.year, day.month, day.day, 15)
    for question in ("yesterday", "today", "last night", "three days ago", "the other day", "the last 30 days"):
        now, later = (named_times(question, moment).spans for moment in (as_of, as_of + shift * DAY))
        assert [(s.start + shift * DAY, s.end + shift * DAY) for s in now] == [(s.start, s.end) for s in later]


@given(days)
def test_last_month_ends_where_this_month_begins(day: date) -> None:
    as_of = at(day.year, day.month, day.day, 1)
    for unit in ("week", "month", "year"):
        (last,), (this,) = (named_times(f"{which} {unit}", as_of).spans for which in ("last", "this"))
        assert last.end == this.start
        assert this.start <= as_of < this.end


@given(days, st.integers(1, 30))
def test_one_more_month_ago_is_the_month_before(day: date, count: int) -> None:
    as_of = at(day.year, day.month, day.day)
    (later,) = named_times(f"{count} months ago", as_of).spans
    (earlier,) = named_times(f"{count + 1} months ago", as_of).spans
    assert earlier.end == later.start


# How close


def test_a_named_day_is_closest_then_its_week_then_its_month() -> None:
    question = "What did we decide on 7 May 2023?"
    graded = {
        (7, 0): 1.0, (7, 23): 1.0, (8, 0): 0.6, (6, 23): 0.6, (14, 23): 0.6, (15, 0): 0.2, (31, 23): 0.2, (1, 0): 0.6
    }  # fmt: skip
    for (day, hour), value in graded.items():
        assert close(question, at(2023, 5, day, hour)) == value
    assert close(question, at(2023, 4, 30)) == 0.6
    assert close(question, at(2023, 4, 29, 23)) == 0.0
    assert close(question, at(2023, 6, 1)) == 0.0


def test_a_named_week_month_and_year_are_graded_alike() -> None:
    assert [close("last week", at(2023, *day)) for day in ((5, 8), (5, 14), (5, 15), (5, 1), (5, 31), (6, 1))] == [
        1.0, 1.0, 0.6, 0.6, 0.2, 0.0
    ]  # fmt: skip
    assert [close("in April 2023", at(2023, *day)) for day in ((4, 30), (5, 7), (5, 8), (3, 25), (3, 1), (2, 28))] == [
        1.0, 0.6, 0.2, 0.6, 0.2, 0.0
    ]  # fmt: skip
    assert [close("in 2022", at(*day)) for day in ((2022, 1, 1), (2021, 12, 2), (2023, 1, 30), (2023, 3, 1))] == [
        1.0, 0.6, 0.6, 0.0
    ]  # fmt: skip


def test_a_date_without_a_year_is_close_in_every_year() -> None:
    moments = [at(year, 5, 7, 12) for year in (1999, 2020, 2024)]
    assert named_times("on May 7").closeness([*moments, at(2020, 5, 9), at(2020, 7, 7)]).tolist() == [1, 1, 1, 0.6, 0]


def test_a_winter_goes_on_in_the_next_year() -> None:
    moments = [at(2021, 12, 5), at(2022, 2, 27), at(2022, 5, 5)]
    assert named_times("in the winter").closeness(moments).tolist() == [1.0, 1.0, 0.0]


def test_the_29th_of_february_is_close_in_leap_years_only() -> None:
    moments = [at(2024, 2, 29), at(2024, 2, 28), at(2023, 2, 28), at(2023, 3, 1)]
    assert named_times("on 29 February").closeness(moments).tolist() == [1.0, 0.6, 0.0, 0.0]


def test_what_is_unknown_is_close_to_nothing() -> None:
    unknown = [-math.inf, math.inf, math.nan, 1e300, -1e300]
    for question in ("on 7 May", "in May 2023", "yesterday"):
        assert named_times(question, AS_OF).closeness(unknown).tolist() == [0.0] * 5


def test_closeness_keeps_the_shape() -> None:
    for shape in ((0,), (3,), (2, 2)):
        assert named_times("in May 2023").closeness(np.zeros(shape)).shape == shape
        assert NamedTimes().closeness(np.zeros(shape)).dtype == np.float64


@given(st.sampled_from(ASKED), st.lists(st.floats(-1e10, 1e10), max_size=20), st.floats(0, 4e9))
def test_each_moment_is_judged_by_itself(question: str, moments: list[float], as_of: float) -> None:
    times = named_times(question, as_of)
    together = times.closeness(moments).tolist()
    assert together == [float(times.closeness([moment])[0]) for moment in moments]


@given(st.sampled_from(ASKED), st.floats(0, 4e9))
def test_a_moment_within_a_named_span_is_as_close_as_can_be(question: str, as_of: float) -> None:
    times = named_times(question, as_of)
    for span in times.spans_in(2019, 2024):
        end = min(span.end, span.start + 1e9)
        assert times.closeness([span.start, (span.start + end) / 2, end - 1]).tolist() == [1.0, 1.0, 1.0]


@given(days, st.integers(0, 400))
def test_farther_from_a_day_is_never_closer(day: date, gap: int) -> None:
    assume(gap > 0)
    times = named_times(f"on {day.isoformat()}")
    start = at(day.year, day.month, day.day, 12)
    for sign in (-1, 1):
        near, far = times.closeness([start + sign * (gap - 1) * DAY, start + sign * gap * DAY])
        assert far <= near


# How recent


@given(st.floats(0, 4e9), st.floats(1.0, 1e9), st.lists(st.floats(-4e9, 4e9), min_size=1))
def test_recency_halves_and_is_never_zero(as_of: float, half_life: float, moments: list[float]) -> None:
    recent = recency(moments, as_of, half_life)
    assert ((recent > 0) & (recent <= 1)).all()
    assert recency([as_of, as_of + 5, as_of - half_life], as_of, half_life) == pytest.approx([1.0, 1.0, 0.5], rel=1e-3)
    assert (np.diff(recency(sorted(moments), as_of, half_life)) >= 0).all()


@given(st.floats(0, 1e9), st.integers(-1000, 1000))
def test_recency_depends_on_the_age_alone(age: float, shift: int) -> None:
    assert recency([AS_OF - age], AS_OF, DAY) == pytest.approx(
        recency([AS_OF - age + shift * DAY], AS_OF + shift * DAY, DAY), rel=1e-6
    )


def test_recency_of_an_unknown_time_is_nothing() -> None:
    assert recency([-math.inf, math.nan, math.inf], AS_OF, DAY).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.inf, math.nan])
def test_a_half_life_is_a_time_above_zero(half_life: float) -> None:
    with pytest.raises(InvalidArgumentError, match="half_life"):
        recency([0.0], AS_OF, half_life)
    with pytest.raises(ArgumentTypeError, match="half_life"):
        recency([0.0], AS_OF, "a day")  # type: ignore[arg-type]


def test_recency_over_many_turns_is_a_vector_operation() -> None:
    ages = np.arange(5) * timedelta(days=1).total_seconds()
    assert recency(AS_OF - ages, AS_OF, DAY).tolist() == [1.0, 0.5, 0.25, 0.125, 0.0625]


# How long it takes


def test_a_question_is_read_in_well_under_a_millisecond() -> None:
    questions = [*ASKED, *NOTHING]
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        for question in questions:
            named_times(question, AS_OF)
        taken.append((time.perf_counter() - began) / len(questions))
    assert min(taken) < 1e-3


@pytest.mark.parametrize(
    "text", ["on " * 20000, "1 " * 20000, "last " * 20000, "may 7 and " * 5000, "2023-05-07 " * 5000]
)
def test_a_long_text_takes_time_by_its_length(text: str) -> None:
    began = time.perf_counter()
    named_times(text, AS_OF)
    assert time.perf_counter() - began < 5


def test_one_moment_far_off_costs_nothing() -> None:
    moments = np.append(np.linspace(at(2020, 1, 1), at(2024, 1, 1), 1000), at(9990, 5, 7))
    times = named_times("on 7 May or in the summer")
    began = time.perf_counter()
    assert times.closeness(moments)[-1] == 1.0
    assert time.perf_counter() - began < 0.1
