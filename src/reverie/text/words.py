"""Words of texts in many languages: stop words, language detection, stemming and index terms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import Stemmer

_NAMES = [
    "english",
    "german",
    "french",
    "spanish",
    "italian",
    "portuguese",
    "dutch",
    "russian",
    "arabic",
]


def _stop_words(language: str) -> frozenset[str]:
    file = Path(__file__).with_name("stop_words") / f"{language}.txt"
    return frozenset(file.read_text(encoding="utf-8").split())


STOP_WORDS: Mapping[str, frozenset[str]] = {name: _stop_words(name) for name in _NAMES}
ENGLISH = STOP_WORDS["english"]
LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")
# Languages that write compounds as one word: Datenbankverbindung, ziekenhuisbed.
COMPOUNDING = frozenset({"german", "dutch"})
_LANGUAGES_OF: Mapping[str, tuple[str, ...]] = {
    word: tuple(name for name in LATIN if word in STOP_WORDS[name])
    for word in frozenset[str]().union(*(STOP_WORDS[name] for name in LATIN))
}
# By how many stop words another language must lead over English.
_MARGIN = 2


def language(words: list[str]) -> str:
    """The language of most function words; English when in doubt."""
    for word in words[:40]:
        if word[0] >= "\u0400":
            script = _script(word[0])
            if script:
                return script
    counts = _counts(words[:200])
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= counts["english"] + _MARGIN else "english"


def _counts(words: list[str]) -> dict[str, int]:
    """How many stop words of each language there are."""
    counts = dict.fromkeys(LATIN, 0)
    for word in words:
        for name in _LANGUAGES_OF.get(word, ()):
            counts[name] += 1
    return counts


def leaning(words: list[str]) -> str | None:
    """The likely language of a short question; None if no function word identifies one."""
    found = language(words)
    if found != "english":
        return found
    counts = _counts(words)
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def _script(char: str) -> str | None:
    if "\u0400" <= char <= "\u04ff":
        return "russian"
    return "arabic" if "\u0600" <= char <= "\u06ff" else None


# Increase when the same text would give other terms, so that indexes are rebuilt.
VERSION = f"1-{Stemmer.version()}"
LONGEST_WORD = 64
# Words of this length may be compounds; they are indexed reversed, so that an ending finds them.
COMPOUND_LENGTH = 9
SHORTEST_PART = 4

_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_NAME = re.compile(r"[A-Za-z0-9]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


# Compiling these two takes milliseconds, and most texts need neither.
@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"(?P<paired>[{_PAIRED}]+)|(?:[^\W_{_PAIRED}]|[{_MARKS}])+")


@cache
def _han() -> re.Pattern[str]:
    return re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class _Folding(dict[int, str]):
    """A table for `str.translate` that computes each letter's plain form on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        # Marks are removed only where they are accents; in Indic scripts they are vowels.
        if code < 0x0700 or 0x1E00 <= code < 0x2000:
            plain = "".join(
                c for c in unicodedata.normalize("NFKD", char) if not unicodedata.combining(c)
            )
        else:
            plain = char
        self[code] = plain.replace("\u0640", "")
        return self[code]


_FOLDING = _Folding()


def fold(text: str) -> str:
    """Lower-case without accents, with compatibility forms (full width, ligatures) resolved."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_FOLDING)


def plain_words(text: str) -> list[str]:
    """The folded words; parts of camelCase names follow the whole name."""
    humps = _humps(text)
    folded = fold(text)
    words = _ASCII_WORD.findall(folded) if folded.isascii() else _other_words(folded)
    return words + humps if humps else words


def _humps(text: str) -> list[str]:
    found: list[str] = []
    if not _CAMEL.search(text):
        return found
    for name in _NAME.findall(text):
        if len(name) <= LONGEST_WORD and _CAMEL.search(name):
            found += [part.lower() for part in _HUMP.findall(name) if len(part) > 1]
    return found


def _other_words(folded: str) -> list[str]:
    words: list[str] = []
    for match in _word().finditer(folded):
        if match["paired"]:
            words += _pairs(match[0])
        else:
            words.append(match[0])
    return words


def _pairs(run: str) -> list[str]:
    """Overlapping pairs, for scripts without spaces; single Han characters are words too."""
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)] + _han().findall(run)


@lru_cache(maxsize=1)
def _stemmers() -> dict[str, Stemmer.Stemmer]:
    return {name: Stemmer.Stemmer(name) for name in STOP_WORDS}


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    if len(word) > LONGEST_WORD:
        return word[:LONGEST_WORD]
    stemmed: str = _stemmers()[language].stemWord(word)
    return stemmed


def root(word: str) -> str:
    """The stem of a word, for comparing texts regardless of language."""
    return stem(word, "english") if word.isascii() and word.isalpha() else word


@lru_cache(maxsize=16)
def spoken_words(text: str) -> tuple[list[str], str]:
    """The words of a text and its language; a memory's parts often say the same."""
    words = plain_words(text)
    return words, language(words)


def terms(text: str) -> list[str]:
    """Every term a text is indexed under, in order."""
    return list(_stems(text))


@lru_cache(maxsize=16)
def _stems(text: str) -> tuple[str, ...]:
    words, spoken = spoken_words(text)
    return tuple([stem(word, spoken) for word in words])


def fields(*texts: str) -> tuple[str, ...]:
    """The terms of each text as one string, and last the tails of all texts, for one index row.

    Tails are long words of compounding languages, reversed, so that an ending can be searched as a
    prefix.
    """
    columns = [" ".join(_stems(text)) for text in texts]
    whole = [word for text in texts for word in spoken_words(text)[0]]
    tails = _tails(whole) if language(whole) in COMPOUNDING else []
    return (*columns, " ".join(tails))


def _tails(words: list[str]) -> list[str]:
    return [
        stem(word, "german")[::-1]
        for word in words
        if COMPOUND_LENGTH <= len(word) <= LONGEST_WORD and word.isalpha()
    ]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a question and its possible index terms."""

    word: str
    terms: tuple[str, ...]


@lru_cache(maxsize=64)
def query_words(text: str) -> tuple[QueryWord, ...]:
    """The words of a question without stop words and duplicates; all words if none would remain."""
    words = plain_words(text)
    spoken = leaning(words)
    stop = ENGLISH | STOP_WORDS.get(spoken or "english", frozenset())
    kept = [word for word in words if word not in stop] or words
    single_han = {
        word for word in kept if len(word) == 1 and not word.isascii() and _han().match(word)
    }
    if len(single_han) < len(kept):
        kept = [word for word in kept if word not in single_han]
    return tuple(QueryWord(word, _alternatives(word, spoken)) for word in dict.fromkeys(kept))


def _alternatives(word: str, spoken: str | None) -> tuple[str, ...]:
    if spoken in {"russian", "arabic"}:
        return tuple(dict.fromkeys((stem(word, spoken), stem(word, "english"))))
    # Too short to recognise the language, so the word may be indexed under any of these stems.
    candidates = LATIN if spoken is None else tuple({spoken: 1, "english": 1})
    return tuple(dict.fromkeys(stem(word, name) for name in candidates))


def compounding(text: str) -> bool:
    """Whether a question is in a language whose compounds should be split."""
    return leaning(plain_words(text)) in COMPOUNDING


def said_once(parts: Iterable[str], joint: str = "\n") -> str:
    """The texts in order, without those whose words another text contains.

    A title is often the start of its text, cut with an ellipsis.
    """
    given = [part.strip() for part in parts]
    plain = [" ".join(fold(part).split()).rstrip(" .…!?") for part in given]
    kept = [
        part
        for at, part in enumerate(given)
        if plain[at]
        and not any(
            plain[at] in other and (len(plain[at]) < len(other) or n < at)
            for n, other in enumerate(plain)
            if n != at
        )
    ]
    return joint.join(kept)
