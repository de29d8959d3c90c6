"""Rough periods in a question: "a couple of days ago", "in the past three months", "two weekends ago".

Used for searching only: a saved text gets a date only where it names one exactly (`dates`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from reverie.text.days import ALL_NAMES, ENGLISH, months_on

# The first day of a period and the day after its last.
Period = tuple[date, date]

_COUNTS = {word: count for names in ALL_NAMES for word, count in names.numbers.items()}
# The least and the most that a vague number means.
_VAGUE = {
    r"(?:a )?couple(?: of)?|ein paar|un par de|una? par de": (1.0, 4.0),
    r"(?:a )?few|several|some|einige[nr]?|mehrere[nr]?|quelques|plusieurs|algun[oa]s|varios|varias": (
        2.0,
        6.0,
    ),
    r"half an?|einem halben|medio": (0.4, 0.6),
}
_UNITS = {
    "day": r"days?|tage?n?|jours?|días?|dias?",
    "week": r"weeks?|wochen?|semaines?|semanas?",
    "weekend": r"weekends?",
    "month": r"months?|monate?n?|mois|mes(?:es)?",
    "quarter": r"quarters?|quartale?n?|trimestres?",
    "year": r"years?|jahre?n?|ans?|années?|años?",
}
_DAYS = {"day": 1.0, "week": 7.0, "weekend": 7.0, "month": 30.4, "quarter": 91.3, "year": 365.2}
_WEEKDAYS = tuple(name.lower() for name in ENGLISH.weekdays)
_MONTHS = tuple(name[:3].lower() for name in ENGLISH.months)


def periods(text: str, today: date) -> tuple[list[Period], str]:
    """The rough periods that a text names, and the text with blanks in their places."""
    found: list[Period] = []
    for pattern, read in _rules():
        for match in pattern.finditer(text):
            period = read(match, today)
            if period is not None:
                found.append(period)
                start, end = match.span()
                text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return found, text


def _amount(said: str) -> tuple[float, float]:
    """The least and the most a number or a vague word means."""
    plain = said.strip().lower()
    if plain.isdigit():
        return float(plain), float(plain)
    if plain in _COUNTS:
        return float(_COUNTS[plain]), float(_COUNTS[plain])
    return next(
        (amount for words, amount in _VAGUE.items() if re.fullmatch(words, plain)), (1.0, 1.0)
    )


def _unit(match: re.Match[str]) -> str:
    return next(name for name in _UNITS if match[name])


def _ago(match: re.Match[str], today: date) -> Period | None:
    """A time ago, give or take half a unit if the number is exact."""
    unit, (least, most) = _unit(match), _amount(match["count"])
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 + 7 * (round(least) - 1))
        return saturday, saturday + timedelta(days=2)
    # Counted days are certain: the grammar of dates reads them.
    if unit == "day" and least == most:
        return None
    slack = 0.5 if least == most else 0.0
    length = _DAYS[unit]
    return _span(today, -length * (most + slack), -length * (least - slack) + 1)


def _lately(match: re.Match[str], today: date) -> Period | None:
    """A period up to now: "in the past three months"."""
    _, most = _amount(match["count"] or "a")
    return _span(today, -_DAYS[_unit(match)] * most, 1)


def _weekday(match: re.Match[str], today: date) -> Period | None:
    """ "Three Fridays ago"."""
    day = _WEEKDAYS.index(match["weekday"].lower())
    nearest = (today.weekday() - day) % 7 or 7
    count = round(_amount(match["count"])[0])
    return _span(today, -nearest - 7 * (count - 1), -nearest - 7 * (count - 1) + 1)


def _past_weekend(match: re.Match[str], today: date) -> Period | None:
    saturday = today - timedelta(days=(today.weekday() - 5) % 7)
    return saturday, saturday + timedelta(days=2)


def _part_of_month(match: re.Match[str], today: date) -> Period | None:
    """ "Mid February", "the end of May": a third of the month, and some days around it."""
    number = _MONTHS.index(match["month"][:3].lower()) + 1
    year = int(match["year"]) if match["year"] else today.year - (number > today.month)
    first = date(year, number, 1)
    part = match["part"].lower()
    if part in {"early", "beginning", "start"}:
        return first, first + timedelta(days=12)
    if part in {"mid", "middle"}:
        return first + timedelta(days=8), first + timedelta(days=22)
    return first + timedelta(days=18), months_on(first, 1)


def _span(today: date, start: float, end: float) -> Period | None:
    try:
        return today + timedelta(days=round(start)), today + timedelta(days=round(end))
    except OverflowError:
        return None


Read = Callable[[re.Match[str], date], Period | None]


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], Read], ...]:
    """Compiled on first use, to keep start-up fast."""
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _written_rules())


def _written_rules() -> Iterator[tuple[str, Read]]:
    vague = "|".join(_VAGUE)
    count = rf"(?P<count>\d{{1,3}}|{vague}|{'|'.join(_COUNTS)})"
    unit = "|".join(rf"(?P<{name}>{words})" for name, words in _UNITS.items())
    yield rf"\b{count} ?(?:{unit}) (?:ago|back|earlier)\b(?! than)", _ago
    yield rf"\b(?:vor|il y a|hace) {count} ?(?:{unit})\b", _ago
    since = r"in|over|during|within|for|from|across|throughout"
    yield (
        rf"\b(?:(?:{since}) (?:the |these |my )?(?:last|past)|the (?:last|past)) (?:{count} )?(?:{unit})\b"
        r"(?! of\b)",
        _lately,
    )
    # Without a number these are exact, and the grammar of dates reads them.
    yield rf"\b(?:last|past) (?!a )(?!last ){count} (?:{unit})\b", _lately
    yield rf"\bin den (?:letzten|vergangenen) {count} (?:{unit})\b", _lately
    yield rf"\b(?:ces|les) {count} (?:derniers|dernières) (?:{unit})\b", _lately
    yield rf"\b(?:los|las) (?:últimos|últimas) {count} (?:{unit})\b", _lately
    weekdays = "|".join(_WEEKDAYS)
    yield rf"\b{count} (?P<weekday>{weekdays})s? ago\b", _weekday
    yield r"\b(?:the |this )?past weekend\b", _past_weekend
    yield (
        r"\b(?:the )?(?P<part>early|mid|late|beginning|start|middle|end)[ -](?:of |in )?"
        rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-z]*)\b(?:,? (?P<year>(?:19|20)\d\d))?(?! \d)",
        _part_of_month,
    )
