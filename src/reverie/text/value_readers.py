"""Reads one value each, from a text in which words for numbers, months and units are figures and marks.

`readers` gives the patterns in the order in which they are tried, each with the function that reads its match
as a dimension and what it may stand for: "4 <part1/2>" past four is 4:30 or 16:30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, get_args

Dimension: TypeAlias = Literal[
    "time", "date", "weekday", "sum", "duration", "rate", "share", "measure", "number"
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
DAY = 86_400
YEAR = 360 * DAY
_TIMES = "times|mal|fois|x|veces|vez"
_ONE = "an?|eine?[nrsm]?|une?|una?"
_MONTH = r"<m(?:onth|aybe)(?P<month>\d+)>\.?"
_IN_YEAR = r"(?:,? (?:de |del )?(?P<year>(?:19|20)\d\d))?"
_PART = (
    r"(?: ?(?:in the |in der |am |de la |de l'|du |o'clock )?(?P<part><late>|<early>|am\b(?! <)))?"
)
NUMBER = r"(?<![\w.,])(?P<number>\d+(?:[.,]\d+)*)"
_BEFORE_TIME = "at|by|um|bis|until|till|before|from|from around|around|ab|gegen|vers|hasta"
_PARTS_OF_MONTH = {
    "1 2 3 4 5": "early|beginning of|start of|anfang|debut|principios de|comienzos de|den 1|1",
    "14 15 16": "mid|middle of|mitte|mi|mediados de",
    "25 28 29 30 31": "late|end of|ende|fin|finales de|fines de|letzten",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A value: its dimension, what it may stand for, and the figure as written."""

    dimension: Dimension
    meant: frozenset[str]
    figure: str = ""


Reader: TypeAlias = Callable[[re.Match[str]], "Value | None"]


@cache
def readers() -> list[tuple[re.Pattern[str], Reader]]:
    """In order, since a match is removed from the text: "every 2 weeks" is how often, not how long."""
    return [(re.compile(pattern), read) for pattern, read in _patterns()]


def _patterns() -> Iterator[tuple[str, Reader]]:
    yield from _date_patterns()
    yield from _time_patterns()
    yield from _rate_patterns()
    yield from _amount_patterns()


def _date_patterns() -> Iterator[tuple[str, Reader]]:
    yield r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _date
    yield r"\b(?P<day>\d{1,2})[/.](?P<month>\d{1,2})[/.](?P<year>(?:19|20)?\d\d)\b", _date
    yield r"\b(?P<month>0?[1-9]|1[0-2])/(?P<year>(?:19|20)\d\d)\b", _date
    yield r"<date(?P<date>[/\d]+)>", lambda match: _one("date", match["date"])
    yield (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)? (?:of |de |du )?{_MONTH}(?! tagen){_IN_YEAR}",
        _date,
    )
    for days, names in _PARTS_OF_MONTH.items():
        yield rf"\b(?:{names})[ -](?:de |d')?{_MONTH}{_IN_YEAR}", _part_of_month(days)
    yield rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?! ?(?:<span|uhr)){_IN_YEAR}", _date
    yield (
        rf"(?:<month(?P<month>\d+)>|\b(?:in|of|until|since|by|till|from|before|after) <maybe(?P<may>5)>)\.?{_IN_YEAR}",
        _date,
    )


def _time_patterns() -> Iterator[tuple[str, Reader]]:
    yield rf"\b(?P<hour>\d{{1,2}})[:.](?P<minute>[0-5]\d)(?!\d|[.:]\d)(?: ?uhr\b)?{_PART}", _time
    yield (
        rf"(?:(?P<at>\b(?:a|des|vers|avant|apres|jusqu'a|entre|et|a las) ))?\b(?P<hour>\d{{1,2}}) ?<span3600>(?: ?(?P<minute>[0-5]\d)\b| et (?P<half><part1/2>))?{_PART}",
        _hour,
    )
    yield rf"\b(?P<hour>\d{{1,2}}) ?(?:uhr|o'clock)(?: (?P<minute>[0-5]\d)\b)?{_PART}", _time
    yield rf"<part1/(?P<past>[24])> (?:past|nach) (?P<hour>\d{{1,2}})\b{_PART}", _time
    yield rf"<part1/4> (?P<to>to|vor) (?P<hour>\d{{1,2}})\b{_PART}", _time
    yield rf"\b(?P<to>halb) (?P<hour>\d{{1,2}})\b(?: uhr)?{_PART}", _time
    yield (
        rf"\blas? (?P<hour>\d{{1,2}})(?: y <part1/(?P<past>[24])>| (?P<to>menos) <part1/4>)?(?!\w)(?![\d:]|\.\d)(?! \d){_PART}",
        _time,
    )
    yield r"\b(?P<hour>\d{1,2}) ?(?P<part><late>|<early>|am\b(?! <))", _time
    yield (
        rf"\b(?:{_BEFORE_TIME}) (?P<hour>\d{{1,2}})\b(?![:.,]\d|[°€$£-]| ?<(?:%|sum|x|span)| of\b| [a-z]{{3,}}s\b){_PART}",
        _time,
    )
    yield r"<time(?P<clock>[\d:]+)>", lambda match: _one("time", match["clock"])


def _rate_patterns() -> Iterator[tuple[str, Reader]]:
    """Frequencies: "twice a week", "every other day", "14-tägig"."""
    yield (
        rf"\b(?P<many>\d+) ?(?:{_TIMES})\b(?: (?:an?|per|every|each|im|pro|in der|am|par|al|a la|por|cada))? (?:<span(?P<span>\d+)>|<often(?P<often>[\d.]+)>)",
        _rate,
    )
    yield (
        r"\b(?:every|each|alle|tous les|toutes les|cada|jede[nrs]?|per|pro) (?:(?P<other>other|zweiten?|<span1>)|(?P<many>\d+))? ?(?:<span(?P<span>\d+)>|<part1/(?P<quarter>4)>)",
        _interval,
    )
    yield (
        r"(?<=euro>|llar>|ound>|ranc>) (?:an?|im|in der|par|al|a la|die|la|le) <span(?P<span>\d+)>",
        _interval,
    )
    yield r"\b(?P<many>\d+)-(?:<span(?P<span>\d+)>|<often(?P<often>[\d.]+)>)", _interval
    yield r"<often(?P<often>[\d.]+)>", _interval


def _amount_patterns() -> Iterator[tuple[str, Reader]]:
    """Sums, shares, durations, measures, days of the week and plain numbers."""
    yield (
        rf"<sum (?P<name>\w+)> ?{NUMBER}|(?<![\w.,])(?P<before>\d+(?:[.,]\d+)*) ?<sum (?P<after>\w+)>",
        _sum,
    )
    yield rf"{NUMBER} ?<%>|{NUMBER.replace('number', 'sign')} ?%", _percent
    yield r"\b1 (?:in|out of|of) (?P<of>\d+)\b", lambda match: _share(1 / max(1, int(match["of"])))
    yield (
        rf"(?:\b(?P<many>\d|{_ONE}) )?<part(?P<part>[\d/]+)>[ -]?(?:of )?(?:an? |d')?<span(?P<span>\d+)>",
        lambda match: _spanned(_fraction(match) * int(match["span"])),
    )
    yield rf"{NUMBER} ?-?<span(?P<span>\d+)>(?: (?:and a|et|y) (?P<more><part1/2>))?", _duration
    yield (
        rf"\b(?:{_ONE}) <span(?P<span>\d+)>(?! (?:of|off|on)\b)",
        lambda match: _spanned(int(match["span"])),
    )
    yield (
        rf"(?:\b(?P<many>\d|{_ONE}) )?<part(?P<part>[\d/]+)>",
        lambda match: _share(_fraction(match)),
    )
    yield r"\b(?P<whole>\d|un) ?<x1 metre> ?(?P<rest>\d\d)\b", _height
    yield rf"{NUMBER} ?-?<x(?P<unit>[\d.]+) (?P<name>\w+)>", _measure
    yield r"<weekday(?P<day>\d)>", lambda match: _one("weekday", match["day"])
    yield (
        rf"\bv?{NUMBER.replace('(?<![', '(?<![ac-uw-z')}(?:st|nd|rd|th|er|eme|º|ª)?(?!\w)",
        _number,
    )


def _one(dimension: Dimension, *meant: str, figure: str = "") -> Value:
    return Value(dimension, frozenset(meant), figure)


def amount(text: str) -> float:
    whole = text.replace(",", ".")
    return float(whole) if whole.count(".") < 2 else float(whole.split(".")[0])


def plain(size: float) -> str:
    return f"{size:.6g}"


def _date(match: re.Match[str]) -> Value | None:
    got = match.groupdict()
    month, day = int(got["month"] or got["may"]), got.get("day")
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    told = f"{(got['year'] or '')[-2:]}/{month}/{int(day) if day else ''}"
    return _one("date", told, figure=day or "")


def _part_of_month(days: str) -> Reader:
    def read(match: re.Match[str]) -> Value:
        month = f"{(match['year'] or '')[-2:]}/{match['month']}"
        return _one("date", *(f"{month}/{day}" for day in days.split()))

    return read


def _time(match: re.Match[str]) -> Value | None:
    got = match.groupdict()
    hour, minute = int(got["hour"]), int(got.get("minute") or 0)
    if hour > 24:
        return None
    if got.get("past"):
        minute = 60 // int(got["past"])
    elif got.get("half"):
        minute = 30
    elif got.get("to"):
        hour, minute = hour - 1, 30 if got["to"] == "halb" else 45
    late = hour % 12 + 12
    hours = {hour}
    if got.get("part") == "<late>":
        hours = {late}
    elif not got.get("part") and not got.get("minute") and 0 <= hour <= 12:
        hours = {hour, late % 24}
    return _one("time", *(f"{one}:{minute:02}" for one in hours), figure=got["hour"])


def _hour(match: re.Match[str]) -> Value | None:
    """ "8 h" is a span, unless a preposition, minutes or a part of the day make it a time."""
    if match["at"] or match["minute"] or match["half"] or match["part"]:
        return _time(match)
    return None


def _rate(match: re.Match[str]) -> Value:
    often = float(match["often"]) if match["often"] else YEAR / int(match["span"])
    return _one("rate", plain(round(int(match["many"]) * often, 2)))


def _interval(match: re.Match[str]) -> Value | None:
    got = match.groupdict()
    many = 2 if got.get("other") else int(got.get("many") or 1)
    if not many:
        return None
    once = 4.0 if got.get("quarter") else float(got.get("often") or 0)
    return _one("rate", plain(round((once or YEAR / int(got["span"])) / many, 2)))


def _sum(match: re.Match[str]) -> Value:
    figure = plain(amount(match["number"] or match["before"]))
    return _one("sum", f"{figure} {match['name'] or match['after']}", figure=figure)


def _percent(match: re.Match[str]) -> Value:
    figure = plain(amount(match["number"] or match["sign"]))
    return _one("share", figure, figure=figure)


def _share(part: float) -> Value:
    return _one("share", plain(100 * part))


def _fraction(match: re.Match[str]) -> float:
    above, _, below = match["part"].partition("/")
    many = int(match["many"]) if (match["many"] or "").isdigit() else 1
    return many * int(above) / int(below)


def _duration(match: re.Match[str]) -> Value:
    many = amount(match["number"]) + (0.5 if match["more"] else 0)
    return _spanned(many * int(match["span"]), plain(many))


def _spanned(seconds: float, figure: str = "") -> Value:
    """A span of time; six weeks are also a month and a half, 365 days a year."""
    near = {42 * DAY: 45 * DAY, 364 * DAY: YEAR, 365 * DAY: YEAR}.get(int(seconds), seconds)
    return _one("duration", *map(plain, {seconds, near}), figure=figure)


def _height(match: re.Match[str]) -> Value:
    whole = 1 if match["whole"] == "un" else int(match["whole"])
    return _one("measure", f"{plain(whole + int(match['rest']) / 100)} metre")


def _measure(match: re.Match[str]) -> Value:
    size = amount(match["number"])
    return _one(
        "measure", f"{plain(size * float(match['unit']))} {match['name']}", figure=plain(size)
    )


def _number(match: re.Match[str]) -> Value:
    written = match["number"]
    size = plain(amount(written)) if written.count(".") < 2 else written
    return _one("number", size, figure=size)
