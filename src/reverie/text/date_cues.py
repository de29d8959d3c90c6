"""Whether a sentence is about the past or the future: cues around a date phrase."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal, TypeAlias

from reverie.text.days import ALL_NAMES, ENGLISH

Direction = Literal["future", "past", "habit", "unsure"]
_SIDES: dict[str | None, Direction] = {"future": "future", "past": "past", "unsure": "unsure"}

# Things that people schedule: with these, "is on" refers to the future.
EVENTS = (
    r"(?:launch|freeze|meeting|release|demo|review|audit|cut-?over|migration|roll-?out|go-live"
    r"|kick-?off|workshop|interview|off-?site|party|wedding|exam|conference|appointment|call|flight"
    r"|presentation|deadline|election|hackathon|maintenance|downtime|event|hearing|trial|training"
    r"|webinar|hand-?over|visit|due date|retrospective|dinner|concert|surgery|check-?up|trip|excursion|outing"
    r"|recital|rehearsal|match|race|tournament|festival|fair|graduation|funeral|inspection|delivery|renewal|test"
    r"|operation|auction|premiere|picnic|reunion|marathon)"
)


@dataclass(frozen=True, slots=True)
class Cues:
    """The words by which a language shows past or future."""

    habit: re.Pattern[str]
    # Groups `future`, `past` and `unsure`; a match without a group consumes misleading words.
    side: re.Pattern[str]
    # Whether the nearest cue decides; otherwise all cues of a sentence must agree.
    nearest: bool = False
    # Verbs in the present: with a day of a month they refer to the future, with a weekday to a
    # habit.
    present: re.Pattern[str] | None = None


ENGLISH_CUES = Cues(
    re.compile(
        r"\b(?:every|each|always|never|usually|normally|typically|generally|regularly|often"
        r"|sometimes|whenever|(?:bi-?)?weekly|monthly|quarterly|daily|nightly|annual(?:ly)?|yearly"
        r"|recurring|birthday|anniversary|(?:once|twice|times) (?:an?|per))\b"
        rf"|\b{ENGLISH.weekday}s\b",
        re.IGNORECASE,
    ),
    re.compile(
        # "was planned" leaves it open; "the shared page" and "is closed" show no tense.
        r"(?P<unsure>\b(?:was|were|been) (?:planned|scheduled|expected|due)\b)"
        r"|\b(?:an?|the|our|my|your|their|its|this|that|these|those|any|no|all|be|is|are|being|longer|gets?)"
        r" (?!planned|scheduled|expected)\w{2,30}ed\b"
        # "is paid on the 7th" is a habit.
        r"|\b(?:be|is|are|being|gets?) (?:paid|sent|held|made|taken|built|given|done|run|kept|read|set"
        r"|shown|written|brought|sold|bought|told|drawn|put)\b"
        rf"|(?P<future>\b(?:moved|pushed|postponed|rescheduled|delayed|shifted|brought)(?: \w+)?"
        rf" (?:to|until|till)(?= (?:the )?(?:\d|{ENGLISH.month}\b|{ENGLISH.weekday}\b))|\b(?-i:[Ww]ill|[Ww]on['’]t)\b|\b(?:shall|going to|due|deadline|scheduled|planned"
        r"|plans? to|expected|starts?|begins?|launch(?:es)?|ships?|leaves?|ends|expires|arrives|returns"
        r"|goes (?:live|away|out)|takes place|needs? to|has to|have to|let['’]s|until further)\b|['’]ll\b"
        r"|\b(?:is|are) (?=in\b)"
        r"|\b(?:am|are|is|[a-z]{1,5}['’](?:m|re|s)) (?:meeting|shipping|leaving|flying|moving|starting"
        r"|launching|presenting|travell?ing|coming|going|visiting|releasing|deploying|migrating|switching"
        r"|hosting|having|returning|arriving|joining)\b"
        rf"|\b{EVENTS}\b[^.!?\n]{{0,60}}?\b(?:is|['’]s) (?=(?:on|in|from|due|the|this|{ENGLISH.weekday}|{ENGLISH.month}|\d{{1,2}})\b))"
        r"|(?P<past>\b(?:was|were|did|had|went|said|met|began|took|made|got|came|left|sent|broke|fell"
        r"|found|told|chose|built|wrote|ran|saw|gave|kept|held|bought|paid|lost|won|spoke|spent|thought"
        r"|brought|caught|led|felt|knew|grew|drove|sold|became|happened|\w{2,30}(?<!e)ed)\b)",
        re.IGNORECASE,
    ),
    nearest=True,
    present=re.compile(
        r"\b(?:has|have) (?:an?|the|my|our|your|his|her|its|their|no)\b"
        r"|\b(?:takes?|becomes?|succeeds?|replaces?|sings?|plays?|performs?|opens?|closes?|comes|goes|visits?|flies|moves?"
        r"|gets|sees|gives|meets|hosts?|presents?|joins?|marries|graduates?|retires?|reopens?|travels?|runs|rejoins?)\b"
        # "They put" may be past.
        r"|\b(?:I|we|they) (?:fly|go|meet|get|see|marry|have|come)\b",
        re.IGNORECASE,
    ),
)
# How far a cue may be from its phrase.
_REACH = 400
# "1." before a month does not end a sentence.
SENTENCE_END = re.compile(r"(?<!\b\d)(?<!\b\d\d)[.!?](?=\s|$)|[.!?](?=\s+[A-Z]\w+ \w+ \w)|\n")


class Sentences:
    """A text with its sentence ends and cues, each found once for all phrases."""

    def __init__(self, text: str, cues: Cues) -> None:
        self._text = text
        self._cues = cues

    @cached_property
    def _ends(self) -> list[int]:
        return [match.end() for match in SENTENCE_END.finditer(self._text)]

    @cached_property
    def _habits(self) -> list[int]:
        return [match.start() for match in self._cues.habit.finditer(self._text)]

    @cached_property
    def _sides(self) -> tuple[list[int], list[Direction]]:
        found = [
            (match.start(), _SIDES[match.lastgroup])
            for match in self._cues.side.finditer(self._text)
            if match.lastgroup in _SIDES
        ]
        return [at for at, _ in found], [side for _, side in found]

    def is_present(self, start: int, end: int) -> bool:
        """Whether the sentence around a phrase has a verb in the present, and no other cue."""
        verbs = self._cues.present
        if verbs is None or self.direction(start, end) is not None:
            return False
        first, stop = self._around(start, end)
        places, _ = self._sides
        return (
            bisect_left(places, first) == bisect_left(places, stop)
            and verbs.search(self._text, first, stop) is not None
        )

    def _around(self, start: int, end: int) -> tuple[int, int]:
        at = bisect_right(self._ends, start)
        first = max(self._ends[at - 1] if at else 0, start - _REACH)
        at = bisect_right(self._ends, end)
        stop = min(self._ends[at] if at < len(self._ends) else len(self._text), end + _REACH)
        return first, stop

    def direction(self, start: int, end: int) -> Direction | None:
        """The direction of the sentence around a phrase; a habit anywhere in it wins."""
        first, stop = self._around(start, end)
        if bisect_left(self._habits, first) < bisect_left(self._habits, stop):
            return "habit"
        places, sides = self._sides
        low, high = bisect_left(places, first), bisect_left(places, stop)
        if low == high:
            return None
        if not self._cues.nearest:
            told = set(sides[low : min(high, low + _REACH)])
            return told.pop() if len(told) == 1 else None
        before = bisect_left(places, start)
        return sides[before - 1] if before > low else sides[low]


# The beginning of a text, a sentence or an item of a list.
_OPENING = re.compile(r"(?:\A|[.!?:]\s|\n)[ \t>*#+-]*$")
# "Tomorrow is the demo" has the day as its subject.
_GOES_ON = re.compile(
    r" (?!(?:is|was|are|will|has|had|and|or|at|und|oder|um|est|était|sera|et|ou|es|fue|será|y|o|a)\b)\w"
)
# Words that take a period as it is: prepositions, verbs and conjunctions.
_TAKES_A_PERIOD = re.compile(
    rf"(?:\b{'|'.join(one for names in ALL_NAMES for one in (names.month, names.weekday))}|[(,–—:-]|\b(?:on|by|since|until|till|through|from|before|after|of|for|in|during|to|than|about|and|or|at|within"
    r"|between|over|is|was|plan|planning|called|means|early|late|mid|von|für|bis|seit|ab|vor|nach|über|und|oder"
    r"|ist|war|de|du|pour|avant|après|depuis|dès|en|dans|et|ou|est|del|para|hasta|desde|por|y|o|es))\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A phrase in its text: the day of the text, and the sentence that gives it a direction."""

    match: re.Match[str]
    today: date
    sentences: Sentences

    def __getitem__(self, group: str) -> str:
        return (self.match[group] or "").lower()

    @property
    def direction(self) -> Direction | None:
        return self.sentences.direction(self.match.start(), self.match.end())

    @property
    def is_present(self) -> bool:
        return self.sentences.is_present(self.match.start(), self.match.end())

    @property
    def opens_a_sentence(self) -> bool:
        """Whether it says when, before the rest of its sentence: `Tomorrow we ship`."""
        text, (start, end) = self.match.string, self.match.span()
        opening = _OPENING.search(text, max(0, start - 8), start)
        return opening is not None and _GOES_ON.match(text, end) is not None

    @property
    def is_adverb(self) -> bool:
        """Whether it says when, so that a month needs a preposition: `I moved last month`."""
        if _OPENING.search(self.match.string, max(0, self.match.start() - 8), self.match.start()):
            return self.opens_a_sentence
        whose = self.match.string.startswith(("'", "’"), self.match.end())
        return not whose and _TAKES_A_PERIOD.search(self.before) is None

    @property
    def after_preposition(self) -> bool:
        return bool(
            re.search(r"\b(?:on|by|since|until|till|from|before|after|of)\s+$", self.before)
        )

    @property
    def before(self) -> str:
        """The last few words before the phrase, in lower case."""
        return self.match.string[max(0, self.match.start() - 20) : self.match.start()].lower()

    def with_preposition(self, day: date) -> str:
        """A date with the preposition the phrase had."""
        lead = self.match["lead"]
        return f"{lead} {day.isoformat()}" if lead else day.isoformat()


Resolve: TypeAlias = Callable[[Place], str | None]
Rule: TypeAlias = tuple[re.Pattern[str], Resolve]
