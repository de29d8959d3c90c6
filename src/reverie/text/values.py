"""Reads the values of a text: times, days, sums, durations, how often, shares, measures and other figures.

The same value is written in many ways: "three quarters of an hour" and "45 min", "half past four" and
"16:30", "twice a year" and "every six months", "a tenth" and "10 %". First, words for numbers,
months and units become figures and marks ("4 <part1/4>"); then each value is read as its dimension
and its possible meanings: "half past four" is 4:30 or 16:30.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from reverie.text.lexicon import folded
from reverie.text.numerals import number_words
from reverie.text.value_readers import DAY, NUMBER, YEAR, Value, amount, plain, readers
from reverie.text.word_classes import FOLDER

# Longer texts are read by their beginning.
_LONGEST = 600
_OF_LANGUAGE = {
    "french": {"an": f"<span{YEAR}>"},
    "spanish": {"mes": f"<span{30 * DAY}>"},
}
_PHRASES = (
    (r"\bchristmas eve\b|\bheilig abend\b|\bveille de noel\b", "<date/12/24>"),
    (r"\bnew year'?s eve\b|\bsaint[- ]sylvestre\b", "<date/12/31>"),
    (r"\bnew year'?s day\b|\bnouvel an\b|\bano nuevo\b", "<date/1/1>"),
    (r"\bapres-midi\b|\bp\.m\b\.?", "pm"),
    (r"(?<=\d) ?a\.m\b\.?", " am"),
    (r"\bper cent\b|\bpour cent\b|\bpor ciento\b", "percent"),
    (r"\b(?:anderthalb|eineinhalb)\b", "1.5"),
    (r"\b(an?|1) (minute|hour|day|week|month|year) and a half\b", r"1.5 \2"),
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
    (r"\b(?:square (?:metres?|meters?)|metres? carres?|metros? cuadrados?)|(?<=\d) ?m2\b", "sqm"),
    (r"\b(?:square (?:feet|foot)|sq\.? ?ft)\b", "sqft"),
    (r"\bkm ?/ ?h\b|\bkph\b", "kmh"),
    (r"\b(dure|dura|duran|lleva|pendant|durante|une|una) heure et demie\b", r"\1 1.5 heures"),
    (r"\b(dure|dura|duran|lleva|pendant|durante|une|una) hora y media\b", r"\1 1.5 horas"),
)
# Sizes in different units are the same if they differ by less: "6 miles", "just under ten kilometres".
_ROUNDED = 0.04
# A year of two figures up to this one is of this century.
_THIS_CENTURY = 40


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the values of two texts compare."""

    common: int
    # The dimensions in which each text has a value that the other does not have.
    clashing: frozenset[str]
    # The number of values that only one text has, for each text.
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
    if one.dimension == two.dimension == "measure" and _converted(one, two):
        return True
    return one.dimension == two.dimension and not one.meant.isdisjoint(two.meant)


def _converted(one: Value, two: Value) -> bool:
    """Whether one is roughly the other in another unit: acres and hectares, miles and kilometres."""
    if not float(one.figure or 0) or not float(two.figure or 0):
        return False
    (ours, mine), (theirs, other) = (_size(value) for value in (one, two))
    units = [size / float(value.figure) for size, value in ((ours, one), (theirs, two))]
    return (
        mine == other
        and units[0] != units[1]
        and abs(ours - theirs) <= _ROUNDED * max(ours, theirs)
    )


def _size(value: Value) -> tuple[float, str]:
    """A measure in its base unit, and the unit's name."""
    (meant,) = value.meant
    size, _, name = meant.partition(" ")
    return float(size), name


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
    for pattern, read in readers():
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
_LARGE = re.compile(rf"{NUMBER} ?(?P<unit>k|mio|million|millions|millionen|millones)\b")
_FAHRENHEIT = re.compile(rf"{NUMBER} ?(?:°|degrees?|grad|degres?|grados?)? ?(?:f|fahrenheit)\b")
_SHORT_YEAR = re.compile(r"(?<!\w)['’](\d\d)(?![\w'’])")
_GROUP = re.compile(r"(?<=\d)[ ,.' ](?=\d{3}(?!\d))")


def _marked(text: str, language: str) -> str:
    """The text with figures for number words, and marks for months, units and parts of the day."""
    text = _SHORT_YEAR.sub(_full_year, _CODE.sub(" ; ", text))
    for phrase, mark in _PHRASES:
        text = re.sub(phrase, mark, text)
    known = number_words(language)
    text = _several_words(language).sub(lambda match: str(known[match[0]]), text)
    text = _WORD.sub(lambda match: str(known.get(match[0], match[0])), text)
    text = _DOZEN.sub(" 12", _COUNT.sub(_counted, re.sub(r"\ba (?=100\b)", "", text)))
    decimal = "." if language == "english" else ","
    text = _GROUP.sub(lambda match: match[0] if match[0] == decimal else "", text)
    text = _FAHRENHEIT.sub(_celsius, _LARGE.sub(_enlarged, text))
    marks = _marks(language)
    return _WORD.sub(lambda match: marks.get(match[0], match[0]), text)


@cache
def _marks(language: str) -> dict[str, str]:
    lines = (FOLDER / "values.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ") for line in lines if not line.startswith("#"))
    found = {word: f"<{mark}>" for mark, words in pairs for word in words.split()}
    return found | _OF_LANGUAGE.get(language, {})


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


def _celsius(match: re.Match[str]) -> str:
    return f"{round((amount(match['number']) - 32) / 1.8)} °"


def _full_year(match: re.Match[str]) -> str:
    """ "'41" is 1941, "'24" 2024."""
    return f"{19 if int(match[1]) > _THIS_CENTURY else 20}{match[1]}"


def _enlarged(match: re.Match[str]) -> str:
    return plain(amount(match["number"]) * (1_000 if match["unit"] == "k" else 1_000_000))
