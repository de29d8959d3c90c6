"""What a text is about, in whatever words: groups of words that people use for the same thing.

The groups are data (`thesaurus/groups.txt`). They join "pager", "on call" and "Rufbereitschaft", so
that a question finds a memory that shares none of its words. `thesaurus/common.txt` holds the words
that English uses everywhere: sharing one of them says little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reverie.text import words as languages
from reverie.text.words import plain_words, stem

# Changes when the same text would give other groups: an index built before must be built again.
VERSION = "3"
_ABROAD = {"de": "german", "fr": "french", "es": "spanish", "nl": "dutch"}
_FOLDER = Path(__file__).with_name("thesaurus")
# The prefix of a group's term; no word begins with it.
_MARK = "zq"
# Shorter words are letters and abbreviations with many meanings.
_INITIALS = 2
# Words joined with others, or code: their parts may mean something else than alone.
_COMPOUND = re.compile(r"`[^`]*`|\S*\w[-/_.:@]\w\S*")


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
    """The groups of a text's stems, in a known language."""
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
    """The words of a text that are part of a group's phrase, such as "on call", with their groups."""
    words = plain_words(text)
    found: list[set[str]] = [set() for _ in words]
    spoken = languages.leaning(list(words)) or "english"
    _mark(found, words, _phrase_entries().get(spoken, {}), spoken)
    return {word: of for word, of in zip(words, found, strict=True) if of}


def knows(word: str) -> bool:
    """Whether an English word is in a group."""
    return stem(word, "english") in _entries()["english"]


@dataclass(frozen=True, slots=True)
class Topic:
    """A group that a text may be about: its words (the first is its name), and those that occur in the text."""

    words: tuple[str, ...]
    said: tuple[str, ...]


def topics_of(text: str) -> list[Topic]:
    """The topics of a text's specific, unambiguous words, with their English words.

    Groups of everyday verbs and adjectives name no topic. An ambiguous word, such as "press" or
    "cast", does not count; nor does a part of a compound such as "cast-iron".
    """
    plain = set(plain_words(_COMPOUND.sub(" ", text)))
    alone = {
        word: of for word, of in groups_by_word(text).items() if word in plain and len(of) == 1
    }
    said: dict[str, list[str]] = {}
    for found in (alone, groups_by_phrase(text)):
        for word, of in found.items():
            if len(of) == 1 and _is_unambiguous(word):
                said.setdefault(next(iter(of)), []).append(word)
    lines, everyday = _lines(), _everyday()
    topics = []
    for group, words in said.items():
        number = int(group.removeprefix(_MARK))
        names = tuple(p for spoken, p in _phrases(lines[number]) if spoken == "english")
        if number < everyday and names[0] not in _ambiguous():
            topics.append(Topic(names, tuple(dict.fromkeys(words))))
    return topics


def is_specific(word: str) -> bool:
    """Whether a word is long and rare enough to say what a text is about."""
    rare = word not in common_words() and stem(word, "english") not in common()
    return rare and len(word) > _INITIALS and not word.isdigit()


def _is_unambiguous(word: str) -> bool:
    return is_specific(word) and not {word, stem(word, "english")} & _ambiguous()


@lru_cache(maxsize=1)
def _ambiguous() -> frozenset[str]:
    """Words of groups that often mean something else, and their stems."""
    words = (_FOLDER / "ambiguous.txt").read_text(encoding="utf-8").split()
    return frozenset((*words, *(stem(word, "english") for word in words)))


@lru_cache(maxsize=1)
def _everyday() -> int:
    """The line after which the groups are of everyday words."""
    return next(n for n, line in enumerate(_lines()) if line.startswith("# --- plain English"))


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
        # Too short to recognise its language: a word that English lacks may be from another.
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
    """Read on first use."""
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
