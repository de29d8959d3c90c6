"""What a text is about, in whatever words: groups of words that people use for the same thing.

The groups are data (`thesaurus/groups.txt`). They join "pager", "on call" and "Rufbereitschaft", so
that a question finds a memory that shares none of its words. `thesaurus/common.txt` holds the words
that English uses everywhere: sharing one of them says little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reverie.text import words as languages
from reverie.text.words import plain_words, stem

# Changes when the same text would give other groups: an index built before must be built again.
VERSION = "2"
_ABROAD = {"de": "german", "fr": "french", "es": "spanish", "nl": "dutch"}
_FOLDER = Path(__file__).with_name("thesaurus")
# What the term of a group begins with; no word does.
_MARK = "zq"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A word or phrase as stems, and the group it is in."""

    stems: tuple[str, ...]
    group: str


# Entries of a language by their first stem.
_Entries = Mapping[str, tuple[_Entry, ...]]


def groups(text: str) -> frozenset[str]:
    """The groups a text belongs to, as terms to index."""
    return frozenset(group for found in _found(plain_words(text)) for group in found)


def groups_of(stems: Sequence[str], spoken: str) -> frozenset[str]:
    """The groups of the stems of a text in a known language."""
    known = _entries().get(spoken, _entries()["english"])
    return frozenset(
        entry.group
        for at, first in enumerate(stems)
        if first in known
        for entry in known[first]
        if len(entry.stems) == 1 or tuple(stems[at : at + len(entry.stems)]) == entry.stems
    )


def groups_by_word(text: str) -> dict[str, set[str]]:
    """The groups of each word of a text; those of a phrase belong to every word in it."""
    words = plain_words(text)
    known: dict[str, set[str]] = {}
    for word, found in zip(words, _found(words), strict=True):
        known.setdefault(word, set()).update(found)
    return known


def groups_by_phrase(text: str) -> dict[str, set[str]]:
    """The words of a text that stand in phrases of groups, such as "on call", with their groups."""
    words = plain_words(text)
    found: list[set[str]] = [set() for _ in words]
    spoken = languages.leaning(list(words)) or "english"
    _mark(found, words, _phrase_entries().get(spoken, {}), spoken)
    return {word: of for word, of in zip(words, found, strict=True) if of}


def knows(word: str) -> bool:
    """Whether an English word stands in a group."""
    return stem(word, "english") in _entries()["english"]


def phrases_for(text: str) -> list[tuple[str, ...]]:
    """The English words of groups that a telling word of a text is in, and it alone in no other.

    Smallest group first: a word in several groups, or one used everywhere, may mean something else.
    """
    lines = _lines()
    found = {
        int(group.removeprefix(_MARK))
        for word, of in groups_by_word(text).items()
        if len(of) == 1 and word not in common_words() and stem(word, "english") not in common()
        for group in of
    }
    phrases = [
        tuple(phrase for language, phrase in _phrases(lines[number]) if language == "english")
        for number in sorted(found)
    ]
    return sorted(phrases, key=len)


@lru_cache(maxsize=1)
def common() -> frozenset[str]:
    """Stems of the words that English uses everywhere."""
    return frozenset(stem(word, "english") for word in common_words())


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Words that English uses everywhere."""
    return frozenset((_FOLDER / "common.txt").read_text(encoding="utf-8").split())


def _found(words: Sequence[str]) -> list[set[str]]:
    known = _entries()
    spoken = languages.leaning(list(words))
    found: list[set[str]] = [set() for _ in words]
    _mark(found, words, known.get(spoken or "english", known["english"]), spoken or "english")
    if spoken is None:
        # Too short to tell its language: a word that English does not have may be another's.
        strange = [stem(word, "english") not in known["english"] for word in words]
        if any(strange):
            for language in _ABROAD.values():
                _mark(found, words, known[language], language, strange)
    return found


def _mark(
    found: list[set[str]],
    words: Sequence[str],
    known: _Entries,
    language: str,
    wanted: Sequence[bool] = (),
) -> None:
    stems = [stem(word, language) for word in words]
    for at, first in enumerate(stems):
        if wanted and not wanted[at]:
            continue
        for entry in known.get(first, ()):
            size = len(entry.stems)
            if size == 1 or tuple(stems[at : at + size]) == entry.stems:
                for place in range(at, at + size):
                    found[place].add(entry.group)


@lru_cache(maxsize=1)
def _lines() -> tuple[str, ...]:
    return tuple((_FOLDER / "groups.txt").read_text(encoding="utf-8").splitlines())


@lru_cache(maxsize=1)
def _entries() -> Mapping[str, _Entries]:
    """Read when the first text comes."""
    known: dict[str, dict[str, list[_Entry]]] = {"english": {}}
    for number, line in enumerate(_lines()):
        if line and not line.startswith("#"):
            for language, phrase in _phrases(line):
                stems = tuple(stem(word, language) for word in plain_words(phrase))
                entry = _Entry(stems, f"{_MARK}{number}")
                known.setdefault(language, {}).setdefault(stems[0], []).append(entry)
    return {
        language: {first: tuple(entries) for first, entries in by_stem.items()}
        for language, by_stem in known.items()
    }


@lru_cache(maxsize=1)
def _phrase_entries() -> Mapping[str, _Entries]:
    """Entries of several words."""
    return {
        language: {
            first: several
            for first, entries in by_stem.items()
            if (several := tuple(entry for entry in entries if len(entry.stems) > 1))
        }
        for language, by_stem in _entries().items()
    }


def _phrases(line: str) -> Iterator[tuple[str, str]]:
    for part in line.split(";"):
        sign, colon, rest = part.strip().partition(": ")
        language = _ABROAD[sign] if colon else "english"
        for phrase in (rest if colon else part).split(","):
            if phrase.strip():
                yield language, phrase.strip()
