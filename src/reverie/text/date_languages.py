"""Relative dates in German, French and Spanish: the few shapes that are never ambiguous."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from reverie.text.date_grammar import RULES, Place, Resolve, Rule
from reverie.text.days import monday_of, shifted


@dataclass(frozen=True, slots=True)
class Language:
    """How one language says it; `{day}`, `{number}` and `{unit}` stand for its own words."""

    common: str
    offsets: tuple[tuple[str, int], ...]
    weekdays: str
    numbers: str
    units: str
    next_day: tuple[str, ...]
    last_day: tuple[str, ...]
    ahead: str
    ago: str
    on: str


_ENGLISH = "the and is of to in that for with are was on we it this not"
_LANGUAGES: tuple[Language, ...] = (
    Language(
        common="der die das und ist ein eine nicht wir mit für den dem auf wird am im zu",
        offsets=(
            (r"heute(?! morgen)", 0),
            (r"vorgestern", -2),
            (r"gestern", -1),
            (r"übermorgen", 2),
            # Written small it is tomorrow; after these words it is the morning.
            (r"(?<!heute )(?<!gestern )(?<!jeden )(?-i:morgen)", 1),
        ),
        weekdays="montag dienstag mittwoch donnerstag freitag samstag sonntag",
        numbers="einem 1 einer 1 zwei 2 drei 3 vier 4 fünf 5 sechs 6",
        units="tag(?:en)?|woche(?:n)?|monat(?:en)?|jahr(?:en)?",
        next_day=(r"(?:am )?(?:nächsten|kommenden) {day}",),
        last_day=(r"(?:am )?(?:letzten|vergangenen|vorigen) {day}",),
        ahead=r"heute in {number} {unit}",
        ago=r"vor {number} {unit}",
        on="am ",
    ),
    Language(
        common="le la les des est une un du et dans pour que qui sur avec pas nous au",
        offsets=(
            (r"aujourd['’]hui", 0),
            (r"avant-hier", -2),
            (r"(?<!-)hier", -1),
            (r"après-demain", 2),
            (r"(?<!-)demain", 1),
        ),
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        numbers="un 1 une 1 deux 2 trois 3 quatre 4 cinq 5 six 6",
        units="jours?|semaines?|mois|ans?",
        next_day=(r"(?:le )?{day} prochain",),
        last_day=(r"(?:le )?{day} (?:dernier|passé)",),
        ahead=r"dans {number} {unit}",
        ago=r"il y a {number} {unit}",
        on="le ",
    ),
    Language(
        common="el la los las que es una un y en con para por del no se al lo",
        offsets=(
            (r"hoy", 0),
            (r"anteayer|antes de ayer", -2),
            (r"(?<!de )ayer", -1),
            (r"pasado mañana", 2),
            (r"(?<!la )(?<!cada )(?<!pasado )mañana", 1),
        ),
        weekdays="lunes martes miércoles jueves viernes sábado domingo",
        numbers="un 1 una 1 dos 2 tres 3 cuatro 4 cinco 5 seis 6",
        units="días?|semanas?|mes(?:es)?|años?",
        next_day=(r"(?:el )?próximo {day}", r"(?:el )?{day} que viene"),
        last_day=(r"(?:el )?{day} pasado", r"(?:el )?pasado {day}"),
        ahead=r"dentro de {number} {unit}",
        ago=r"hace {number} {unit}",
        on="el ",
    ),
)
_UNITS = {
    "tag": "day",
    "jour": "day",
    "día": "day",
    "woche": "week",
    "seman": "week",
    "semai": "week",
}
_UNITS |= {
    "monat": "month",
    "moi": "month",
    "mes": "month",
    "jahr": "year",
    "an": "year",
    "año": "year",
}


def rules_for(text: str) -> tuple[Rule, ...]:
    """The rules of the language a text is in; English when nothing else is clear."""
    words = set(re.findall(r"\w+", text.lower()))
    scores = [len(words & set(language.common.split())) for language in _LANGUAGES]
    best = max(scores)
    if best < 2 or scores.count(best) > 1 or best <= len(words & set(_ENGLISH.split())):
        return RULES
    return _RULES[scores.index(best)]


def _compiled(language: Language) -> tuple[Rule, ...]:
    weekday = f"(?P<day>{'|'.join(language.weekdays.split())})"
    numbers = "|".join(language.numbers.split()[::2])
    number, unit = rf"(?P<number>\d{{1,3}}|{numbers})", f"(?P<unit>{language.units})"

    def rule(pattern: str, resolve: Resolve) -> Rule:
        full = pattern.format(day=weekday, number=number, unit=unit)
        return re.compile(rf"(?<![\w/.@]){full}(?![\w/@-])", re.IGNORECASE), resolve

    return (
        *(rule(pattern, partial(_offset, offset)) for pattern, offset in language.offsets),
        *(rule(pattern, partial(_weekday, language, 1)) for pattern in language.next_day),
        *(rule(pattern, partial(_weekday, language, -1)) for pattern in language.last_day),
        rule(language.ahead, partial(_counted, language, 1)),
        rule(language.ago, partial(_counted, language, -1)),
    )


def _offset(days: int, place: Place) -> str:
    return (place.today + timedelta(days=days)).isoformat()


def _weekday(language: Language, side: int, place: Place) -> str:
    wanted, now = language.weekdays.split().index(place["day"]), place.today.weekday()
    if side > 0:
        day = monday_of(place.today) + timedelta(days=7 + wanted)
    else:
        day = place.today - timedelta(days=(now - wanted) % 7 or 7)
    return f"{language.on}{day.isoformat()}"


def _counted(language: Language, side: int, place: Place) -> str:
    words = language.numbers.split()
    number = place["number"]
    many = number if number.isdigit() else words[words.index(number) + 1]
    unit = next(kind for start, kind in _UNITS.items() if place["unit"].startswith(start))
    day = shifted(place.today, side * int(many), unit)
    return f"{language.on}{day.isoformat()}"


_RULES = tuple(_compiled(language) for language in _LANGUAGES)
