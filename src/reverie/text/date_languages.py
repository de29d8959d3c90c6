"""Dates in German, French and Spanish, in their unambiguous forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial

from reverie.text.date_cues import ENGLISH_CUES, Cues, Direction, Place
from reverie.text.date_grammar import RULES, Resolve, Rule
from reverie.text.days import (
    FRENCH,
    GERMAN,
    SPANISH,
    Names,
    monday_of,
    month_number,
    nearest,
    period,
    shifted,
    weekday_number,
)


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The date phrases of one language; `{day}`, `{number}`, `{unit}`, `{date}` are placeholders."""

    names: Names
    # Function words that identify the language.
    common: frozenset[str]
    offsets: tuple[tuple[str, int], ...]
    next_day: tuple[str, ...]
    last_day: tuple[str, ...]
    ahead: str
    ago: str
    on: str
    # A day of a month: "1. November", "1er novembre", "1 de noviembre".
    date: str
    # Prepositions before a date, which point forward, back or neither way.
    leads_ahead: str
    leads_back: str
    leads: str
    # Weekday phrases that are dates if the sentence shows past or future.
    weekday: str
    ranges: tuple[tuple[str, str], ...]
    # This, next and last week or month.
    weeks: tuple[tuple[str, int], ...]
    months: tuple[tuple[str, int], ...]
    week_of: str
    coming: str
    until: str
    # Habits, future, past, and words that look like past but show no tense.
    cues: tuple[str, str, str, str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words("the and is of to in that for with are was on we it this not")

_GERMAN = Language(
    names=GERMAN,
    common=_words(
        "der die das und ist ein eine nicht wir mit für den dem auf wird am im zu bis ab seit"
        " vom zum ich kein keine war bei nur gilt sind diese dieser nächste nächsten letzte"
        " letzten woche wochen heute gestern morgen übermorgen monat sich auch noch hat haben"
    ),
    offsets=(
        (r"heute(?! (?:morgen|früh|nacht|abend))", 0),
        (r"vorgestern", -2),
        (r"gestern(?! (?:morgen|früh|nacht|abend))", -1),
        (r"übermorgen", 2),
        # In lower case it means tomorrow; after these words it means the morning.
        (r"(?<!heute )(?<!gestern )(?<!jeden )(?<!guten )(?-i:morgen)(?! früh| abend)", 1),
    ),
    next_day=(r"(?:am )?(?:nächsten|kommenden) {day}",),
    last_day=(r"(?:am )?(?:letzten|vergangenen|vorigen) {day}",),
    ahead=r"heute in {number} {unit}",
    ago=r"vor {number} {unit}",
    on="am ",
    date=r"(?P<number>\d{1,2})\. ?(?-i:(?P<month>{month}))\b(?!\.? ?\d)",
    leads_ahead=r"bis (?:zum |einschließlich )?|ab (?:dem )?|spätestens (?:am |bis )",
    leads_back=r"seit (?:dem )?",
    leads=r"am |vom |zum |den |vor dem |nach dem ",
    weekday=r"(?P<lead>am |bis (?:zum )?|ab |seit |spätestens (?:am |bis ))(?P<day>{weekday})(?!,? (?:dem )?\d| (?:bis|und|oder)\b)",
    ranges=((r"vom ", r" bis (?:zum )?"), (r"zwischen dem ", r" und (?:dem )?")),
    weeks=(
        (r"diese Woche", 0),
        (r"(?<!der )nächste Woche", 1),
        (r"(?<!der )(?:letzte|vorige|vergangene) Woche", -1),
    ),
    months=((r"diesen Monat", 0), (r"nächsten Monat", 1), (r"(?:letzten|vorigen) Monat", -1)),
    week_of="die Woche vom ",
    coming=r"(?P<head>in den|die|für die) nächsten {number} {unit}",
    until="bis ",
    cues=(
        r"jede[nrsm]?|jeweils|immer|nie|niemals|meistens|normalerweise|regelmäßig|täglich|wöchentlich"
        r"|monatlich|jährlich|Geburtstag|Jahrestag|(?:mon|diens|donners|frei|sams|sonn)tags|mittwochs",
        r"wird|werden|werde|geplant|fällig|findet|startet|beginnt|endet|läuft|soll|sollen|kommt"
        r"|(?:Termin|Treffen|Besprechung|Meeting|Release|Launch|Freeze|Demo|Audit|Workshop|Prüfung"
        r"|Konferenz|Wartung|Umzug|Hochzeit|Abgabe|Frist|Abgabetermin) ist",
        r"war|waren|wurde|wurden|hatte|hatten|gab|ging|kam|lief|begann|startete|endete|fiel|sagte"
        r"|(?:hat|haben|ist|sind|bin|habe)\b[^.!?\n]{0,80}?\bge[a-zäöüß]{2,20}(?:t|en)",
        r"(?:ist|sind)\b[^.!?\n]{0,60}?\b(?:geplant|gesperrt|geschlossen|gedacht|geöffnet)",
    ),
)
_FRENCH = Language(
    names=FRENCH,
    common=_words(
        "le la les des est une un du et dans pour que qui sur avec pas nous au jusqu partir"
        " depuis ce cette je on sera avant il en ne prochain prochaine dernier dernière de"
        " semaine aujourd hui demain hier je suis sont ont plus"
    ),
    offsets=(
        (r"aujourd['’]hui", 0),
        (r"avant-hier", -2),
        (r"(?<!-)hier(?! (?:soir|matin))", -1),
        (r"après-demain", 2),
        (r"(?<!-)demain(?! (?:soir|matin))", 1),
    ),
    next_day=(r"(?:le )?{day} prochain",),
    last_day=(r"(?:le )?{day} (?:dernier|passé)",),
    ahead=r"dans {number} {unit}",
    ago=r"il y a {number} {unit}",
    on="le ",
    date=r"(?P<number>1er|\d{1,2}) (?P<month>{month})\b(?! ?\d)",
    leads_ahead=r"jusqu['’]au |à partir du |dès le |d['’]ici le |au plus tard le |avant le ",
    leads_back=r"depuis le ",
    leads=r"le |du |au |pour le |après le ",
    weekday=(
        r"(?P<lead>jusqu['’]à |à partir de |dès |depuis |d['’]ici |au plus tard |ce |)"
        r"(?P<day>{weekday})(?! (?:prochain|dernier|passé|\d|au|à|et|ou|de))"
    ),
    ranges=((r"du ", r" (?:au|jusqu['’]au) "), (r"entre le ", r" et (?:le )?")),
    weeks=(
        (r"cette semaine", 0),
        (r"la semaine prochaine", 1),
        (r"la semaine (?:dernière|passée)", -1),
    ),
    months=((r"ce mois-ci", 0), (r"le mois prochain", 1), (r"le mois (?:dernier|passé)", -1)),
    week_of="la semaine du ",
    coming=r"(?P<head>(?:pendant|pour) les) {number} prochaine?s {unit}",
    until="jusqu'au ",
    cues=(
        r"chaque|tous les|toutes les|toujours|jamais|souvent|d['’]habitude|normalement|anniversaire"
        r"|quotidien\w*|hebdomadaire\w*|mensuel\w*|annuel\w*",
        r"sera|seront|aura|auront|va|vont|allons|commence|commencera|démarre|débute|prévue?s?|doit|doivent"
        r"|expire|se termine|a lieu|aura lieu|\w{3,20}(?:eront|erons)"
        r"|(?:réunion|lancement|démo|audit|atelier|examen|conférence|maintenance|mariage|échéance"
        r"|date limite|entretien|livraison|sortie|gel)\b[^.!?\n]{0,40}? est",
        r"était|étaient|avait|avaient|(?:ai|as|a|avons|avez|ont) (?:été|eu|\w{2,20}(?:é|i|u|is)e?s?)"
        r"|(?:est|sont|suis|sommes) (?:tombé|parti|arrivé|venu|allé|resté|sorti|né|devenu|passé)e?s?",
        r"(?:a|avons|ont|ai|est|sont) (?:prévu|décidé|reporté|fermé)e?s?",
    ),
)
_SPANISH = Language(
    names=SPANISH,
    common=_words(
        "el la los las que es una un y en con para por del no se al lo hasta desde partir esta"
        " este nosotros está será antes próximo próxima pasado de semana hoy ayer mañana estoy"
        " están estamos su hay"
    ),
    offsets=(
        (r"hoy", 0),
        (r"anteayer|antes de ayer", -2),
        (r"(?<!de )(?<!antes )ayer", -1),
        (r"pasado mañana", 2),
        (r"(?<!la )(?<!las )(?<!cada )(?<!pasado )(?<!de )(?<!esta )mañana(?! por)", 1),
    ),
    next_day=(r"(?:el )?próximo {day}", r"(?:el )?{day} que viene"),
    last_day=(r"(?:el )?{day} pasado", r"(?:el )?pasado {day}"),
    ahead=r"dentro de {number} {unit}",
    ago=r"hace {number} {unit}",
    on="el ",
    date=r"(?P<number>\d{1,2}) de (?P<month>{month})\b(?! (?:del? )?\d)",
    leads_ahead=r"hasta el |a partir del |antes del |a más tardar el |para el ",
    leads_back=r"(?!)",
    leads=r"el |del |al |desde el ",
    weekday=(
        r"(?P<lead>el |hasta el |a partir del |desde el |antes del |para el )"
        r"(?P<day>{weekday})(?! (?:que viene|pasado|hasta|al?|y|o|\d))"
    ),
    ranges=((r"del ", r" al "), (r"desde el ", r" hasta el "), (r"entre el ", r" y (?:el )?")),
    weeks=(
        (r"esta semana", 0),
        (r"la (?:próxima semana|semana que viene|semana próxima)", 1),
        (r"la semana pasada", -1),
    ),
    months=(
        (r"este mes", 0),
        (r"el (?:próximo mes|mes que viene)", 1),
        (r"el mes pasado", -1),
    ),
    week_of="la semana del ",
    coming=r"(?P<head>(?:durante|en) (?:las|los)) próxim[oa]s {number} {unit}",
    until="hasta el ",
    cues=(
        r"cada|todos los|todas las|siempre|nunca|normalmente|a menudo|cumpleaños|aniversario|diari\w+"
        r"|semanal\w*|mensual\w*|anual\w*|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)",
        r"será|serán|tendrá|habrá|voy a|va a|van a|vamos a|empieza|comienza|termina|vence|caduca"
        r"|previst[oa]s?|programad[oa]s?|planead[oa]s?|\w{3,20}(?:rán?|ré)|(?!quer|esper)\w{2,20}[aei]remos"
        r"|(?:reunión|lanzamiento|demo|auditoría|taller|examen|conferencia|mantenimiento|boda|plazo"
        r"|fecha límite|entrevista|cita|entrega|evento)\b[^.!?\n]{0,40}? es",
        r"fue|fueron|era|eran|estaba|estaban|hubo|tuvo|tuvimos|hicimos|\w{2,20}(?:ó|aron|ieron)"
        r"|(?:he|ha|hemos|han) \w{2,20}(?:ado|ido|to|cho)",
        r"(?!)",
    ),
)
_LANGUAGES = (_GERMAN, _FRENCH, _SPANISH)
# A sample of this size is enough to recognise the language.
_SAMPLE = 4_000


def rules_for(text: str) -> tuple[tuple[Rule, ...], Cues]:
    """The rules and cues for the language of a text; English by default."""
    words = set(re.findall(r"\w+", text[:_SAMPLE].lower()))
    scores = [len(words & _telling(language)) for language in _LANGUAGES]
    best = max(scores)
    if not best or scores.count(best) > 1 or best <= len(words & _ENGLISH):
        return RULES, ENGLISH_CUES
    chosen = _LANGUAGES[scores.index(best)]
    named = words & _names(chosen)
    # Two function words, or one and a month or weekday that only this language has.
    if best < 2 and not named:
        return RULES, ENGLISH_CUES
    return _rules_of(chosen), _cues_of(chosen)


def _names(language: Language) -> frozenset[str]:
    return frozenset(name.lower() for name in (*language.names.months, *language.names.weekdays))


def _telling(language: Language) -> frozenset[str]:
    return language.common | _NAMES_OF_ONE[language]


_NAMES_OF_ONE = {
    one: _names(one).difference(
        *(_names(other) for other in _LANGUAGES if other is not one),
        # Also English words, or names of people.
        _words("april august september november mars domingo"),
    )
    for one in _LANGUAGES
}


@lru_cache(maxsize=len(_LANGUAGES))
def _rules_of(language: Language) -> tuple[Rule, ...]:
    """Compiled on first use, since most languages are never needed."""
    return tuple(_written(language))


@lru_cache(maxsize=len(_LANGUAGES))
def _cues_of(language: Language) -> Cues:
    habit, future, past, neither = language.cues
    return Cues(
        re.compile(rf"\b(?:{habit})\b", re.IGNORECASE),
        re.compile(
            rf"\b(?:{neither})\b|\b(?P<future>{future})\b|\b(?P<past>{past})\b", re.IGNORECASE
        ),
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
        yield rule(pattern, partial(_offset, offset))
    for patterns, side in ((language.next_day, 1), (language.last_day, -1)):
        for pattern in patterns:
            yield rule(filled(pattern), partial(_weekday, language, side))
    yield rule(filled(language.ahead), partial(_counted, language, 1))
    yield rule(filled(language.ago), partial(_counted, language, -1))
    yield rule(filled(language.coming), partial(_coming, language))
    for pattern, step in language.weeks:
        yield rule(pattern, partial(_week, language, step))
    for pattern, step in language.months:
        yield rule(pattern, partial(_month, step))
    written = filled(language.date)
    second = written.replace("<number>", "<number2>").replace("<month>", "<month2>")
    for lead, joint in language.ranges:
        yield rule(rf"(?P<lead>{lead}){written}(?P<joint>{joint}){second}", _range)
    leads = "|".join((language.leads_ahead, language.leads_back, language.leads))
    yield rule(
        rf"(?P<lead>{leads}|)(?:{names.weekday},? (?:dem |den |le |el )?)?{written}",
        partial(_day_of_month, language),
    )
    yield rule(filled(language.weekday), partial(_cued_weekday, language))


def _offset(days: int, place: Place) -> str:
    return (place.today + timedelta(days=days)).isoformat()


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


def _coming(language: Language, place: Place) -> str | None:
    if place.direction in {"past", "habit"}:
        return None
    span = " ".join(place.match[part] for part in ("head", "number", "unit"))
    return f"{span} {language.until}{_later(language, 1, place).isoformat()}"


def _week(language: Language, step: int, place: Place) -> str:
    return f"{language.week_of}{(monday_of(place.today) + timedelta(days=7 * step)).isoformat()}"


def _month(step: int, place: Place) -> str:
    return period(place.today, "month", step)


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
    direction = _leaning(language, place)
    if direction is None:
        return None
    number = int(place["number"].removesuffix("er"))
    day = nearest(month_number(place["month"]), number, place.today, future=direction == "future")
    return f"{place.match['lead']}{day.isoformat()}" if day else None


def _range(place: Place) -> str | None:
    """`vom 20. Dezember bis 6. Januar`: the next such period, or the current one."""
    direction = place.direction
    if direction == "habit":
        return None
    days = [
        (month_number(place[month]), int(place[number].removesuffix("er")))
        for month, number in (("month", "number"), ("month2", "number2"))
    ]
    last = nearest(*days[1], place.today, future=direction != "past")
    first = nearest(*days[0], last, future=False) if last else None
    if first is None or last is None:
        return None
    return f"{place.match['lead']}{first.isoformat()}{place.match['joint']}{last.isoformat()}"


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
