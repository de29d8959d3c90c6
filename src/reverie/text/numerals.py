"""Number words from one to a hundred, and whole hundreds, in four languages, cardinal and ordinal, without accents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

# The words for 1 to 19, for the tens from 20 on, and the ordinals of both.
_ENGLISH = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
)
_GERMAN = (
    "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft dreizehnt vierzehnt funfzehnt "
    "sechzehnt siebzehnt achtzehnt neunzehnt",
)
_FRENCH = (
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf",
    "vingt trente quarante cinquante soixante",
)
_SPANISH = (
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis "
    "diecisiete dieciocho diecinueve",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "primer segund tercer cuart quint sext septim octav noven decim",
)
_SPANISH_HUNDREDS = "dosc tresc cuatroc quin seisc setec ochoc novec"
# Words that mostly mean something else: "one of them", "a second", "un", "acht geben", "segundo".
_AMBIGUOUS = frozenset({"first", "second", "un", "segundo", "segunda", "seconde"})


@cache
def number_words(language: str) -> dict[str, int]:
    """The numbers of a language by their words, longest words first; empty for other languages."""
    makers = {"english": _english, "german": _german, "french": _french, "spanish": _spanish}
    maker = makers.get(language)
    found = {} if maker is None else {word: n for word, n in maker() if word not in _AMBIGUOUS}
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _english() -> Iterator[tuple[str, int]]:
    small, tens, ordinals = (one.split() for one in _ENGLISH)
    yield "hundred", 100
    yield from ((f"{word} hundred", 100 * n) for n, word in enumerate(small[:9], start=1))
    for number, (word, ordinal) in enumerate(zip(small, ordinals, strict=True), start=1):
        yield word, number
        yield ordinal, number
    for ten, word in enumerate(tens, start=2):
        yield word, ten * 10
        yield f"{word[:-1]}ieth", ten * 10
        for one in range(9):
            yield f"{word}-{small[one]}", ten * 10 + one + 1
            yield f"{word}-{ordinals[one]}", ten * 10 + one + 1


def _german() -> Iterator[tuple[str, int]]:
    small, tens, ordinals = (one.split() for one in _GERMAN)
    yield "hundert", 100
    units = ["ein", *small[1:9]]
    yield from ((f"{word}hundert", 100 * n) for n, word in enumerate(units, start=1))
    stems = [*enumerate(ordinals, start=1)]
    yield from ((word, number) for number, word in enumerate(small, start=1))
    for ten, word in enumerate(tens, start=2):
        yield word, ten * 10
        stems.append((ten * 10, f"{word}st"))
        for one, unit in enumerate(units, start=1):
            yield f"{unit}und{word}", ten * 10 + one
            stems.append((ten * 10 + one, f"{unit}und{word}st"))
    for number, stem in stems:
        yield from ((f"{stem}{ending}", number) for ending in ("e", "en", "er", "es", "em"))


def _french() -> Iterator[tuple[str, int]]:
    small, tens = (one.split() for one in _FRENCH)
    words = dict(enumerate(small, start=1)) | {
        10 * at: word for at, word in enumerate(tens, start=2)
    }
    for number in range(21, 100):
        base = 60 if number < 80 else 80
        base = number // 10 * 10 if number < 60 else base
        rest = number - base
        head = "quatre-vingt" if base == 80 else words[base]
        if rest:
            joined = "-et-" if rest in (1, 11) and base != 80 else "-"
            words[number] = f"{head}{joined}{small[rest - 1]}"
    words |= {80: "quatre-vingts", 100: "cent"}
    for number, word in enumerate(small[1:9], start=2):
        yield from ((f"{word} cents", 100 * number), (f"{word} cent", 100 * number))
    yield from (("premier", 1), ("premiere", 1), ("seconde", 2))
    for number, word in words.items():
        yield word, number
        yield word.replace("-", " "), number
        if number > 1:
            yield f"{_french_ordinal(word)}ieme", number


def _french_ordinal(word: str) -> str:
    if word.endswith("cinq"):
        return f"{word}u"
    if word.endswith("neuf"):
        return f"{word[:-1]}v"
    return word.rstrip("s") if word == "quatre-vingts" else word.removesuffix("e")


def _spanish() -> Iterator[tuple[str, int]]:
    small, tens, ordinals = (one.split() for one in _SPANISH)
    yield from (("cien", 100), ("primer", 1), ("tercer", 3))
    yield from ((word, number) for number, word in enumerate(small, start=1))
    for number, word in enumerate(_SPANISH_HUNDREDS.split(), start=2):
        yield f"{word}ientos", 100 * number
    yield from (
        (f"{stem}{end}", n) for n, stem in enumerate(ordinals, start=1) for end in ("o", "a")
    )
    for ten, word in enumerate(tens, start=2):
        yield word, ten * 10
        for one, unit in enumerate(small[:9], start=1):
            yield f"veinti{unit}" if ten == 2 else f"{word} y {unit}", ten * 10 + one
