"""Normalises the words of a sentence.

Numbers, units, times, days, abbreviations and synonyms are compared by one key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from reverie.text import words
from reverie.text.word_classes import (
    FOLDER,
    SHORTEST_STEMMED,
    Forms,
    Kind,
    Relation,
    Word,
    synonyms,
)

_TOKEN = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<url>https?://[^\s<>\"'`)\]]{0,500}[^\s<>\"'`)\].,;:!?])"
    r"|(?P<time>\d{1,2}(?:[:.h]\d{2})? ?(?:[ap]\.?m\b\.?|uhr\b|o.clock\b|de la (?:manana|tarde|noche)\b"
    r"|in the (?:morning|afternoon|evening)\b|du (?:matin|soir)\b|morgens\b|nachmittags\b|abends\b)"
    r"|\d{1,2}(?:[:h]| h )\d{2}(?!\w|\.\d)(?: uhr\b)?|\d{1,2} ?h\b)"
    r"|(?P<word>[~./]?[^\W_]+(?:[._/:@+-]{1,3}[^\W_]+|(?<=\d),\d+)*%?)"
    r"|(?P<sign>[,:=()→%€$£])",
    re.IGNORECASE,
)
# A figure starts with digits, or with one letter and digits (v2, q3); eu-west-1 is a name.
_FIGURE = re.compile(r"[~./]?[^\W\d_]{0,2}\d")
_AMOUNT = re.compile(
    r"(\d[\d.,]*)(ms|secs?|s|mins?|hrs?|h|d|kb|[mgt]i?b|kg|mg|g|km|cm|mm|ml|cl|l|m²|m2|x|%|€|\$|£)"
)
# Rewrites of "half past" and "quarter to", where the named hour is the next one.
_BEFORE_HOUR = re.compile(r"(halb|quarterto)(\d{1,2})")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|er|ere|eme|e|ᵉ|º|ª|o|a)")
_UNITS = {"min": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "s": "second", "sec": "second"}
_UNITS |= {
    "mins": "minute",
    "secs": "second",
    "d": "day",
    "%": "percent",
    "x": "times",
    "m2": "metre2",
}
_CURRENCIES = {"€": "euro", "$": "dollar", "£": "pound"}
_UNITS |= _CURRENCIES
# Words with one stem but two meanings: "hermano" and "hermana", "voisin" and "voisine".
_GENDER = {
    "spanish": re.compile(
        r"(?:herman|hij|abuel|ti|prim|sobrin|nin|chic|amig|vecin|niet|cunad|suegr|novi|espos|gat|perr)"
        r"([ao])s?"
    ),
    "french": re.compile(r"(?:voisin|cousin|ami|copin|fiance|client|etudiant|employe)(e)s?"),
}
_KIN = frozenset(
    [
        "sister",
        "brother",
        "son",
        "daughter",
        "aunt",
        "uncle",
        "cousin",
        "nephew",
        "niece",
        "friend",
        "wife",
        "husband",
        "child",
        "kid",
        "soeur",
        "frere",
        "fils",
        "fille",
        "tante",
        "oncle",
        "neveu",
        "niece",
        "ami",
        "amie",
        "enfant",
        "hermano",
        "hermana",
        "hijo",
        "hija",
        "tio",
        "tia",
        "primo",
        "prima",
        "amigo",
        "amiga",
    ]
)
# "JWTs" is the plural of "JWT".
_ACRONYMS = re.compile(r"[A-Z]{2,}s")
_AGENT = re.compile(r"(\w{4,}?)(?:er|or)s?")
# German capitalises all nouns, so a title marks a name there.
_TITLES = frozenset({"herr", "herrn", "frau", "dr", "familie", "firma"})
# Units of time in seconds, so that two weeks equal fourteen days and three months ninety.
_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
    "month": 30 * 86_400,
    "year": 360 * 86_400,
}
_YEAR_OF_DAYS = 365 * 86_400
# Other units, by the base unit they are converted to.
_MEASURES: Mapping[str, tuple[str, float]] = {
    **{name: (name, 1) for name in ("euro", "dollar", "pound", "percent", "cent")},
    **{name: (name, 1) for name in ("kilobyte", "metre2")},
    "megabyte": ("megabyte", 1),
    "gigabyte": ("megabyte", 1_024),
    "terabyte": ("megabyte", 1_024**2),
    "gram": ("gram", 1),
    "kilogram": ("gram", 1_000),
    "milligram": ("gram", 0.001),
    "litre": ("litre", 1),
    "millilitre": ("litre", 0.001),
    "centilitre": ("litre", 0.01),
    "metre": ("metre", 1),
    "kilometre": ("metre", 1_000),
    "centimetre": ("metre", 0.01),
    "millimetre": ("metre", 0.001),
    "millisecond": ("s", 0.001),
    **{name: ("s", seconds) for name, seconds in _SECONDS.items()},
}
_SHORT = 5
_DAY_NAMES = """
monday tuesday wednesday thursday friday saturday sunday january february march
april mayday june july august september october november december
"""
_DAYS = frozenset(_DAY_NAMES.split()) | {"weekday", "weekend"}
MONTHS = _DAY_NAMES.split()[7:]
# "30/11", "5.5." and "18-12"; "2nd-12th" and "2-12" are two days.
_DAY_AND_MONTH = re.compile(r"(\d{1,2})([/.])(\d{1,2})(?:\2(?:\d{4}|\d\d))?")
_BEFORE_A_DAY = frozenset({"am", "vom", "bis", "zum", "ab", "seit", "den", "dem", "der"})
_FRACTIONS = frozenset({"24/7", "1/2", "1/3", "2/3", "1/4", "3/4"})
_FROM_TO = re.compile(r"(\d{1,4}(?:st|nd|rd|th)?)-(\d{1,4}(?:st|nd|rd|th)?)")


def folded(text: str) -> str:
    """The text without accents but with capitals, which mark names."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _fold_char(char) for char in text)


@lru_cache(maxsize=4_096)
def _fold_char(char: str) -> str:
    if char in "’‘":
        return "'"
    plain = words.fold(char)
    return plain.upper() if char.isupper() else plain


def read_words(clause: str, rules: Forms, language: str) -> Iterator[Word]:
    """Every word and sign, with numbers, units and times normalised."""
    previous = ""
    for match in _TOKEN.finditer(clause):
        text = match[0]
        if match["sign"]:
            unit = _UNITS.get(text)
            yield Word(text, unit, "word") if unit else Word(text, text, "sign")
        elif match["code"] or match["url"]:
            yield Word(text, (match["code"] or text).strip(), "code")
        elif match["time"]:
            yield Word(text, _time(text.lower()), "number")
        else:
            opening = previous == ""
            for one in _pieces(text):
                yield from _word(one, previous, rules, language, opening=opening)
                previous = one.lower()
        previous = text.lower()


def amounts(raw: Sequence[Word]) -> list[Word]:
    """Combine a number and its unit: two weeks are fourteen days, 500 g half a kilogram."""
    found: list[Word] = []
    for one in raw:
        before = found[-1] if found else None
        if before is not None and (figure := _figure(before, one) or _priced(before, one)):
            found[-1] = figure
        else:
            found.append(one)
    return found


def _figure(number: Word, unit: Word) -> Word | None:
    measure = _MEASURES.get(unit.key)
    if measure is None or number.kind != "number" or not re.fullmatch(r"\d+(\.\d+)?", number.key):
        return None
    size = float(number.key) * measure[1]
    if measure[0] == "s" and size == _YEAR_OF_DAYS:
        size = _SECONDS["year"]
    return Word(number.word, f"{size:.10g}{measure[0]}", "number")


def _priced(sign: Word, number: Word) -> Word | None:
    return _figure(number, sign) if sign.word in _CURRENCIES else None


def _pieces(text: str) -> list[str]:
    """Split hyphenated compounds, but not identifiers, versions and paths."""
    parts = text.split("-")
    if len(parts) > 1 and all(part.isalpha() for part in parts):
        # "e-mail", "Wi-Fi": short parts are no words.
        return ["".join(parts)] if len(parts[0]) == 1 or len("".join(parts)) <= _SHORT else parts
    return [text.rstrip(".:/")]


def _word(
    text: str, previous: str, rules: Forms, language: str, *, opening: bool
) -> Iterator[Word]:
    plain = text.lower()
    if figure := _told_figure(plain, previous, rules, language):
        yield from figure
        return
    if text == "May" and language == "english" and not opening:
        yield Word("mayday", "mayday", "day")
        return
    if _ACRONYMS.fullmatch(text):
        text, plain = text[:-1], plain[:-1]
    letter = len(text) == 1 and text.isupper() and text != "I" and not opening
    if text == "US" or (letter and not previous[-1:].isdigit() and previous[:6] != "degree"):
        # "vitamin D", "service B": not a function word.
        yield Word(f"{plain}.", plain, "name")
        return
    stem = _stem(plain, language)
    known = synonyms(language)
    # Names are not stemmed: Madrid has the stem of "madre".
    named = not opening and text[:1].isupper() and language != "german"
    short = named or (len(stem) < SHORTEST_STEMMED and stem != plain)
    key = known.get(plain) or (None if short else known.get(stem)) or stem
    if key == stem and (other := _other_person(plain, stem, language)):
        key = other
    if language in _GENDER and key == stem and (gender := _GENDER[language].fullmatch(plain)):
        key += gender[1] if language == "spanish" else f"-{gender[1]}"
    if key in _DAYS:
        yield Word(plain, key, "day")
        return
    name = previous in _TITLES if language == "german" else named
    yield Word(
        plain, key, "name" if name else "word", _verb(plain, stem, rules), rules.vague.get(stem, 0)
    )


def _other_person(plain: str, stem: str, language: str) -> str | None:
    """The key where a stem hides a difference: a designer is no design, two sisters are not one."""
    if plain.endswith("s") and plain != stem and plain[:-1] in _KIN:
        return f"many {stem}"
    agent = _AGENT.fullmatch(plain) if language == "english" else None
    return f"{stem}er" if agent and agent[1] == stem else None


def _told_figure(  # noqa: PLR0911 - one for each way to write a figure
    plain: str, previous: str, rules: Forms, language: str
) -> list[Word]:
    """Normalise a number, an ordinal or an amount with its unit; empty for other words."""
    if plain.isalpha():
        return _told_by_letters(plain, previous, rules, language)
    if day := _day_and_month(plain, previous, language):
        return day
    if (span := _FROM_TO.fullmatch(plain)) and span[1] != span[2]:
        return [
            one for end in span.groups() for one in _told_figure(end, previous, rules, language)
        ]
    if past := _BEFORE_HOUR.fullmatch(plain):
        minute = "30" if past[1] == "halb" else "45"
        return [Word(plain, f"{int(past[2]) - 1}:{minute}", "number")]
    if amount := _AMOUNT.fullmatch(plain):
        number = Word(amount[1], _number(amount[1], language), "number")
        return [number, Word(amount[2], _unit(amount[2], language), "word")]
    if ordinal := _ORDINAL.fullmatch(plain):
        return [Word(plain, ordinal[1], "number")]
    if told := _told_by_letters(plain, previous, rules, language):
        return told
    if any(char.isdigit() for char in plain) and plain not in synonyms(language):
        kind: Kind = "number" if _FIGURE.match(plain) else "code"
        return [Word(plain, _number(plain, language), kind)]
    return []


def _told_by_letters(plain: str, previous: str, rules: Forms, language: str) -> list[Word]:
    if plain in rules.numbers:
        return [Word(plain, str(rules.numbers[plain]), "number")]
    if plain in _UNITS and previous[-1:].isdigit():
        return [Word(plain, _unit(plain, language), "word")]
    return []


def _day_and_month(plain: str, previous: str, language: str) -> list[Word]:
    """A day in figures: the month comes first in English unless the figures say otherwise."""
    written = _DAY_AND_MONTH.fullmatch(plain)
    if written is None or plain in _FRACTIONS:
        return []
    if written[2] == "." and (language != "german" or previous not in _BEFORE_A_DAY):
        return []
    day, month = int(written[1]), int(written[3])
    if language == "english" and (month > 12 or day <= 12):
        day, month = month, day
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return []
    name = MONTHS[month - 1]
    return [Word(plain, str(day), "number"), Word(name, name, "day")]


def _unit(plain: str, language: str) -> str:
    return _UNITS.get(plain) or synonyms(language).get(plain, plain)


def _stem(plain: str, language: str) -> str:
    if language == "english":
        plain = _irregular().get(plain, plain)
    elif language == "german" and (participle := re.fullmatch(r"(\w{0,4}?)ge(\w{3,})t", plain)):
        plain = f"{participle[1]}{participle[2]}en"
    return words.stem(plain, language)


@cache
def _irregular() -> dict[str, str]:
    lines = (FOLDER / "irregular.txt").read_text(encoding="utf-8").splitlines()
    groups = (line.split() for line in lines if not line.startswith("#"))
    return {form: group[-1] for group in groups for form in group}


def _verb(plain: str, stem: str, rules: Forms) -> Relation | None:
    if plain in rules.copulas:
        return "copula"
    if stem in rules.owners:
        return "owner"
    if stem in rules.multiple:
        return "multiple"
    return "single" if stem in rules.single or stem in rules.light else None


def _time(text: str) -> str:
    """Normalise a time: 14:00 for 2pm, 14h, 14.00 Uhr and 14:00."""
    hour, minute = (*re.findall(r"\d+", text), "00")[:2]
    late = re.search(r"p\.?m|tarde|noche|afternoon|evening|soir|nachmittag|abend", text)
    return f"{int(hour) + (12 if late and int(hour) < 12 else 0)}:{minute}"


def _number(text: str, language: str) -> str:
    """Normalise a number: 1000 for 1,000 (or 1.000 with a decimal comma), 4.2 for 4,20."""
    if language != "english":
        text = re.sub(r"(?<=\d)\.(?=\d{3}(?:\.|,|$))", "", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).strip(".,:")
    if re.fullmatch(r"\d+[.,]\d{1,2}", text) and (language != "english" or "," in text):
        return f"{float(text.replace(',', '.')):g}"
    return text
