"""Parts of a month or a week, and feasts: "bis Ende März", "mid-December", "jusqu'à Pâques".

What a limit names exactly becomes a day. A part of a month keeps its words and gets its year, a part of
a week gets its Monday, and a feast its date beside the name, by which people will ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from reverie.text.date_cues import Direction, Place, Resolve, Rule
from reverie.text.days import (
    ENGLISH,
    FRENCH,
    GERMAN,
    SPANISH,
    Names,
    monday_of,
    month_number,
    months_on,
    nearest,
)

_CHRISTMAS_EVE, _CHRISTMAS, _NEW_YEARS_EVE, _NEW_YEAR = (12, 24), (12, 25), (12, 31), (1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """How one language names parts of months and weeks, and feasts."""

    names: Names
    # Prepositions of a limit in the future, and of a start in the past.
    ahead: str
    back: str
    # Prepositions of a feast that give no direction.
    others: str
    # A part of a month; with `limit` before it, its last day, which is written after `until`.
    edge: str
    limit: str
    until: str
    # Between a month and its year.
    of: str
    # This month's end as a limit, written like the end of a named month.
    month_end: str
    # This and the next week after a limit, and how a week is written there.
    week_end: str
    coming_week: str
    week: str
    # What must not follow the name of a feast: "Christmas party".
    not_after: str
    easter: tuple[tuple[str, int], ...]
    feasts: tuple[tuple[str, tuple[int, int]], ...]


ENGLISH_PARTS = Parts(
    ENGLISH,
    ahead=r"until|till|through|by|before",
    back=r"since",
    others=r"at|on|over|after|from|for",
    edge=r"(?:mid[- ]|early |late |(?:the )?(?:middle|end|start|beginning) of )",
    limit=r"(?:until|till|through) late ",
    until="until ",
    month_end=r"(?!)",
    of=" ",
    week_end=r"(?:until|till|through|by|before) the end of (?P<which>the|this|next) week",
    coming_week="next",
    week="the week of ",
    not_after=r"(?:['’]?s?)? ?(?:Eve|Day|part(?:y|ies)|dinner|lunch|holidays?|break|market|tree|cards?|carols?"
    r"|presents?|gifts?|bonus|eggs?|bunny|Island|sale|Monday|Sunday|season|concert|resolutions?)\b|['’]",
    easter=((r"Easter Monday", 1), (r"Easter(?: Sunday)?", 0), (r"Good Friday", -2)),
    feasts=(
        (r"Christmas Eve", _CHRISTMAS_EVE),
        (r"(?:Christmas|Xmas)(?: Day)?", _CHRISTMAS),
        (r"New Year['’]?s Eve", _NEW_YEARS_EVE),
        (r"New Year(?:['’]?s(?: Day)?)?", _NEW_YEAR),
    ),
)
GERMAN_PARTS = Parts(
    GERMAN,
    ahead=r"bis(?: zu)?|spätestens(?: an| zu| bis)?|vor",
    back=r"seit",
    others=r"an|zu|über|nach|ab|am",
    edge=r"(?:Anfang|Mitte|Ende) ",
    limit=r"bis (?:zum )?Ende ",
    until="bis ",
    month_end=r"bis (?:zum )?(?:Ende (?:des|dieses) Monats|Monatsende)",
    of=" ",
    week_end=r"(?:bis|vor) (?:zum )?Ende (?P<which>der|dieser|(?:der )?nächste[rn]) Woche",
    coming_week="nächst",
    week="der Woche vom ",
    not_after=r"(?:['’]|-\w)",
    easter=((r"Ostermontag", 1), (r"(?:Ostern|Ostersonntag)", 0), (r"Karfreitag", -2)),
    feasts=(
        (r"(?:Heiligabend|Heilig Abend)", _CHRISTMAS_EVE),
        (r"Weihnachten", _CHRISTMAS),
        (r"Silvester", _NEW_YEARS_EVE),
        (r"Neujahr", _NEW_YEAR),
    ),
)
FRENCH_PARTS = Parts(
    FRENCH,
    ahead=r"jusqu['’](?:à|au)|d['’]ici(?: à)?|avant",
    back=r"depuis",
    others=r"à|au|pour|après|dès",
    edge=r"(?:mi-|fin |début |la (?:fin|mi) (?:de |d['’])|le début (?:de |d['’]))",
    limit=r"jusqu['’]à (?:la )?fin (?:de |d['’])?",
    until="jusqu'au ",
    month_end=r"jusqu['’]à (?:la )?fin du mois|jusqu['’]à la fin de ce mois",
    of=" ",
    week_end=r"(?:jusqu['’]à|d['’]ici|avant) la fin de (?P<which>la|cette) semaine(?P<next> prochaine)?",
    coming_week="prochain",
    week="la semaine du ",
    not_after=r"['’]",
    easter=((r"lundi de Pâques", 1), (r"(?:dimanche de )?Pâques", 0)),
    feasts=(
        (r"Noël", _CHRISTMAS),
        (r"la Saint-Sylvestre", _NEW_YEARS_EVE),
        (r"(?:le )?[Nn]ouvel [Aa]n", _NEW_YEAR),
    ),
)
SPANISH_PARTS = Parts(
    SPANISH,
    ahead=r"hasta|antes de|para",
    back=r"desde",
    others=r"en|por|después de|tras|a partir de",
    edge=r"(?:a )?(?:principios|mediados|finales|fines) de ",
    limit=r"hasta (?:finales|fines|(?:el )?(?:final|fin)) de ",
    until="hasta el ",
    month_end=r"hasta (?:el )?(?:fin|final|finales|fines) (?:de|del|de este) mes",
    of=" de ",
    week_end=r"(?:hasta|antes de|para)l? ?(?:el )?(?:final|fin) de (?P<which>la|esta) (?P<next>próxima )?semana"
    r"(?P<later> que viene)?",
    coming_week="próxima|viene",
    week="la semana del ",
    not_after=r"['’]",
    easter=((r"(?:el )?[Dd]omingo de Pascua", 0), (r"Pascua", 0)),
    feasts=(
        (r"Nochebuena", _CHRISTMAS_EVE),
        (r"Navidad", _CHRISTMAS),
        (r"Nochevieja", _NEW_YEARS_EVE),
        (r"Año Nuevo", _NEW_YEAR),
    ),
)
ALL_PARTS = (ENGLISH_PARTS, GERMAN_PARTS, FRENCH_PARTS, SPANISH_PARTS)
_AFTER = frozenset({"after", "nach", "après", "después de", "tras"})
# A feast with its date beside it.
FEAST_WITH_DATE = re.compile(
    rf"(?:{'|'.join(name for one in ALL_PARTS for name, _ in (*one.easter, *one.feasts))})"
    r" \((?P<date>\d{4}-\d\d-\d\d)\)"
)


def rules_of(parts: Parts) -> Iterator[Rule]:
    month = f"(?-i:(?P<month>{parts.names.month}))"
    if parts.names in (FRENCH, SPANISH):
        month = f"(?P<month>{parts.names.month})"
    # "December 3", "March 2027", "marzo de 2027".
    month += r"\b(?!\.?,? (?:del? )?\d)"
    yield _rule(rf"{parts.limit}{month}", partial(_limit, parts))
    yield _rule(parts.month_end, partial(_month_end, parts))
    lead = rf"(?:(?P<lead>{parts.ahead}|{parts.back}) )?"
    yield _rule(rf"{lead}(?P<edge>{parts.edge}){month}", partial(_month_part, parts))
    yield _rule(rf"{parts.week_end}(?!,? (?:of|vom|du|del)\b)", partial(_week_end, parts))
    lead = rf"(?P<lead>{parts.ahead}|{parts.back}|{parts.others}) "
    for feast, fixed in parts.feasts:
        yield _rule(_named(parts, lead, feast), partial(_feast, parts, fixed))
    for feast, offset in parts.easter:
        yield _rule(_named(parts, lead, feast), partial(_easter, parts, offset))


def _named(parts: Parts, lead: str, feast: str) -> str:
    return rf"{lead}(?-i:{feast})(?! ?{parts.not_after})(?!,? (?:de )?\(?\d)"


def _rule(pattern: str, resolve: Resolve) -> Rule:
    return re.compile(rf"(?<![\w/.@-])(?:{pattern})(?![\w/@(]|-\w)", re.IGNORECASE), resolve


def _side(parts: Parts, place: Place) -> Direction | None:
    """Past or future: a limit points forward and `since` back, unless the sentence says otherwise."""
    said, lead = place.direction, place["lead"]
    if lead and re.fullmatch(parts.back, lead, re.IGNORECASE):
        return "past"
    if said in ("habit", "unsure"):
        return None
    if lead and re.fullmatch(parts.ahead, lead, re.IGNORECASE):
        return None if said == "past" else "future"
    if said is None and lead in _AFTER and place.is_present:
        return "future"
    # "We met at Christmas" may have been any year.
    return "future" if said == "future" else None


def _limit(parts: Parts, place: Place) -> str | None:
    if place.direction not in (None, "future"):
        return None
    last = nearest(month_number(place["month"]), 28, place.today, future=True)
    return _until_the_end(parts, last) if last else None


def _month_end(parts: Parts, place: Place) -> str | None:
    return _until_the_end(parts, place.today) if place.direction in (None, "future") else None


def _until_the_end(parts: Parts, month: date) -> str:
    last = months_on(month.replace(day=1), 1) - timedelta(days=1)
    return f"{parts.until}{last.isoformat()}"


def _month_part(parts: Parts, place: Place) -> str | None:
    side = _side(parts, place) or ("future" if place.is_present else None)
    if side is None:
        return None
    number = {"e": 28, "f": 28, "l": 28}.get(place["edge"].removeprefix("the ")[0], 15)
    day = nearest(month_number(place["month"]), number, place.today, future=side == "future")
    return f"{place.match[0]}{parts.of}{day.year}" if day else None


def _week_end(parts: Parts, place: Place) -> str | None:
    if place.direction not in (None, "future"):
        return None
    coming = re.search(parts.coming_week, place.match[0], re.IGNORECASE)
    monday = monday_of(place.today) + timedelta(days=7 if coming else 0)
    lead = place.match[0][: place.match.start("which") - place.match.start()]
    return f"{lead}{parts.week}{monday.isoformat()}"


def range_of_days(place: Place) -> str | None:
    """`from 20 December to 6 January`: the next such period, or the current one."""
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


def _feast(parts: Parts, fixed: tuple[int, int], place: Place) -> str | None:
    side = _side(parts, place)
    day = nearest(*fixed, place.today, future=side == "future") if side else None
    return f"{place.match[0]} ({day.isoformat()})" if day else None


def _easter(parts: Parts, offset: int, place: Place) -> str | None:
    side = _side(parts, place)
    if side is None:
        return None
    years = (0, 1) if side == "future" else (0, -1)
    for step in years:
        day = easter_sunday(place.today.year + step) + timedelta(days=offset)
        if day >= place.today if side == "future" else day <= place.today:
            return f"{place.match[0]} ({day.isoformat()})"
    return None


def easter_sunday(year: int) -> date:
    """Easter in the western churches, by the anonymous Gregorian algorithm."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    leap, rest = divmod(century, 4)
    shift = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * golden + century - leap - shift + 15) % 30
    day = (32 + 2 * rest + 2 * (of_century // 4) - moon - of_century % 4) % 7
    late = (golden + 11 * moon + 22 * day) // 451
    month, last = divmod(moon + day - 7 * late + 114, 31)
    return date(year, month, last + 1)
