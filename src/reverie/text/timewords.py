"""Times in a question: "last March", "before the freeze on 2026-11-01", "in 2023", "yesterday"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from reverie.text.days import ALL_NAMES, day_or_none, month_number, months_on

DAY = 86_400.0
# People talk about an event for some days afterwards, and seldom long before it.
_SPOKEN_OF_AFTER = 14 * DAY
_SPOKEN_OF_BEFORE = 3 * DAY

_MONTH = rf"(?:{'|'.join(names.month for names in ALL_NAMES)})\b\.?"
_LEAD = (
    r"(?:\b(?P<lead>before|after|since|until|till|by|from|vor|nach|seit|bis|ab|avant|après|depuis"
    r"|jusqu['’]|dès|antes|después|desde|hasta)\s*(?:(?:\w{1,30}\s+){0,3}(?:on|of|in|am|im|en)\s+)?"
    r"(?:(?:the|dem|zum|à|au|le|de|del|el)\s+)?)?"
)
_BEFORE = frozenset({"before", "vor", "avant", "antes"})
_UP_TO = frozenset({"until", "till", "by", "bis", "jusqu'", "jusqu’", "hasta"})
_AFTER = frozenset({"after", "nach", "après", "después"})
_ONWARD = frozenset({"since", "from", "seit", "ab", "depuis", "dès", "desde"})
# No rule here or in `reverie.text.dates` can match a text without one of these.
_HINT = re.compile(
    r"\d|day|night|week|month|year|quarter|ago\b|morning|evening|afternoon|spring|summer|autumn"
    r"|fall|winter|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|tmrw|tomorrow"
    r"|[^\x00-\x7f]|gestern|heute|morgen|woche|monat|jahr|hier|demain|semaine|mois|ayer|hoy|semana"
    r"|\b(?:okt|dez|avr|mai|juin|sept|ene|abr|ago|set|dic)|tag\b|di\b|lunes|martes|jueves|viernes"
    r"|domingo|tage|jour|\bmes|\ban(?:s|née)",
    re.IGNORECASE,
)
_SEASONS: Mapping[str, int] = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """A period in seconds since the epoch; open ends are infinite."""

    start: float
    end: float
    # How long people still talk about it after the end.
    fading: float = _SPOKEN_OF_AFTER

    def nearness(self, at: float) -> float:
        """1 inside the period; outside it decreases, faster before than after."""
        if self.start <= at < self.end:
            return 1.0
        if at < self.start:
            return math.exp((at - self.start) / _SPOKEN_OF_BEFORE)
        return math.exp((self.end - at) / self.fading)


# Words that ask how something was, not how it is.
_FORMER = re.compile(
    r"\b(?:before(?! (?:the|a|an|we|i|you|it)\b)|formerly|former|previous(?:ly)?|used to|earlier|originally|back then"
    r"|did\b.{1,60}?\buse to|(?:did|was|were|had)\b.{0,60}?\bbefore|in the past|no longer|any ?more|(?:what|which|where|who|when|how)\b.{0,60}?\b(?:was|were|had)"
    r"|früher|vorher|zuvor|damals|ehemal\w+|bisher|ursprünglich|nicht mehr"
    r"|avant|autrefois|auparavant|anciens?|anciennes?|précédent\w*|jadis|était|étaient"
    r"|antes|anteriormente|antigu\w+|anterior(?:es)?|solía\w*|era|eran)\b",
    re.IGNORECASE,
)


def about_former(question: str) -> bool:
    """Whether a question asks about a former state: "which port did it use before?"."""
    return _FORMER.search(question[:2_000]) is not None


def date_span(text: str) -> Span | None:
    """The period of `2026`, `2026-01`, `2026-Q1` or `2026-01-31`."""
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
    """The periods that a question names; relative ones count from `now`."""
    today = _date_of(now)
    if today is None or not _HINT.search(question):
        return ()
    # Many patterns, seldom needed.
    from reverie.text.dates import absolute_dates  # noqa: PLC0415
    from reverie.text.periods import periods  # noqa: PLC0415

    rough, rest = periods(question, today)
    text, _ = absolute_dates(rest, today)
    found = [Span(_stamp(first), _stamp(end)) for first, end in rough]
    taken = bytearray(len(text))
    for pattern, read in _rules():
        for match in pattern.finditer(text):
            start, end = match.span()
            # Two phrases overlap if one contains the first or last letter of the other.
            if taken.find(1, start, end) >= 0:
                continue
            span = read(match, today)
            if span is not None:
                found.append(_limited(span, (match["lead"] or "").lower()))
                taken[start:end] = b"\x01" * (end - start)
    return tuple(found)


def nearness(found: tuple[Span, ...], at: float | None) -> float:
    """How near a time is to the nearest of the periods; 0 when unknown."""
    if at is None:
        return 0.0
    return max((span.nearness(at) for span in found), default=0.0)


def _limited(span: Span, lead: str) -> Span:
    if lead in _BEFORE | _UP_TO:
        # A time close to the limit is more likely meant than one long ago.
        limit = span.start if lead in _BEFORE else span.end
        return Span(span.start - 60 * DAY, limit, fading=_SPOKEN_OF_BEFORE)
    if lead in _AFTER | _ONWARD:
        return Span(span.end if lead in _AFTER else span.start, math.inf)
    return span


def _iso(match: re.Match[str], today: date) -> Span | None:
    span = date_span(match["date"])
    weeks = re.search(r"(?i)week|woche|sema", match[0])
    if span is None or not weeks:
        return span
    length = 2 if match["period"] == "weekend" else 7
    return Span(span.start, span.start + length * DAY)


def _day_of_month(match: re.Match[str], today: date) -> Span | None:
    month = month_number(match["month"] or match["month2"])
    number = int(re.sub(r"\D", "", match["number"] or match["number2"]))
    year = match["year"]
    years = [int(year)] if year else [today.year, today.year - 1]
    days = (day_or_none(each, month, number) for each in years)
    day = next((day for day in days if day and (year or day <= today)), None)
    return None if day is None else _days(day, 1)


def _month_of_year(match: re.Match[str], today: date) -> Span | None:
    month = month_number(match["month"])
    if match["year"]:
        return _months(int(match["year"]), month, 1)
    return _months(today.year - (month > today.month), month, 1)


def _season(match: re.Match[str], today: date) -> Span | None:
    month = _SEASONS[match["season"].lower()]
    if match["year"]:
        return _months(int(match["year"]), month, 3)
    year = today.year - (month > today.month)
    return _months(
        year - ((match["which"] or "").lower() == "last" and month + 3 > today.month), month, 3
    )


def _year(match: re.Match[str], today: date) -> Span | None:
    return _months(int(match["year"]), 1, 12)


Read = Callable[[re.Match[str], date], Span | None]


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], Read], ...]:
    """Compiled on first use, to keep start-up fast."""
    return tuple(_written_rules())


def _written_rules() -> Iterator[tuple[re.Pattern[str], Read]]:
    ordinal = r"(?:st|nd|rd|th)?"
    yield (
        _compiled(
            r"(?:(?:the (?P<period>weekend|week) of|die Woche vom|la semaine du|la semana del) )?(?P<date>\d{4}-(?:Q\d|\d\d(?:-\d\d)?))"
        ),
        _iso,
    )
    yield (
        _compiled(
            # "May 5 people", "march 3 miles": a number of things, not a day.
            rf"(?:(?P<month>{_MONTH}) (?P<number>\d{{1,2}}){ordinal}(?!\d)(?! (?:{_COUNTED}))"
            rf"|(?P<number2>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?: of| de)? ?(?P<month2>{_MONTH}))"
            r"(?:,? (?:de |del )?(?P<year>(?:19|20)\d\d))?"
        ),
        _day_of_month,
    )
    yield (
        _compiled(rf"(?P<month>{_MONTH}),? (?:of |de |del )?(?P<year>(?:19|20)\d\d)"),
        _month_of_year,
    )
    yield (
        _compiled(
            rf"(?:(?<=in )|(?<=during )|(?<=since )|(?<=im )|(?<=seit )|(?<=en )|(?<=depuis )|(?<=desde ))(?P<month>{_MONTH})(?P<year>)"
        ),
        _month_of_year,
    )
    yield (
        _compiled(
            # Spring is a framework and a fall an accident, unless it is last spring, or that of a year.
            rf"(?:(?P<which>last|this|past)|the|in|of) (?P<season>{'|'.join(_SEASONS)})(?: of)?"
            r"(?: (?P<year>(?:19|20)\d\d)|(?<=summer)|(?<=autumn)|(?<=winter)|(?(which)|(?!)))"
        ),
        _season,
    )
    # "2000 users" and "port 2049" are numbers.
    numbered = "".join(rf"(?<!{word} )" for word in _NUMBERED)
    yield _compiled(rf"{numbered}(?P<year>(?:19|20)\d\d)(?! (?:{_COUNTED}))"), _year


_NUMBERED = ("port", "line", "error", "code", "status", "issue", "version", "id", "number", "#")
_COUNTED = (
    r"(?:users?|people|rows?|lines?|files?|tests?|bytes|items|requests|times|errors?|ms|seconds?|minutes?"
    r"|hours?|tokens|words|characters|euros?|dollars|points|pages|miles|km|teams|nodes|retries|replicas)\b"
)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{_LEAD}(?<![\w./-]){pattern}(?![\w/-])", re.IGNORECASE)


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
