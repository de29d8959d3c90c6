"""Reads the values of a text: times, days, sums, durations, how often, shares, measures and other figures.

The same value is written in many ways: "three quarters of an hour" and "45 min", "half past four" and
"16:30", "twice a year" and "every six months", "a tenth" and "10 %". Words for numbers, months and units
become figures and marks first ("4 <part1/4>"); then each value is read as its dimension and what it may
stand for: "half past four" is 4:30 or 16:30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from reverie.text.lexicon import folded
from reverie.text.numerals import number_words
from reverie.text.word_classes import FOLDER

Dimension: TypeAlias = Literal[
    "time", "date", "weekday", "sum", "duration", "rate", "share", "measure", "number"
]
DIMENSIONS: tuple[Dimension, ...] = (
    *("time", "date", "weekday", "sum", "duration"),
    *("rate", "share", "measure", "number"),
)
# Longer texts are read by their beginning.
_LONGEST = 600
_DAY = 86_400
_YEAR = 360 * _DAY
_OF_LANGUAGE = {
    "french": {"an": f"<span{_YEAR}>"},
    "spanish": {"mes": f"<span{30 * _DAY}>"},
}
_PHRASES = (
    (r"\bchristmas eve\b|\bheilig abend\b|\bveille de noel\b", "<date/12/24>"),
    (r"\bnew year'?s eve\b|\bsaint[- ]sylvestre\b", "<date/12/31>"),
    (r"\bnew year'?s day\b|\bnouvel an\b|\bano nuevo\b", "<date/1/1>"),
    (r"\bapres-midi\b|\bp\.m\b\.?", "pm"),
    (r"(?<=\d) ?a\.m\b\.?", " am"),
    (r"\bper cent\b|\bpour cent\b|\bpor ciento\b", "percent"),
    (r"\b(?:anderthalb|eineinhalb)\b", "1.5"),
    (r"\b(an?|1) (hour|day|week|month|year) and a half\b", r"1.5 \2"),
    (r"\b(?:a|one|une?) (?:third)(?= (?:of|off|more|less|extra))", "1 <part1/3>"),
    (
        r"\b(?:a|one|une?) (?:fifth|quinto|cinquieme)(?= (?:of|off|more|less|extra|de|des|du)\b)",
        "1 <part1/5>",
    ),
    (
        r"\b(?:a|one|une?) (?:tenth|decimo|dixieme)(?= (?:of|off|more|less|extra|de|des|du)\b)",
        "1 <part1/10>",
    ),
    (r"\btwice\b", "2 times"),
    (r"\bonce (?=an? |per |every |each )", "1 times "),
    (r"\b(\w+)tagen\b", r"\1 tagen"),
)
_TIMES = "times|mal|fois|x|veces|vez"
_ONE = "an?|eine?[nrsm]?|une?|una?"
_MONTH = r"<m(?:onth|aybe)(?P<month>\d+)>\.?"
_IN_YEAR = r"(?:,? (?:de |del )?(?P<year>(?:19|20)\d\d))?"
_PART = (
    r"(?: ?(?:in the |in der |am |de la |de l'|du |o'clock )?(?P<part><late>|<early>|am\b(?! <)))?"
)
_NUMBER = r"(?<![\w.,])(?P<number>\d+(?:[.,]\d+)*)"
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


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the values of two texts compare."""

    common: int
    # The dimensions in which each text has a value that the other does not have.
    clashing: frozenset[str]
    # How many values each text has alone.
    ours: int
    theirs: int


def compare_values(ours: Sequence[Value], theirs: Sequence[Value]) -> Agreement:
    """Match the values of two texts, each once."""
    mine, other = list(ours), list(theirs)
    common = 0
    for alike in (_same, _same_figure):
        for one in list(mine):
            found = next((two for two in other if alike(one, two)), None)
            if found is not None:
                mine.remove(one)
                other.remove(found)
                common += 1
    both = {one.dimension for one in mine} & {two.dimension for two in other}
    return Agreement(common, frozenset(both), len(mine), len(other))


def _same(one: Value, two: Value) -> bool:
    if one.dimension == two.dimension == "date":
        return any(_one_day(a, b) for a in one.meant for b in two.meant)
    return one.dimension == two.dimension and not one.meant.isdisjoint(two.meant)


def _one_day(ours: str, theirs: str) -> bool:
    """Whether two days may be one: a year or a day that only one text names does not count."""
    mine, other = (one.split("/") for one in (ours, theirs))
    return all(not a or not b or a == b for a, b in zip(mine, other, strict=True))


def _same_figure(one: Value, two: Value) -> bool:
    """ "105" and "105 euros": one of the two has no unit."""
    plain = "number" in (one.dimension, two.dimension) and one.dimension != two.dimension
    return plain and one.figure == two.figure != ""


@lru_cache(maxsize=16_384)
def values_in(text: str, language: str) -> tuple[Value, ...]:
    """The values of a text; each part of it is read once."""
    marked = _marked(folded(text[:_LONGEST]).lower(), language)
    found: list[Value] = []
    for pattern, read in _readers():
        rest, at = [], 0
        for match in pattern.finditer(marked):
            value = read(match)
            if value is None:
                continue
            found.append(value)
            rest.append(marked[at : match.start()])
            at = match.end()
        if at:
            marked = " ; ".join([*rest, marked[at:]])
    return tuple({(one.dimension, one.meant): one for one in found}.values())


_WORD = re.compile(r"[^\W\d_]+|[€$£%°]")
_CODE = re.compile(r"https?://\S+|\S+@\S+|`[^`]*`|\b\w+\.[a-z]\w+\b")
_COUNT = re.compile(
    r"\b(?P<many>\d+|an?|ein) ?(?P<unit>thousand|tausend|mille?)\b(?:,? (?:and )?(?P<rest>\d{1,3}\b))?"
    r"|\b(?P<hundreds>[1-9]00) (?:and )?(?P<tens>\d{1,2})\b(?! ?[-:.,/]?\d)"
)
_DOZEN = re.compile(r"\b(?:an?|one|ein|une?|una|1)? ?(?:dozen|dutzend|douzaine|docena)\b(?: de\b)?")
_LARGE = re.compile(rf"{_NUMBER} ?(?P<unit>k|mio|million|millions|millionen|millones)\b")
_GROUP = re.compile(r"(?<=\d)[ ,.' ](?=\d{3}(?!\d))")


def _marked(text: str, language: str) -> str:
    """The text with figures for number words, and marks for months, units and parts of the day."""
    text = _CODE.sub(" ; ", text)
    for pattern, mark in _phrases():
        text = pattern.sub(mark, text)
    known = number_words(language)
    text = _several_words(language).sub(lambda match: str(known[match[0]]), text)
    text = _WORD.sub(lambda match: str(known.get(match[0], match[0])), text)
    text = _DOZEN.sub(" 12", _COUNT.sub(_counted, re.sub(r"\ba (?=100\b)", "", text)))
    decimal = "." if language == "english" else ","
    text = _GROUP.sub(lambda match: match[0] if match[0] == decimal else "", text)
    text = _LARGE.sub(_enlarged, text)
    marks = _marks(language)
    return _WORD.sub(lambda match: marks.get(match[0], match[0]), text)


@cache
def _marks(language: str) -> dict[str, str]:
    lines = (FOLDER / "values.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ") for line in lines if not line.startswith("#"))
    found = {word: f"<{mark}>" for mark, words in pairs for word in words.split()}
    return found | _OF_LANGUAGE.get(language, {})


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), mark) for pattern, mark in _PHRASES]


@cache
def _several_words(language: str) -> re.Pattern[str]:
    """Numbers of several words: "twenty-one", "treinta y dos"."""
    parts = [re.escape(word) for word in number_words(language) if not word.isalpha()]
    return re.compile(rf"\b(?:{'|'.join(parts)})\b" if parts else r"(?!)")


def _counted(match: re.Match[str]) -> str:
    """ "2 thousand 500" is 2500, "300 and 50" is 350."""
    if match["hundreds"]:
        return str(int(match["hundreds"]) + int(match["tens"]))
    many = int(match["many"]) if match["many"].isdigit() else 1
    return str(many * 1_000 + int(match["rest"] or 0))


def _enlarged(match: re.Match[str]) -> str:
    return _plain(_size(match["number"]) * (1_000 if match["unit"] == "k" else 1_000_000))


Reader: TypeAlias = Callable[[re.Match[str]], "Value | None"]


@cache
def _readers() -> list[tuple[re.Pattern[str], Reader]]:
    """What is read first is taken out: "every 2 weeks" is how often, not how long."""
    return [(re.compile(pattern), read) for pattern, read in _patterns()]


def _patterns() -> Iterator[tuple[str, Reader]]:
    yield r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _date
    yield r"\b(?P<day>\d{1,2})[/.](?P<month>\d{1,2})[/.](?P<year>(?:19|20)?\d\d)\b", _date
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
        rf"\blas? (?P<hour>\d{{1,2}})(?: y <part1/(?P<past>[24])>| (?P<to>menos) <part1/4>)?\b(?![\d:]|\.\d)(?! \d){_PART}",
        _time,
    )
    yield r"\b(?P<hour>\d{1,2}) ?(?P<part><late>|<early>|am\b(?! <))", _time
    yield (
        rf"\b(?:{_BEFORE_TIME}) (?P<hour>\d{{1,2}})\b(?![:.,]\d|[°€$£-]| ?<(?:%|sum|x|span)| of\b| [a-z]{{3,}}s\b){_PART}",
        _time,
    )
    yield r"<time(?P<clock>[\d:]+)>", lambda match: _one("time", match["clock"])
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
    yield (
        rf"<sum (?P<name>\w+)> ?{_NUMBER}|(?<![\w.,])(?P<before>\d+(?:[.,]\d+)*) ?<sum (?P<after>\w+)>",
        _sum,
    )
    yield rf"{_NUMBER} ?<%>|{_NUMBER.replace('number', 'sign')} ?%", _percent
    yield r"\b1 (?:in|out of|of) (?P<of>\d+)\b", lambda match: _share(1 / max(1, int(match["of"])))
    yield (
        rf"(?:\b(?P<many>\d|{_ONE}) )?<part(?P<part>[\d/]+)>[ -]?(?:of )?(?:an? |d')?<span(?P<span>\d+)>",
        _part_of_span,
    )
    yield rf"{_NUMBER} ?-?<span(?P<span>\d+)>(?: (?:and a|et|y) (?P<more><part1/2>))?", _duration
    yield (
        rf"\b(?:{_ONE}) <span(?P<span>\d+)>(?! (?:of|off|on)\b)",
        lambda match: _spanned(int(match["span"])),
    )
    yield rf"(?:\b(?P<many>\d|{_ONE}) )?<part(?P<part>[\d/]+)>", _part
    yield r"\b(?P<whole>\d|un) ?<x1 metre> ?(?P<rest>\d\d)\b", _height
    yield rf"{_NUMBER} ?-?<x(?P<unit>[\d.]+) (?P<name>\w+)>", _measure
    yield r"<weekday(?P<day>\d)>", lambda match: _one("weekday", match["day"])
    yield (
        rf"\bv?{_NUMBER.replace('(?<![', '(?<![ac-uw-z')}(?:st|nd|rd|th|er|eme|º|ª)?(?!\w)",
        _number,
    )


def _one(dimension: Dimension, *meant: str, figure: str = "") -> Value:
    return Value(dimension, frozenset(meant), figure)


def _size(text: str) -> float:
    whole = text.replace(",", ".")
    return float(whole) if whole.count(".") < 2 else float(whole.split(".")[0])


def _plain(size: float) -> str:
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
    often = float(match["often"]) if match["often"] else _YEAR / int(match["span"])
    return _one("rate", _plain(round(int(match["many"]) * often, 2)))


def _interval(match: re.Match[str]) -> Value:
    got = match.groupdict()
    many = 2 if got.get("other") else int(got.get("many") or 1)
    once = 4.0 if got.get("quarter") else float(got.get("often") or 0)
    return _one("rate", _plain(round((once or _YEAR / int(got["span"])) / many, 2)))


def _sum(match: re.Match[str]) -> Value:
    figure = _plain(_size(match["number"] or match["before"]))
    return _one("sum", f"{figure} {match['name'] or match['after']}", figure=figure)


def _percent(match: re.Match[str]) -> Value:
    figure = _plain(_size(match["number"] or match["sign"]))
    return _one("share", figure, figure=figure)


def _share(part: float) -> Value:
    return _one("share", _plain(100 * part))


def _fraction(match: re.Match[str]) -> float:
    above, _, below = match["part"].partition("/")
    many = int(match["many"]) if (match["many"] or "").isdigit() else 1
    return many * int(above) / int(below)


def _part(match: re.Match[str]) -> Value:
    return _share(_fraction(match))


def _part_of_span(match: re.Match[str]) -> Value:
    return _spanned(_fraction(match) * int(match["span"]))


def _duration(match: re.Match[str]) -> Value:
    many = _size(match["number"]) + (0.5 if match["more"] else 0)
    return _spanned(many * int(match["span"]), _plain(many))


def _spanned(seconds: float, figure: str = "") -> Value:
    """A span of time; six weeks are also a month and a half, 365 days a year."""
    near = {42 * _DAY: 45 * _DAY, 364 * _DAY: _YEAR, 365 * _DAY: _YEAR}.get(int(seconds), seconds)
    return _one("duration", *map(_plain, {seconds, near}), figure=figure)


def _height(match: re.Match[str]) -> Value:
    whole = 1 if match["whole"] == "un" else int(match["whole"])
    return _one("measure", f"{_plain(whole + int(match['rest']) / 100)} metre")


def _measure(match: re.Match[str]) -> Value:
    size = _size(match["number"])
    return _one(
        "measure", f"{_plain(size * float(match['unit']))} {match['name']}", figure=_plain(size)
    )


def _number(match: re.Match[str]) -> Value:
    written = match["number"]
    size = _plain(_size(written)) if written.count(".") < 2 else written
    return _one("number", size, figure=size)
