"""Calendar words of four languages (months, weekdays, numbers, units) and date arithmetic."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The calendar words of one language; `units` are regular expressions for each unit's forms."""

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    numbers: Mapping[str, int]
    units: Mapping[str, str]
    # Short forms; those that are also words ("sat", "mar") need a capital.
    short_months: tuple[str, ...] = ()

    @property
    def month(self) -> str:
        """A regular expression for any month, long forms first."""
        return f"(?:{'|'.join((*self.months, *self.short_months))})"

    @property
    def weekday(self) -> str:
        return f"(?:{'|'.join(self.weekdays)})"

    @property
    def number(self) -> str:
        return rf"(?:\d{{1,3}}|{'|'.join(sorted(self.numbers, key=len, reverse=True))})"

    @property
    def unit(self) -> str:
        return f"(?:{'|'.join(self.units.values())})"

    def count(self, word: str) -> int:
        return int(word) if word.isdigit() else self.numbers[word.lower()]


def _numbers(words: str) -> dict[str, int]:
    """Parse `a an one 1 …`: the words before a number have its value."""
    found: dict[str, int] = {}
    waiting: list[str] = []
    for word in words.split():
        if word.isdigit():
            found |= dict.fromkeys(waiting, int(word))
            waiting = []
        else:
            waiting.append(word)
    return found


ENGLISH = Names(
    (
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December"),
    ),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    _numbers(
        "a an one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12"
    ),
    {"working": "(?:business|working) days?"}
    | {name: f"{name}s?" for name in ("day", "week", "fortnight", "month", "year")},
    ("Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sept?", "Oct", "Nov", "Dec"),
)
GERMAN = Names(
    (
        *("Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"),
        *("September", "Oktober", "November", "Dezember"),
    ),
    ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    _numbers(
        "einem einer einen eine ein 1 zwei 2 drei 3 vier 4 fünf 5 sechs 6 sieben 7 acht 8 neun 9 zehn 10"
    ),
    {
        "working": "(?:Werk|Arbeits)tagen?",
        "day": "Tage?n?",
        "week": "Wochen?",
        "month": "Monate?n?",
        "year": "Jahre?n?",
    },
)
FRENCH = Names(
    (
        *("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août"),
        *("septembre", "octobre", "novembre", "décembre"),
    ),
    ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    _numbers("un une 1 deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10"),
    {"day": "jours?", "week": "semaines?", "month": "mois", "year": "ans?"},
)
SPANISH = Names(
    (
        *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto"),
        *("septiembre", "setiembre", "octubre", "noviembre", "diciembre"),
    ),
    ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    _numbers("un una 1 dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10"),
    {"day": "días?", "week": "semanas?", "month": "mes(?:es)?", "year": "años?"},
)
ALL_NAMES = (ENGLISH, GERMAN, FRENCH, SPANISH)

# No word means two different months, so one table serves all languages.
_STEMS = (
    *("jan enero jän", "feb fév", "mar mär", "apr avr abr", "may mai", "jun juin"),
    *("jul juil", "aug aoû ago", "sep set", "oct okt", "nov", "dec dez déc dic"),
)
_MONTH_STEMS = {stem: at for at, stems in enumerate(_STEMS, 1) for stem in stems.split()}
_WEEKDAYS = {name.lower(): at for names in ALL_NAMES for at, name in enumerate(names.weekdays)}


def month_number(word: str) -> int:
    """1 to 12 for a month's name in any of the languages, long or short."""
    folded = word.lower()
    return next(_MONTH_STEMS[folded[:size]] for size in (5, 4, 3) if folded[:size] in _MONTH_STEMS)


def weekday_number(word: str) -> int:
    """0 for a Monday to 6 for a Sunday, in any of the languages."""
    return _WEEKDAYS[word.lower()]


def shifted(day: date, number: int, unit: str) -> date:
    """Add units to a day (or subtract); raises like `date` beyond its range."""
    if unit.startswith(("business", "working")):
        return working_days_on(day, number)
    if unit.startswith("month"):
        return months_on(day, number)
    if unit.startswith("year"):
        return months_on(day, 12 * number)
    return day + timedelta(days=number * {"d": 1, "w": 7, "f": 14}[unit[0]])


def months_on(day: date, number: int) -> date:
    """Add months to a day; a month that is too short gives its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + number, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def working_days_on(day: date, number: int) -> date:
    """Add days, not counting Saturdays and Sundays."""
    step = 1 if number > 0 else -1
    for _ in range(abs(number)):
        day += timedelta(days=step)
        while day.weekday() > 4:
            day += timedelta(days=step)
    return day


def nearest(month: int, number: int, today: date, *, future: bool) -> date | None:
    """The first such day from today on, or the last one until today."""
    for step in range(9):
        day = day_or_none(today.year + (step if future else -step), month, number)
        if day and (day >= today if future else day <= today):
            return day
    return None


def nearest_month(month: int, today: date, *, future: bool) -> str:
    """The first such month from this one on, or the last one until this one: `2027-03`."""
    turned = month < today.month if future else month > today.month
    return f"{today.year + (turned if future else -turned)}-{month:02d}"


def day_or_none(year: int, month: int, number: int) -> date | None:
    """A date, or None for one that does not exist, such as 31 November."""
    try:
        return date(year, month, number)
    except ValueError:
        return None


def monday_of(day: date) -> date:
    """The Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def period(day: date, unit: str, step: int) -> str:
    """The week, month, quarter or year `step` after that of a day, as written in a memory."""
    match unit:
        case "week" | "weekend":
            monday = monday_of(day) + timedelta(days=7 * step)
            first = monday if unit == "week" else monday + timedelta(days=5)
            return f"the {unit} of {first.isoformat()}"
        case "month":
            return months_on(day.replace(day=1), step).strftime("%Y-%m")
        case "quarter":
            year, quarter = divmod(day.year * 4 + (day.month - 1) // 3 + step, 4)
            return f"{year}-Q{quarter + 1}"
        case _:
            return str(day.year + step)
