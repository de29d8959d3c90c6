"""English date phrases that depend on today: what they look like and the date they mean.

A table of patterns, each with the function that resolves it. Phrases that can also be a
habit or a duration ("on Friday", "in 30 days") need a cue in their sentence; without one
they stay as they are, because a wrong date is worse than a vague one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.text.days import day_or_none, monday_of, months_on, period, shifted

if TYPE_CHECKING:
    from collections.abc import Callable

Direction = Literal["future", "past", "habit"]

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NUMBERS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}

_N = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT = r"(?:(?:business|working) day|day|week|fortnight|month|year)s?"
_SPAN = rf"{_N} {_UNIT}(?:(?:,| and|, and)? {_N} {_UNIT}){{0,2}}"
_DAY = rf"(?:{'|'.join(_DAYS)})"
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_WHICH = r"(?P<which>next|this coming|this|coming|last|past|previous)"
_NO_YEAR = r"(?!\d)(?!(?:,|\.)? ?\d{4})(?![:/]\d)"

_CUE = re.compile(
    r"(?P<habit>\b(?:every|each|always|never|usually|weekly|monthly|annual(?:ly)?|yearly|birthday"
    r"|anniversary)\b)"
    r"|(?P<future>\b(?:will|won't|shall|going to|due|deadline|scheduled|planned|plans? to|expected"
    r"|starts?|begins?|launch(?:es)?|ships?|leaves?|needs? to|let's)\b|'ll\b|\b(?:is|are) (?=in\b))"
    r"|(?P<past>\b(?:was|were|did|had|went|said|met|began|took|made|got|came|left|sent|broke|fell"
    r"|found|told|\w{2,}(?<!e)ed)\b)",
    re.IGNORECASE,
)
# How far a cue may stand from its phrase: a text without full stops must not cost a minute.
_REACH = 400
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Place:
    """A phrase where it stands: its text's day, and the sentence that gives it direction."""

    match: re.Match[str]
    today: date

    def __getitem__(self, group: str) -> str:
        return (self.match[group] or "").lower()

    @property
    def direction(self) -> Direction | None:
        """What the nearest cue before (else after) says; a habit anywhere in the sentence wins."""
        text, start, end = self.match.string, self.match.start(), self.match.end()
        near = max(0, start - _REACH)
        first = max((m.end() for m in _SENTENCE_END.finditer(text, near, start)), default=near)
        stop = _SENTENCE_END.search(text, end, end + _REACH)
        cues = list(_CUE.finditer(text, first, stop.start() if stop else end + _REACH))
        if any(cue["habit"] for cue in cues):
            return "habit"
        before = [cue for cue in cues if cue.start() < start]
        nearest = before[-1] if before else next(iter(cues), None)
        if nearest is None:
            return None
        return "future" if nearest["future"] else "past"

    @property
    def after_preposition(self) -> bool:
        before = self.match.string[max(0, self.match.start() - 20) : self.match.start()]
        return bool(
            re.search(r"\b(?:on|by|since|until|till|from|before|after|of)\s+$", before, re.I)
        )


def _span(text: str, base: date, sign: int) -> date:
    day = base
    # Largest unit first, so that "1 month 21 days" does not depend on how it was said.
    pieces = re.findall(rf"({_N}) ({_UNIT})", text, re.IGNORECASE)
    for number, unit in sorted(pieces, key=lambda piece: "ymwfdb".index(piece[1][0].lower())):
        count = int(number) if number.isdigit() else _NUMBERS[number.lower()]
        day = shifted(day, sign * count, unit.lower())
    return day


def _simple(place: Place) -> str:
    offsets = {"yesterday": -1, "today": 0, "tomorrow": 1, "tmrw": 1}
    offset = offsets[place["day"]] + {"": 0, "after": 1, "before": -1}[place["beyond"]]
    return (place.today + timedelta(days=offset)).isoformat()


def _part_of_day(place: Place) -> str:
    night = place["part"] in {"tonight", "last night"}
    day = place.today - timedelta(days=place["part"] == "last night")
    part = "night" if night else place["part"].removeprefix("this ")
    return f"the {part} of {day.isoformat()}"


def _counted(place: Place) -> str:
    base = place.today + timedelta(days={"tomorrow": 1, "yesterday": -1}.get(place["base"], 0))
    sign = -1 if place["way"] in {"ago", "before"} else 1
    day = _span(place["span"], base, sign)
    return day.isoformat() if place.after_preposition else f"on {day.isoformat()}"


def _in_span(place: Place) -> str | None:
    if place.direction != "future":
        return None
    return f"on {_span(place['span'], place.today, 1).isoformat()}"


def _weekday(place: Place) -> str:
    today, wanted = place.today, _DAYS.index(place["day"])
    ahead = (wanted - today.weekday()) % 7
    match place["which"]:
        case "next":
            # The day in next week: on a Monday, "next Sunday" is not the one six days off.
            day = monday_of(today) + timedelta(days=7 + wanted)
        case "last" | "past" | "previous":
            day = today - timedelta(days=(today.weekday() - wanted) % 7 or 7)
        case "coming" | "this coming":
            day = today + timedelta(days=ahead or 7)
        case _:
            day = today + timedelta(days=ahead)
    return day.isoformat()


def _weekday_of_week(place: Place) -> str:
    shift = {"next": 7, "last": -7}.get(place["which"], 0)
    return (monday_of(place.today) + timedelta(days=shift + _DAYS.index(place["day"]))).isoformat()


def _cued_weekday(place: Place) -> str | None:
    direction = _leaning(place)
    if direction is None:
        return None
    wanted = _DAYS.index(place["day"])
    if direction == "future":
        day = place.today + timedelta(days=(wanted - place.today.weekday()) % 7)
    else:
        day = place.today - timedelta(days=(place.today.weekday() - wanted) % 7)
    return f"{place.match['lead']} {day.isoformat()}"


def _leaning(place: Place) -> Direction | None:
    """The side of today a phrase is on; a deadline points forward, `since` points back."""
    said = place.direction
    if said == "habit":
        return None
    if place["lead"] in {"by", "until", "till", "before", "due", "starting"}:
        return said or "future"
    return "past" if place["lead"] == "since" else said


def _month_day(place: Place) -> str | None:
    direction = _leaning(place)
    month = _MONTHS.index((place["month"] or place["month2"])[:3]) + 1
    number = int(place["number"] or place["number2"])
    if direction is None:
        return None
    years = range(9) if direction == "future" else range(0, -9, -1)
    for year in years:
        day = day_or_none(place.today.year + year, month, number)
        if day and (day >= place.today if direction == "future" else day <= place.today):
            lead = place.match["lead"]
            return f"{lead} {day.isoformat()}" if lead else day.isoformat()
    return None


def _month_of(place: Place) -> date:
    return months_on(
        place.today.replace(day=1), {"next": 1, "last": -1, "previous": -1}.get(place["which"], 0)
    )


def _day_of_month(place: Place) -> str | None:
    first = _month_of(place)
    day = day_or_none(first.year, first.month, int(place["number"]))
    return day.isoformat() if day else None


def _nth_weekday(place: Place) -> str | None:
    first, wanted = _month_of(place), _DAYS.index(place["day"])
    if place["nth"] == "last":
        end = months_on(first, 1) - timedelta(days=1)
        return (end - timedelta(days=(end.weekday() - wanted) % 7)).isoformat()
    weeks = _ORDINALS[place["nth"]] - 1
    return (first + timedelta(days=(wanted - first.weekday()) % 7 + 7 * weeks)).isoformat()


def _period(place: Place) -> str:
    step = {"next": 1, "last": -1, "previous": -1}.get(place["which"], 0)
    return period(place.today, place["unit"], step)


def _after_next(place: Place) -> str:
    return period(place.today, place["unit"], 2)


def _numbered_day(place: Place) -> str | None:
    """`by the 15th`, `Friday the 13th`: the nearest day that fits, on the side the cue says."""
    direction = _leaning(place)
    step = 1 if direction == "future" else -1
    for ahead in range(500 if direction else 0):
        day = place.today + timedelta(days=step * ahead)
        if day.day == int(place["number"]) and place["day"] in {"", _DAYS[day.weekday()]}:
            lead = place.match["lead"]
            return f"{lead} {day.isoformat()}" if lead else day.isoformat()
    return None


def _edge(place: Place) -> str:
    step = {"next": 1, "last": -1}.get(place["which"], 0)
    size = {"month": 1, "quarter": 3, "year": 12}[place["unit"]]
    first = place.today.replace(day=1, month=(place.today.month - 1) // size * size + 1)
    first = months_on(first, size * step)
    last = months_on(first, size) - timedelta(days=1)
    return (last if place["edge"] == "end" else first).isoformat()


def _named_month(place: Place) -> str:
    month = _MONTHS.index(place["month"][:3]) + 1
    year, now = place.today.year, place.today.month
    if place["which"] == "next":
        year += month <= now
    elif place["which"] == "last":
        year -= month >= now
    return f"{year}-{month:02d}"


Resolve: TypeAlias = "Callable[[Place], str | None]"
Rule: TypeAlias = tuple[re.Pattern[str], Resolve]


def _rule(pattern: str, resolve: Resolve) -> Rule:
    return re.compile(rf"(?<![\w/.@-]){pattern}(?![\w/@]|-\w)", re.IGNORECASE), resolve


_LEAD = r"(?P<lead>on|by|until|till|before|since|due|starting|from|after)"
_NEAR = r"(?P<which>next|this|last|previous)"
_NTH = r"(?P<number>\d{1,2})(?:st|nd|rd|th)"
_BARE_DAY = (
    rf"(?P<day>{_DAY})(?!,? (?:the )?\d)(?!,? {_MONTH}\b)"
    r"(?! (?:next|this|last|of)\b)(?! (?:morning|afternoon|evening)s\b)"
)
_MONTH_DAY = (
    rf"(?:(?-i:(?P<month>{_MONTH}))\.?[ -](?P<number>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<number2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?-i:(?P<month2>{_MONTH}))\b){_NO_YEAR}"
)
_FROM = r"(?P<way>ago|(?:from|after|before)(?= (?:now|today|tomorrow|yesterday)\b))"
_UNITS = r"(?P<unit>weekend|week|month|quarter|year)"

RULES: tuple[Rule, ...] = (
    _rule(
        r"(?:(?:the )?day (?P<beyond>after|before) )?(?P<day>today|tomorrow|tmrw|yesterday)",
        _simple,
    ),
    _rule(r"(?P<part>tonight|last night|this (?:morning|afternoon|evening))", _part_of_day),
    _rule(rf"(?P<span>{_SPAN}) {_FROM}(?: (?P<base>now|today|tomorrow|yesterday))?", _counted),
    _rule(rf"in (?P<span>{_SPAN})(?:['’] time)?", _in_span),
    _rule(rf"(?<!the ){_WHICH} (?P<day>{_DAY})(?! of\b)(?! in\b)", _weekday),
    _rule(rf"(?:on )?(?P<day>{_DAY}),? (?:of )?{_NEAR} week", _weekday_of_week),
    _rule(rf"{_NEAR} week(?:'s)?,? (?:on )?(?P<day>{_DAY})", _weekday_of_week),
    _rule(rf"{_LEAD} {_BARE_DAY}", _cued_weekday),
    _rule(rf"(?:{_LEAD} )?(?:{_DAY},? )?(?:the )?{_MONTH_DAY}", _month_day),
    _rule(rf"(?:{_LEAD} )?(?P<day>{_DAY}),? the {_NTH}(?! of\b)", _numbered_day),
    _rule(rf"{_LEAD} the {_NTH}(?P<day>)(?! (?:of\b|\w))", _numbered_day),
    _rule(rf"(?:the )?{_NTH} of {_NEAR} month", _day_of_month),
    _rule(
        rf"(?:the )?(?P<nth>{'|'.join(_ORDINALS)}) (?P<day>{_DAY}) (?:of|in) {_NEAR} month",
        _nth_weekday,
    ),
    _rule(rf"(?<!the )(?<!every ){_NEAR} {_UNITS}(?! of\b)(?!['’]?s? (?:on )?\w+day\b)", _period),
    _rule(rf"the {_UNITS} after (?:the )?next", _after_next),
    _rule(
        r"(?:the )?(?P<edge>end|start|beginning) of (?P<which>the|this|next|last) (?P<unit>month|quarter|year)(?! of\b)",
        _edge,
    ),
    _rule(rf"(?P<which>next|last|this) (?-i:(?P<month>{_MONTH}))(?!\.? ?\d)", _named_month),
)
