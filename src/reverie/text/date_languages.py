"""Dates in German, French and Spanish, in their unambiguous forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache, partial

from reverie.text.date_cues import ENGLISH_CUES, Cues, Direction, Place, Resolve, Rule
from reverie.text.date_grammar import RULES
from reverie.text.date_parts import (
    FRENCH_PARTS,
    GERMAN_PARTS,
    SPANISH_PARTS,
    range_of_days,
    rules_of,
)
from reverie.text.date_phrases import ENGLISH, LANGUAGES, Language, word_set
from reverie.text.days import (
    FRENCH,
    GERMAN,
    SPANISH,
    monday_of,
    month_number,
    nearest,
    nearest_month,
    period,
    shifted,
    weekday_number,
)

# A sample of this size is enough to recognise the language.
_SAMPLE = 4_000
_PARTS = {GERMAN: GERMAN_PARTS, FRENCH: FRENCH_PARTS, SPANISH: SPANISH_PARTS}


def rules_for(text: str) -> tuple[tuple[Rule, ...], Cues]:
    """The rules and cues for the language of a text; English by default."""
    words = set(re.findall(r"\w+", text[:_SAMPLE].lower()))
    scores = [len(words & _distinctive(language)) for language in LANGUAGES]
    best = max(scores)
    if not best or scores.count(best) > 1 or best <= len(words & ENGLISH):
        return RULES, ENGLISH_CUES
    chosen = LANGUAGES[scores.index(best)]
    named = words & _names(chosen)
    # Two function words, or one and a month or weekday that only this language has.
    if best < 2 and not named:
        return RULES, ENGLISH_CUES
    return _rules_of(chosen), _cues_of(chosen)


def _names(language: Language) -> frozenset[str]:
    return frozenset(name.lower() for name in (*language.names.months, *language.names.weekdays))


def _distinctive(language: Language) -> frozenset[str]:
    return language.common | _NAMES_OF_ONE[language]


_NAMES_OF_ONE = {
    one: _names(one).difference(
        *(_names(other) for other in LANGUAGES if other is not one),
        # Also English words, or names of people.
        word_set("april august september november mars domingo"),
    )
    for one in LANGUAGES
}


@lru_cache(maxsize=len(LANGUAGES))
def _rules_of(language: Language) -> tuple[Rule, ...]:
    """Compiled on first use, since most languages are never needed."""
    return tuple(_written(language))


@lru_cache(maxsize=len(LANGUAGES))
def _cues_of(language: Language) -> Cues:
    habit, future, past, neither = language.cues
    return Cues(
        re.compile(rf"\b(?:{habit})\b", re.IGNORECASE),
        re.compile(
            rf"\b(?:{neither})\b|\b(?P<future>{future})\b|\b(?P<past>{past})\b", re.IGNORECASE
        ),
        present=re.compile(rf"\b(?:{language.present})\b", re.IGNORECASE),
    )


def _written(language: Language) -> Iterator[Rule]:
    names = language.names
    day, number = f"(?P<day>{names.weekday})", f"(?P<number>{names.number})"
    unit = f"(?P<unit>{names.unit})"

    def rule(pattern: str, resolve: Resolve) -> Rule:
        return re.compile(rf"(?<![\w/.@-])(?:{pattern})(?![\w/@(]|-\w)", re.IGNORECASE), resolve

    def filled(pattern: str) -> str:
        for key, value in (("day", day), ("number", number), ("unit", unit)):
            pattern = pattern.replace(f"{{{key}}}", value)
        return pattern.replace("{weekday}", names.weekday).replace("{month}", names.month)

    for pattern, offset in language.offsets:
        yield rule(pattern, partial(_offset, language, offset))
    for patterns, side in ((language.next_day, 1), (language.last_day, -1)):
        for pattern in patterns:
            yield rule(filled(pattern), partial(_weekday, language, side))
    yield rule(filled(language.ahead), partial(_counted, language, 1))
    yield rule(filled(language.ago), partial(_counted, language, -1))
    yield rule(filled(language.coming), partial(_coming, language))
    for pattern, step in language.weeks:
        yield rule(pattern, partial(_week, language, step))
    for pattern, step in language.months:
        yield rule(pattern, partial(_month, language, step))
    written = filled(language.date)
    second = written.replace("<number>", "<number2>").replace("<month>", "<month2>")
    for lead, joint in language.ranges:
        yield rule(rf"(?P<lead>{lead}){written}(?P<joint>{joint}){second}", range_of_days)
    leads = "|".join((language.leads_ahead, language.leads_back, language.leads))
    yield rule(
        rf"(?P<lead>{leads}|)(?:{names.weekday},? (?:dem |den |le |el )?)?{written}",
        partial(_day_of_month, language),
    )
    yield rule(
        filled(rf"(?P<lead>{language.month_leads})(?P<month>{{month}})(?!\.? ?\d)"),
        partial(_limit_month, language),
    )
    yield rule(filled(language.weekday), partial(_cued_weekday, language))
    yield rule(filled(language.within), partial(_within, language))
    yield from rules_of(_PARTS[names])


def _offset(language: Language, days: int, place: Place) -> str:
    day = (place.today + timedelta(days=days)).isoformat()
    return f"{language.on}{day}" if place.opens_a_sentence else day


def _weekday(language: Language, side: int, place: Place) -> str:
    wanted, now = weekday_number(place["day"]), place.today.weekday()
    if side > 0:
        day = monday_of(place.today) + timedelta(days=7 + wanted)
    else:
        day = place.today - timedelta(days=(now - wanted) % 7 or 7)
    return f"{language.on}{day.isoformat()}"


def _later(language: Language, side: int, place: Place) -> date:
    names = language.names
    many = names.count(place["number"])
    unit = next(
        kind for kind, forms in names.units.items() if re.fullmatch(forms, place["unit"], re.I)
    )
    return shifted(place.today, side * many, unit)


def _counted(language: Language, side: int, place: Place) -> str:
    return f"{language.on}{_later(language, side, place).isoformat()}"


def _within(language: Language, place: Place) -> str | None:
    """`in zwei Wochen`, which is also how long something takes."""
    return _counted(language, 1, place) if place.direction == "future" else None


def _coming(language: Language, place: Place) -> str | None:
    if place.direction in {"past", "habit"}:
        return None
    span = " ".join(place.match[part] for part in ("head", "number", "unit"))
    return f"{span} {language.until}{_later(language, 1, place).isoformat()}"


def _week(language: Language, step: int, place: Place) -> str:
    monday = monday_of(place.today) + timedelta(days=7 * step)
    # "Ab nächster Woche".
    dative = place.match[0].partition(" ")[0].endswith("er")
    week = "der Woche vom " if dative and language.names is GERMAN else language.week_of
    return f"{week}{monday.isoformat()}"


def _month(language: Language, step: int, place: Place) -> str:
    month = period(place.today, "month", step)
    return f"{language.in_month}{month}" if place.is_adverb else month


def _leaning(language: Language, place: Place) -> Direction | None:
    said, lead = place.direction, place["lead"]
    if lead and re.fullmatch(language.leads_back, lead, re.I):
        return "past"
    if said == "habit" and not (
        lead[:2] in {"ab", "à ", "a "} and place.match["lead"][0].isupper()
    ):
        return None
    if said == "habit":
        return "future"
    if lead and (re.fullmatch(language.leads_ahead, lead, re.I) or lead in _WEEKDAY_AHEAD):
        return said or "future"
    return said


# These have no article before a weekday.
_WEEKDAY_AHEAD = frozenset(
    {"jusqu'à ", "jusqu’à ", "à partir de ", "dès ", "d'ici ", "d’ici ", "au plus tard "}
)


def _day_of_month(language: Language, place: Place) -> str | None:
    direction = _leaning(language, place) or ("future" if place.is_present else None)
    if direction is None:
        return None
    number = int(place["number"].removesuffix("er"))
    day = nearest(month_number(place["month"]), number, place.today, future=direction == "future")
    return f"{place.match['lead']}{day.isoformat()}" if day else None


def _limit_month(language: Language, place: Place) -> str | None:
    """`bis März`, `à partir de septembre`, `desde enero`: the whole month."""
    if place.direction in ("habit", "past") and place["lead"] not in language.since:
        return None
    month = month_number(place["month"])
    ahead = place["lead"] not in language.since
    return f"{place.match['lead']}{nearest_month(month, place.today, future=ahead)}"


_WORKING_WEEK: Callable[[str], re.Match[str] | None] = re.compile(
    rf"\b(?:{GERMAN.weekday}|{FRENCH.weekday}|{SPANISH.weekday}|le|du|de|au|von)\s+$", re.IGNORECASE
).search


def _cued_weekday(language: Language, place: Place) -> str | None:
    """A weekday in the direction of the sentence; `le lundi` and `lundi à vendredi` are habits."""
    direction = "past" if place["lead"] in {"seit ", "depuis "} else _leaning(language, place)
    if direction is None or direction == "habit" or _WORKING_WEEK(place.before):
        return None
    wanted, now = weekday_number(place["day"]), place.today.weekday()
    ahead = direction == "future"
    shift = (wanted - now) % 7 if ahead else -((now - wanted) % 7)
    day = place.today + timedelta(days=shift)
    lead = place.match["lead"]
    return f"{lead}{day.isoformat()}" if lead else f"{language.on}{day.isoformat()}"
