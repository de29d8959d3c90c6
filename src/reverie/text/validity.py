"""The period in which a note is valid, as far as its words state it with certainty.

The text has absolute dates, so "until Friday" is "until 2026-11-20" here. Only the first statement of
a note counts; later ones explain it.

- "until", "through", "ends on": it holds up to and including that day.
- "from … on", "starting", "as of", "since": it holds from that day on.
- "takes over on", "becomes … on": it holds from that day on, if the statement says nothing else.
- "from … to", "between … and", "during", "only on": both.
- "this week", "next month": both, for a state ("I am on call") or a ban ("no deploys"). A change
  ("Mira joins next week") goes on being true, so it gets no end.
- An event or a deadline ("the demo is on", "due on", "ends on") is over the day after, if the statement says
  nothing else: "the insurance is with Helvion, renewal is due on 15 January" stays true.
- A limit in a later clause ("…, it is closed until Monday") does not limit what an earlier clause states.
- "by" a date gives nothing: what must be done by then, or goes away then, is still to be known later.
- A habit ("every Friday") or a story ("it was down until Friday") gives nothing.

A day that is already over when the note is made is history, never an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from reverie.text.clauses import follows_a_statement, is_alone
from reverie.text.date_cues import EVENTS, SENTENCE_END, Cues, Sentences
from reverie.text.date_languages import rules_for
from reverie.text.date_parts import FEAST_WITH_DATE
from reverie.text.dates import PROTECTED, absolute_dates
from reverie.text.days import ALL_NAMES, day_or_none, month_number, months_on

# A longer "sentence" is a list, a log or a table.
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Validity:
    """The first and the last valid day, and the words that say so.

    `words` without a day is a time without a date: "until further notice", "next sprint".
    """

    valid_from: date | None = None
    valid_until: date | None = None
    words: tuple[str, ...] = ()


def validity(text: str, said: date) -> Validity:
    """When a note is valid, relative to the day on which it was said."""
    first, rest = _statements(absolute_dates(text, said)[0])
    if not first or first.endswith("?") or _RULE.search(rest):
        return Validity()
    marked, dates = _marked(first)
    _, cues = rules_for(text)
    found = _Frames(marked, dates, said, cues).found() if dates else Validity()
    if found.words:
        return found
    return Validity(words=tuple(match[0] for match in _VAGUE.finditer(marked)))


# --- statements ---

_MARKUP = re.compile(r"[#>*+\-\s]+|\*\*")
_EXPLAINS = re.compile(r"^[^\w\n]*(?:why|how to apply|warum|pourquoi|por qué)\b[^\n]*", re.I | re.M)
# A second statement may be a separate rule, which must not end with the first one.
_RULE = re.compile(
    r"\b(?:always|never|every|each|must|should|use|prefer|avoid|make sure|don['’]t|do not"
    r"|immer|nie|niemals|jede[rsn]?|muss|müssen|verwende|nutze"
    r"|toujours|jamais|chaque|doit|doivent|utilise[rz]?|siempre|nunca|cada|debe|deben|usa|usar)\b",
    re.IGNORECASE,
)


def _statements(text: str) -> tuple[str, str]:
    """The first sentence, and the rest without the reasons."""
    start = match.end() if (match := _MARKUP.match(text)) else 0
    window = text[start : start + _LONGEST + 1]
    end = SENTENCE_END.search(window)
    if end is None and len(window) > _LONGEST:
        return "", ""
    stop = end.end() if end else len(window)
    return window[:stop].strip(), _EXPLAINS.sub("", text[start + stop :])


# --- dates as single characters ---

_OPEN, _CLOSE, _HIDDEN = "\ue000", "\ue001", "\ue002"
_D = rf"{_OPEN}(\d+){_CLOSE}"


@dataclass(frozen=True, slots=True)
class _Time:
    first: date
    last: date
    words: str

    @property
    def is_day(self) -> bool:
        return self.first == self.last


@lru_cache(maxsize=1)
def _written_dates() -> re.Pattern[str]:
    month = "|".join(names.month for names in ALL_NAMES)
    return re.compile(
        r"(?<![\w./-])(?:"
        r"(?:(?:the|der|die|la) (?P<week>weekend of|week of|Woche vom|semaine du|semana del) )?"
        r"(?P<year>\d{4})-(?:Q(?P<quarter>[1-4])|(?P<month>\d\d)(?:-(?P<day>\d\d))?)"
        rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?: of| de)? (?P<month2>{month})\.?,? (?:del? )?"
        r"(?P<year2>20\d\d)"
        rf"|(?P<month3>{month})\.? (?:(?P<day3>\d{{1,2}})(?:st|nd|rd|th)?,? )?(?P<year3>20\d\d)"
        r"|(?P<day4>\d{1,2})\.(?P<month4>\d{1,2})\.(?P<year4>20\d\d)"
        r")(?![\w/]|-\d|['’]s|T\d|\.\d)",
        re.IGNORECASE,
    )


def _marked(sentence: str) -> tuple[str, list[_Time]]:
    """The sentence with a placeholder for each date, and the dates; code and quotations are masked."""
    plain = re.sub(rf"[{_OPEN}{_CLOSE}{_HIDDEN}]", " ", sentence)
    plain = FEAST_WITH_DATE.sub(r"\g<date>", PROTECTED.sub(_HIDDEN, plain))
    dates: list[_Time] = []

    def mark(match: re.Match[str]) -> str:
        time = _time(match)
        if time is None:
            return _HIDDEN
        dates.append(time)
        return f"{_OPEN}{len(dates) - 1}{_CLOSE}"

    return _written_dates().sub(mark, plain), dates


def _time(match: re.Match[str]) -> _Time | None:
    def part(name: str) -> str | None:
        return next(
            (match[key] for key in match.re.groupindex if key.startswith(name) and match[key]), None
        )

    year = int(part("year") or 0)
    if quarter := match["quarter"]:
        return _months(year, int(quarter) * 3 - 2, 3, match[0])
    named = part("month") or ""
    month = int(named) if named.isdigit() else month_number(named)
    if (number := part("day")) is None:
        return _months(year, month, 1, match[0])
    day = day_or_none(year, month, int(number))
    if day is None:
        return None
    week = (match["week"] or "").lower()
    length = 0 if not week else 1 if week.startswith("weekend") else 6
    try:
        return _Time(day, day + timedelta(days=length), match[0])
    except OverflowError:
        return None


def _months(year: int, month: int, count: int, words: str) -> _Time | None:
    first = day_or_none(year, month, 1)
    if first is None or year > 9000:
        return None
    return _Time(first, months_on(first, count) - timedelta(days=1), words)


# --- the frames around a date ---

_UNTIL = (
    r"(?:until|till|'til|through|thru|up to|up until|valid to)"
    r" (?:and including |(?:the )?end of |(?!the (?:start|beginning|middle))(?:(?:the|our|my|his|her) )?(?:[^\W\d][\w-]* ){0,3}(?:on|of) )?"
    r"|bis (?:zum |einschließlich |inklusive |zum Ende (?:von )?|Ende (?:von )?)?(?:(?:der|die|das|dem) )?"
    r"|jusqu['’](?:à la fin (?:de |du )?|au|à|en) ?(?:le )?"
    r"|hasta (?:el (?:final de |fin de )?|la )?"
)
_ENDS = (
    r"(?:ends?|expires?|finish(?:es)?|closes?) (?:on |at the end of )?|(?:last day is|is over on) "
    r"|(?:endet|enden|läuft ab|schließt) (?:am )?"
    r"|(?:se termine|expire|prend fin|s['’]arrête) (?:le )?"
    r"|(?:termina|acaba|vence|caduca|finaliza) (?:el )?"
)
_FROM = (
    r"(?:starting|beginning|effective|as of|in effect from|valid from|no longer (?:[\w-]+ ){0,6}from|since)"
    r" (?:on |from |with |as of )?"
    r"|(?:ab|seit) (?:dem )?"
    r"|(?:à partir d[eu]|dès|depuis) (?:le )?"
    r"|a partir del? (?:el )?|desde (?:el )?"
)
# A person or thing takes a place on a day: until then another one has it.
_HANDOVER = (
    r"\b(?:takes? over|becomes?|succeeds?|replaces?|(?:starts?|joins?) as|übernimmt|löst|reprend|devient|succède"
    r"|remplace|asume|sustituye|reemplaza|pasa a ser)\b[^.!?,;\n]{0,60}? (?:on |from |am |in |ab |le |en |el )?{d}"
    r"|\bwird (?:am |in |ab )?{d} (?-i:[A-ZÄÖÜ]\w+)[.!]?$"
    r"|\b(?:applies|works?|days|hours|time|week|month|year|\d) from {d}(?=[.,;!]|$)"
)
_RANGES = (
    r"from {d},? (?:to|until|till|through|thru|-|–) {d}|between {d} and {d}|{d} (?:to|through|–|-) {d}",
    r"vom? {d} bis (?:zum )?{d}|zwischen (?:dem )?{d} und (?:dem )?{d}",
    r"du {d} (?:au|jusqu['’]au) {d}|entre (?:le )?{d} et (?:le )?{d}",
    r"del? {d} (?:al?|hasta el) {d}|desde (?:el )?{d} hasta (?:el )?{d}|entre (?:el )?{d} y (?:el )?{d}",
)
_ONLY = (
    rf"(?:only|just|nur|seulement|uniquement|solo|sólo|solamente) (?:on |am |le |el |for |für )?{_D}"
    rf"|{_D} (?:only|uniquement|seulement)\b"
    rf"|(?:during|während|pendant|durante) (?:the |dem |der |le |la |el )?{_D}"
)
# A state or a ban lasts as long as the sentence says; a change stays true afterwards.
_STATE = (
    r"\b(?:am|is|are|no|not|none|only|nobody|closed|away|off|holds|applies"
    r"|bin|ist|sind|gilt|gelten|kein|keine|keinen|nicht|nur"
    r"|suis|est|sommes|sont|pas|aucune?|absent|soy|estoy|está|están|estamos|son|no|solo|sólo|hay)\b"
    r"|['’](?:m|re|s)\b|n['’]t\b"
)
_BAN = r"\b(?:no|not|none|nobody|kein|keine|keinen|nicht|pas|aucune?|ningun[ao]?|ningún)\b|n['’]t\b"
_CHANGE = (
    r"\b(?:will|join|switch|migrat|start|begin|launch|releas|ship|renam|replac|remov|dropp?|deprecat"
    r"|becom|leav|retir|mov|relocat|marr|buy|hir|merg|upgrad|introduc|adopt|decid|deliver|go(?:es)? (?:live|away|public)|deploy|roll"
    r"|wechsel|zieh|umzieh|startet|beginnt|kommt|wird|werden|einführ"
    r"|commenc|démarr|rejoin|passe|lanc|empiez|empez|comienz|lanz)\w*"
)
_PLAN = (
    r"\b(?:plan(?:s|ning|t|en)?|think\w*|consider\w*|excited|going|heading|looking|hop(?:es|ing))\b"
)
_MOVE = (
    r"\b(?:mov|postpon|reschedul|shift|extend|push|bump|chang|verschieb|verschob|verleg|report|décal"
    r"|pospon|muev|cambi|aplaz)\w*"
)
_AWAY = (
    r"(?:(?:\b(?:am|is|are|be)|['’](?:m|re|s)) (?:out|off|away)|\bout of (?:the )?office|\b(?:closed|unavailable|offline|on (?:leave|vacation|holiday)|on call"
    r"|im Urlaub|abwesend|geschlossen|nicht da|krank|absente?|fermée?|en congés?|en vacances"
    r"|de vacaciones|ausente|cerrad[oa]|fuera))(?: (?!of\b|between\b|from\b|to\b|week\b)[^\W\d]+){0,3} "
)
# "From 4 to 23 December", "1 May until Wed, 22": one end is not a date we can parse.
_PART = (
    rf"(?<![{_OPEN}\w])\d{{1,4}}(?:st|nd|rd|th|\.)?(?: ?[-–] ?| (?:to|till|until|through|and|bis|au|al|y|et) )"
    rf"(?:\d{{1,2}} )?(?:(?:of|in|de) )?{_D}"
    rf"|{_D}(?: ?[-–] ?| (?:to|till|until|through|bis|au|al) )(?!the |zum |{_OPEN})"
)
_EVENT = (
    rf"\b(?:{EVENTS}|Termin|Treffen|Besprechung|Prüfung|Konferenz|Wartung|Hochzeit|réunion|lancement|démo"
    r"|atelier|examen|conférence|mariage|entretien|livraison|reunión|lanzamiento|auditoría|taller"
    r"|conferencia|mantenimiento|boda|entrevista|cita|evento|Abgabe|Frist|Abgabetermin|échéance"
    r"|date limite|fecha límite|plazo|entrega)\b(?!s\b)[^.!?\n]{0,60}?"
    r"(?: (?:is|are|will be|takes place|happens|is scheduled|is planned|ist|findet|wird|est|sera|a lieu"
    r"|aura lieu|es|será|tendrá lugar)|:)(?: \w+){0,2}? "
    r"|\b(?:due|fällig|deadline:?|vence) "
    r"|(?:\b(?:will|going to|am|is|are)|['’](?:ll|m|re|s)) (?:meet|visit|fly|travel|present|interview)"
    r"(?:l?ing)?\b[^.!?\n]{0,60}? "
    r"|\b(?:treffen (?:wir )?uns|retrouvons|réunissons|nos (?:reunimos|reuniremos|vemos))\b[^.!?\n]{0,40}? "
)
_ON = r"(?:on |for |by |in |am |le |el |bis |vor |zum |at |en )?"
_VAGUE = re.compile(
    r"\b(?:(?:for|until|till|after|before|in|with) (?:the )?next (?:release|sprint|version|deploy\w*"
    r"|milestone|iteration|migration|on-?call)|next (?:sprint|release|iteration|milestone)"
    r"|until further notice|for the time being|for now|temporarily|until [^.,;!?\n]{1,60}? (?:is|are|has been|gets)"
    r" \w{2,20}|bis auf weiteres|vorerst|vorläufig|nächsten Sprint|jusqu['’]à nouvel ordre"
    r"|pour l['’]instant|prochain sprint|hasta nuevo aviso|por ahora|próximo sprint)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compiled on first use."""
    start = r"^(?:only |just |in |in der |for |on |am |le |el |en |im )?"
    written = {
        "range": "|".join(f"(?:{one.format(d=_D)})" for one in _RANGES),
        "until": rf"(?:{_UNTIL}){_D}",
        "ends": rf"(?:{_ENDS}){_D}",
        "from": rf"(?:{_FROM}){_D}|from {_D},? on(?:wards?)?\b|von {_D} an\b|^from {_D}",
        "handover": _HANDOVER.replace("{d}", _D),
        "only": _ONLY,
        "period": rf"{start}{_D}(?! (?:is|was|are|will|ist|est|es)\b)|(?<!for )(?<!of )(?<!from )(?<!about ){_D}(?=[.!]?$)",
        "away": rf"{_AWAY}{_ON}{_D}",
        "event": rf"(?:{_EVENT}){_ON}{_D}",
    }
    # A preposition is a whole word: "grab 2026-11-20" does not contain "ab".
    return {
        name: re.compile(pattern if name == "event" else rf"(?<!\w)(?:{pattern})", re.IGNORECASE)
        for name, pattern in written.items()
    } | {
        "state": re.compile(_STATE, re.IGNORECASE),
        "ban": re.compile(_BAN, re.IGNORECASE),
        "change": re.compile(_CHANGE, re.IGNORECASE),
        "move": re.compile(_MOVE, re.IGNORECASE),
        "part": re.compile(_PART, re.IGNORECASE),
        "plan": re.compile(_PLAN, re.IGNORECASE),
    }


@dataclass(frozen=True, slots=True)
class _Frames:
    """One statement with its dates, and the day it was said."""

    text: str
    dates: list[_Time]
    said: date
    cues: Cues

    def found(self) -> Validity:
        if self._has("part"):
            return Validity()
        order: tuple[Callable[[], Validity | None], ...] = (self._range, self._open, self._only)
        # A habit or a story has no single day, unless it names its limits.
        at = self.text.index(_OPEN)
        side = Sentences(self.text, self.cues).direction(at, at + 1)
        if side not in {"habit", "past"}:
            order = (*order, self._ended, self._handover, self._event, self._away, self._period)
        return next((found for read in order if (found := read()) is not None), Validity())

    def _matches(self, name: str) -> Iterator[tuple[re.Match[str], list[_Time]]]:
        for match in _patterns()[name].finditer(self.text):
            if name == "range" or not follows_a_statement(self.text, match.end()):
                dates = [self.dates[int(one)] for one in match.groups() if one is not None]
                yield match, dates

    def _has(self, name: str) -> bool:
        return _patterns()[name].search(self.text) is not None

    def _range(self) -> Validity | None:
        for match, (first, last) in self._matches("range"):
            # "Move the demo from Friday to Monday" states no period.
            if not self._has("move") and first.first <= last.last:
                return self._held(first.first, last.last, match)
        return None

    def _open(self) -> Validity | None:
        """A start, an end, or both, stated separately."""
        starts, ends = list(self._matches("from")), list(self._matches("until"))
        first = starts[0][1][0].first if starts else None
        last = ends[-1][1][0].last if ends else None
        if first is None and last is None:
            return None
        return self._held(first, last, *(match for match, _ in (*starts[:1], *ends[-1:])))

    def _only(self) -> Validity | None:
        return next((self._held(t.first, t.last, m) for m, (t,) in self._matches("only")), None)

    def _ended(self) -> Validity | None:
        for match, (time,) in self._matches("ends"):
            if is_alone(self.text, match.end()):
                return self._held(None, time.last, match)
        return None

    def _handover(self) -> Validity | None:
        for match, found in self._matches("handover"):
            if found[0].first > self.said and is_alone(self.text, match.end()):
                return self._held(found[0].first, None, match)
        return None

    def _event(self) -> Validity | None:
        for match, (time,) in self._matches("event"):
            if time.is_day and is_alone(self.text, match.end()):
                return self._held(None, time.last, match)
        return None

    def _away(self) -> Validity | None:
        return next((self._held(t.first, t.last, m) for m, (t,) in self._matches("away")), None)

    def _period(self) -> Validity | None:
        lasting = self._has("state") and not self._has("change")
        if not (lasting or self._has("ban")):
            return None
        for match, (time,) in self._matches("period"):
            if not time.is_day:
                # A plan is already valid before its time comes.
                first = None if self._has("plan") else time.first
                return self._held(first, time.last, match)
        return None

    def _held(self, first: date | None, last: date | None, *matches: re.Match[str]) -> Validity:
        if last is not None and last < self.said:
            return Validity()
        if first is not None and last is not None and first <= self.said:
            # It is valid already; the start does not matter.
            first = None
        words = tuple(self._unmarked(match[0]) for match in matches)
        if first is not None and last is not None and first > last:
            # "Until Friday no deploys, from 3 May again": two times with unclear subjects.
            return Validity(words=words)
        return Validity(first, last, words)

    def _unmarked(self, text: str) -> str:
        return re.sub(_D, lambda match: self.dates[int(match[1])].words, text).strip()
