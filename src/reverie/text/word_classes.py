"""The closed word classes of four languages, synonyms and near words, and the language of a text.

`forms/*.toml` holds the classes of words (articles, negations, conditions, relations with one
value), `forms/synonyms.txt` the groups that say the same, `forms/near.txt` those that often do,
`forms/alternatives.txt` things of one kind, of which a subject mostly has one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from reverie.text import words
from reverie.text.numerals import number_words
from reverie.text.rewriting import Rewrite

Kind: TypeAlias = Literal["word", "number", "day", "name", "code", "speaker", "quantity"]
Relation: TypeAlias = Literal["copula", "single", "multiple", "owner", "other"]

# Only the beginning of a longer text is compared, since a memory's claim is short.
LONGEST = 2_000
# The languages with a file of forms, and how many words are examined to recognise one.
_READ = ("english", "german", "french", "spanish")
_SAMPLE = 60
# A shorter synonym stands for the exact word only, not for words with this stem.
SHORTEST_STEMMED = 4
FOLDER = Path(__file__).with_name("forms")


@dataclass(frozen=True, slots=True)
class Forms:
    """The closed classes of one language."""

    fillers: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    speakers: frozenset[str] = frozenset()
    copulas: frozenset[str] = frozenset()
    light: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    multiple: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    # Vague verbs, each with the number of its group: "is kept in", "lives in", "is in".
    vague: Mapping[str, int] = field(default_factory=dict)
    negations: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    quantities: frozenset[str] = frozenset()
    definite: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    possessives: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    posts: frozenset[str] = frozenset()
    able: frozenset[str] = frozenset()
    passive: str = ""
    frames: re.Pattern[str] | None = None
    adverbs: re.Pattern[str] | None = None
    since: re.Pattern[str] | None = None
    cues: re.Pattern[str] | None = None
    denials: re.Pattern[str] | None = None
    splits: re.Pattern[str] | None = None
    former: tuple[re.Pattern[str], ...] = ()
    spelling: tuple[Rewrite, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    counted: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word before its role in the sentence is known."""

    word: str
    key: str
    kind: Kind | Literal["sign"]
    verb: Relation | None = None
    vague: int = 0


@cache
def _data(language: str) -> dict[str, Any]:
    file = FOLDER / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def _vocabulary(language: str) -> frozenset[str]:
    data = _data(language)
    classes = [value for value in data.values() if isinstance(value, str)]
    return frozenset([*" ".join(classes).split(), *number_words(language), *_own_words(language)])


@cache
def forms(language: str) -> Forms:
    """The classes of a language; a language without a file has none."""
    if language not in _READ:
        return Forms()
    data = _data(language)
    sets = {
        name: frozenset(str(data[name]).split())
        for name in ("fillers", "prepositions", "speakers", "copulas", "negations", "always")
    }
    sets |= {
        name: frozenset(str(data[name]).split())
        for name in (
            "conditions",
            "quantities",
            "definite",
            "auxiliaries",
            "possessives",
            "beside",
            "posts",
            "able",
        )
    }
    verbs = {
        name: frozenset(words.stem(verb, language) for verb in str(data[name]).split())
        for name in ("light", "single", "multiple", "owners")
    }
    return Forms(
        **sets,
        **verbs,
        passive=data["passive"],
        frames=_any(data["frames"], r"^\s*", r"(?:\s+|$)"),
        adverbs=_any(data["adverbs"]),
        since=_any(data["since"]),
        cues=_any(data["cues"]),
        denials=_any(data["denials"]),
        splits=re.compile("|".join(data["splits"]), re.IGNORECASE),
        former=tuple(re.compile(one, re.IGNORECASE) for one in data["former"]),
        vague={
            words.stem(verb, language): number
            for number, group in enumerate(data["vague"], start=1)
            for verb in group.split()
        },
        spelling=tuple(Rewrite.of(*pair) for pair in data["spelling"]),
        rewrites=tuple(Rewrite.of(*pair) for pair in data["rewrites"]),
        numbers=number_words(language),
        counted=_counted(language),
    )


def _any(patterns: Sequence[str], start: str = r"\b", end: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(rf"{start}(?:{'|'.join(patterns)}){end}", re.IGNORECASE)


def _counted(language: str) -> re.Pattern[str]:
    """Number words of several parts, or any word: words that are not numbers stay as they are."""
    parts = "|".join(re.escape(word) for word in number_words(language) if not word.isalpha())
    return re.compile(rf"\b(?:{parts}|[^\W\d_]+)(?!\w)", re.IGNORECASE)


@cache
def _groups() -> Mapping[str, list[list[str]]]:
    """The groups of synonyms by section: one per language, and the shared ones."""
    found: dict[str, list[list[str]]] = {name: [] for name in ("shared", *_READ)}
    section = ""
    for line in (FOLDER / "synonyms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section:
            found[section].append(line.split())
    return found


def _own_words(language: str) -> set[str]:
    """The words of this language only; the first of a group may be a key of another language."""
    own = {word for group in _groups()[language] for word in group[1:]}
    return own - {word for name in _READ if name != language for g in _groups()[name] for word in g}


@cache
def synonyms(language: str) -> dict[str, str]:
    """The key of each word: the language's own groups take precedence over the shared ones."""
    found: dict[str, str] = {}
    for group in (*_groups()["shared"], *_groups().get(language, [])):
        found |= dict.fromkeys(group, group[0])
    # Other forms of a word belong to its group, too, unless it is short, like an abbreviation.
    long = {word: head for word, head in found.items() if len(word) >= SHORTEST_STEMMED}
    return {words.stem(word, language): head for word, head in long.items()} | found


@lru_cache(maxsize=16_384)
def near_groups(word: str, language: str) -> frozenset[int]:
    """The groups of words that often say the same as this one."""
    found = _lines_of("near", word, language)
    if not found and language == "german":
        # "Teamleiter" is a "Leiter".
        tails = (word[at:] for at in range(3, len(word) - SHORTEST_STEMMED))
        found = next(
            (lines for tail in tails if (lines := _lines_of("near", tail, language))), found
        )
    return found


def opposed(ours: Sequence[str], theirs: Sequence[str], language: str) -> bool:
    """Whether one side has a word and the other its opposite: "left", "right"."""
    return _in_one_line("opposites", ours, theirs, language)


def alternatives(ours: Sequence[str], theirs: Sequence[str], language: str) -> bool:
    """Whether one side has a word and the other another of its kind: "slate", "zinc"."""
    return _in_one_line("alternatives", ours, theirs, language)


def _in_one_line(file: str, ours: Sequence[str], theirs: Sequence[str], language: str) -> bool:
    sides = [
        {line for word in side for line in _lines_of(file, word, language)}
        for side in (ours, theirs)
    ]
    return not sides[0].isdisjoint(sides[1])


def _lines_of(file: str, word: str, language: str) -> frozenset[int]:
    known = _columns(file, language)
    return known.get(word) or known.get(words.stem(word, language), frozenset())


@cache
def _columns(file: str, language: str) -> dict[str, frozenset[int]]:
    """For each word of a language, its lines in a file of four columns."""
    found: dict[str, set[int]] = {}
    column = _READ.index(language) if language in _READ else 0
    lines = (FOLDER / f"{file}.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(line for line in lines if not line.startswith("#")):
        # Names that are the same in all languages are in a line of one column.
        columns = line.removeprefix("=").split("|")
        for word in columns[min(column, len(columns) - 1)].split():
            for form in (word, words.stem(word, language)):
                found.setdefault(form, set()).add(number)
    return {form: frozenset(numbers) for form, numbers in found.items()}


@cache
def negations() -> frozenset[str]:
    """The negations of every language that has a file."""
    return frozenset(word for name in _READ for word in str(_data(name)["negations"]).split())


@lru_cache(maxsize=16_384)
def _sample(text: str) -> tuple[str, ...]:
    return tuple(words.plain_words(text[:LONGEST])[:_SAMPLE])


@lru_cache(maxsize=16_384)
def _scores(text: str) -> tuple[int, ...]:
    """How many words of each language's lists are in a text."""
    found = _sample(text)
    return tuple(sum(word in _vocabulary(name) for word in found) for name in _READ)


@lru_cache(maxsize=4_096)
def language_of(*texts: str) -> str:
    """The language in which texts are compared; English if no function word identifies one."""
    found = [word for text in texts for word in _sample(text)]
    counts = [_scores(text) for text in texts]
    scores = {name: sum(one[at] for one in counts) for at, name in enumerate(_READ)}
    best = max(scores, key=lambda name: scores[name])
    leaning = words.leaning(found)
    if leaning in scores and scores[leaning] >= scores[best]:
        return leaning
    return best if scores[best] else leaning or "english"
