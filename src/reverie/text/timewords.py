"""Time in a question: "last March", "before the freeze on 2026-11-01", "in 2023", "yesterday"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from reverie.text.days import day_or_none, months_on

DAY = 86_400.0
# People speak of what happened for some days after it did, and seldom long before.
_SPOKEN_OF_AFTER = 14 * DAY
_SPOKEN_OF_BEFORE = 3 * DAY

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_LEAD = r"(?:\b(?P<lead>before|after|since|until|till|by|from)\s+(?:(?:\w+\s+){0,3}(?:on|of|in)\s+)?(?:the\s+)?)?"
# Without any of these no rule can match, here or in `reverie.text.dates`.
_HINT = re.compile(
    r"\d|day|night|week|month|year|quarter|ago\b|morning|evening|afternoon|spring|summer|autumn"
    r"|fall|winter|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|tmrw|tomorrow"
    r"|[^\x00-\x7f]|gestern|heute|morgen|woche|monat|jahr|hier|demain|semaine|mois|ayer|hoy",
    re.IGNORECASE,
)
_SEASONS: Mapping[str, int] = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """From a moment up to another, in seconds since the epoch; open ends are infinite."""

    start: float
    end: float
    # How long after the end people still speak of it.
    fading: float = _SPOKEN_OF_AFTER

    def nearness(self, at: float) -> float:
        """1 inside; outside it fades, faster before than after."""
        if self.start <= at < self.end:
            return 1.0
        if at < self.start:
            return math.exp((at - self.start) / _SPOKEN_OF_BEFORE)
        return math.exp((self.end - at) / self.fading)


def date_span(text: str) -> Span | None:
    """`2026`, `2026-01`, `2026-Q1` or `2026-01-31` as the time it covers."""
    match = re.fullmatch(r"(\d{4})(?:-(?:Q([1-4])|(\d{1,2})(?:-(\d{1,2}))?))?", text.strip())
    if match is None or not 1 <= int(match[1]) < 9999:
        return None
    year = int(match[1])
    if match[2]:
        return _months(year, int(match[2]) * 3 - 2, 3)
    if not match[3]:
        return _months(year, 1, 12)
    if not 1 <= int(match[3]) <= 12:
        return None
    if not match[4]:
        return _months(year, int(match[3]), 1)
    day = day_or_none(year, int(match[3]), int(match[4]))
    return None if day is None else _days(day, 1)


def spans(question: str, now: float) -> tuple[Span, ...]:
    """The times a question speaks of, relative ones seen from `now`."""
    today = _date_of(now)
    if today is None or not _HINT.search(question):
        return ()
    from reverie.text.dates import absolute_dates  # noqa: PLC0415 - many patterns, seldom needed

    text, _ = absolute_dates(question, today)
    found: list[Span] = []
    taken: list[tuple[int, int]] = []
    for pattern, read in _rules():
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other < end for other, other_end in taken):
                continue
            span = read(match, today)
            if span is not None:
                found.append(_led(span, (match["lead"] or "").lower()))
                taken.append((start, end))
    return tuple(found)


def nearness(found: tuple[Span, ...], at: float | None) -> float:
    """How near a moment is to the nearest of the times; 0 when nothing is known."""
    if at is None:
        return 0.0
    return max((span.nearness(at) for span in found), default=0.0)


def _led(span: Span, lead: str) -> Span:
    if lead in {"before", "until", "till", "by"}:
        # What is close to the limit is meant more than what is long ago.
        limit = span.start if lead == "before" else span.end
        return Span(span.start - 60 * DAY, limit, fading=_SPOKEN_OF_BEFORE)
    if lead in {"after", "since", "from"}:
        return Span(span.end if lead == "after" else span.start, math.inf)
    return span


def _iso(match: re.Match[str], today: date) -> Span | None:
    span = date_span(match["date"])
    if span is None or not match["period"]:
        return span
    length = {"week": 7, "weekend": 2}[match["period"]]
    return Span(span.start, span.start + length * DAY)


def _day_of_month(match: re.Match[str], today: date) -> Span | None:
    month = _month_number(match["month"] or match["month2"])
    number = int(match["number"] or match["number2"])
    year = match["year"]
    years = [int(year)] if year else [today.year, today.year - 1]
    days = (day_or_none(each, month, number) for each in years)
    day = next((day for day in days if day and (year or day <= today)), None)
    return None if day is None else _days(day, 1)


def _month_of_year(match: re.Match[str], today: date) -> Span | None:
    month = _month_number(match["month"])
    if match["year"]:
        return _months(int(match["year"]), month, 1)
    return _months(today.year - (month > today.month), month, 1)


def _season(match: re.Match[str], today: date) -> Span | None:
    month = _SEASONS[match["season"].lower()]
    if match["year"]:
        return _months(int(match["year"]), month, 3)
    year = today.year - (month > today.month)
    return _months(year - (match["which"].lower() == "last" and month + 3 > today.month), month, 3)


def _year(match: re.Match[str], today: date) -> Span | None:
    return _months(int(match["year"]), 1, 12)


Read = Callable[[re.Match[str], date], Span | None]


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], Read], ...]:
    """Compiled when a question first speaks of time: start-up does not pay for it."""
    return tuple(_written_rules())


def _written_rules() -> Iterator[tuple[re.Pattern[str], Read]]:
    ordinal = r"(?:st|nd|rd|th)?"
    yield (
        _compiled(r"(?:the (?P<period>weekend|week) of )?(?P<date>\d{4}-(?:Q\d|\d\d(?:-\d\d)?))"),
        _iso,
    )
    yield (
        _compiled(
            rf"(?:(?P<month>{_MONTH}) (?P<number>\d{{1,2}}){ordinal}"
            rf"|(?P<number2>\d{{1,2}}){ordinal}(?: of)? (?P<month2>{_MONTH}))"
            r"(?:,? (?P<year>(?:19|20)\d\d))?"
        ),
        _day_of_month,
    )
    yield _compiled(rf"(?P<month>{_MONTH}),? (?:of )?(?P<year>(?:19|20)\d\d)"), _month_of_year
    yield (
        _compiled(rf"(?:(?<=in )|(?<=during )|(?<=since ))(?P<month>{_MONTH})(?P<year>)"),
        _month_of_year,
    )
    yield (
        _compiled(
            rf"(?P<which>last|this|past|the|in|of) (?P<season>{'|'.join(_SEASONS)})(?: of)?"
            r"(?: (?P<year>(?:19|20)\d\d))?"
        ),
        _season,
    )
    yield _compiled(r"(?P<year>(?:19|20)\d\d)"), _year


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{_LEAD}(?<![\w./-]){pattern}(?![\w/-])", re.IGNORECASE)


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _months(year: int, month: int, count: int) -> Span | None:
    try:
        first = date(year, month, 1)
        return Span(_stamp(first), _stamp(months_on(first, count)))
    except (ValueError, OverflowError):
        return None


def _days(day: date, count: int) -> Span | None:
    try:
        return Span(_stamp(day), _stamp(day + timedelta(days=count)))
    except (ValueError, OverflowError):
        return None


def _stamp(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _date_of(now: float) -> date | None:
    try:
        return datetime.fromtimestamp(now, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
