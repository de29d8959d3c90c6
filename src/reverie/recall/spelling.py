"""Corrects typing errors in a question, towards words of the memories or of English.

An error is one letter too many or too few, a wrong letter, or two letters swapped. Only unknown
words are corrected, and a name only if two letters are swapped or one is doubled: "Klin" means
"Kiln", but "Gregor" is not an error for "Grigor".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Protocol

from reverie.text import thesaurus
from reverie.text.words import ENGLISH, QueryWord, leaning, plain_words, query_words, stem

# Shorter words are never corrected; in one with fewer than five letters, a wrong letter is no
# error.
SHORTEST = 3
# How many words of a question are checked.
MOST = 6
_WORD = re.compile(r"[A-Za-z]+")
_SHORT = 3
_LONG = 5
_SHORTEST_STEM = 4
_LONGEST_ENDING = 6
_ENDINGS = (
    "ing",
    "ings",
    "ed",
    "er",
    "ers",
    "ance",
    "ence",
    "ation",
    "ations",
    "ment",
    "ments",
    "ity",
)
# The cost of each kind of error.
SWAPPED = DOUBLED = 1
LOST = 2
CHANGED = 3


class Vocabulary(Protocol):
    """The terms of the searched memories."""

    def rows(self, term: str) -> int:
        """How many passages have a term."""
        ...

    def near(self, letter: str, length: int) -> Sequence[str]:
        """Terms that begin with a letter and have about that length."""
        ...

    def written(self, term: str) -> str:
        """A word of a memory with this stem, as it is written there."""
        ...


def corrected(text: str, known: Vocabulary) -> str:
    """The text with its typing errors corrected."""
    unknown = {word.word for word in query_words(text) if _strange(word, known)}
    if not unknown or leaning(plain_words(text)) not in (None, "english"):
        return text
    strange = [
        match
        for match in _WORD.finditer(text)
        if match[0].lower() in unknown and not match[0].isupper()
    ]
    if not 0 < len(strange) <= MOST:
        return text
    done, found = 0, []
    for match in strange:
        word, capital = match[0].lower(), match[0][0].isupper()
        meant = _name(word, known) if capital and match.start() else _intended(word, known)
        meant = meant.capitalize() if meant and capital else meant
        found += [text[done : match.start()], meant or match[0]]
        done = match.end()
    return "".join((*found, text[done:]))


def _strange(word: QueryWord, known: Vocabulary) -> bool:
    """Whether a word is in neither the memories nor English."""
    if len(word.word) < SHORTEST or any(map(known.rows, word.terms)):
        return False
    plain = word.word
    return not (
        plain in ENGLISH
        or plain in thesaurus.common_words()
        or thesaurus.knows(plain)
        or stem(plain, "english") in thesaurus.common()
    )


def _intended(word: str, known: Vocabulary) -> str | None:
    """The word one error away, if one is closer than all others; a memory's word wins."""
    most = LOST if len(word) < _LONG else CHANGED
    sizes = {
        other: size
        for other, size in _slips(word, _english().get(word[0], ())).items()
        # Another common word may be intended: "wrote" is not an error for "write".
        if size <= (LOST if other in ENGLISH else DOUBLED)
    }
    for form in dict.fromkeys((stem(word, "english"), word)):
        for term, size in _slips(form, known.near(form[0], len(form))).items():
            sizes[term] = min(size, sizes.get(term, size))
    least = min(sizes.values(), default=most + 1)
    nearest = [one for one, size in sizes.items() if size == least <= most]
    # Common words come first, then those of memories.
    kept = [one for one in nearest if one in ENGLISH]
    kept = kept or [one for one in nearest if known.rows(one)] or nearest
    if len(kept) == 1:
        return known.written(kept[0])
    return None if kept else _by_ending(word, known)


def _name(word: str, known: Vocabulary) -> str | None:
    """The intended name, if two letters were swapped or one was doubled."""
    forms = {word, stem(word, "english")}
    near = _slips(word, known.near(word[0], len(word)))
    written = {known.written(term) for term in near}
    meant = {one for one in written if any(0 < slip(form, one) <= DOUBLED for form in forms)}
    return meant.pop() if len(meant) == 1 else None


def _by_ending(word: str, known: Vocabulary) -> str | None:
    """The word of a memory, if the error is in its ending: "tastng" for "tasting"."""
    for cut in range(2, min(_LONGEST_ENDING, len(word) - _SHORTEST_STEM) + 1):
        term, ending = word[:-cut], word[-cut:]
        if known.rows(term) and any(slip(ending, one) for one in _ENDINGS):
            return known.written(term)
    return None


def _slips(form: str, others: Iterable[str]) -> dict[str, int]:
    """The words one error away, with its cost."""
    found: dict[str, int] = {}
    for other in others:
        # One error leaves the beginning or the end of a longer word intact.
        near = len(form) <= _SHORT + 1 or form[:2] == other[:2] or form[-2:] == other[-2:]
        if near and len(other) >= SHORTEST and (size := slip(form, other)):
            found[other] = size
    return found


@lru_cache(maxsize=1)
def _english() -> dict[str, list[str]]:
    """Common words by their first letter."""
    found: dict[str, list[str]] = {}
    for word in sorted(ENGLISH | thesaurus.common_words()):
        if len(word) > _SHORT:
            found.setdefault(word[0], []).append(word)
    return found


def slip(one: str, other: str) -> int:
    """The cost of the one error between two words; 0 if they are equal, or further apart."""
    if one == other or abs(len(one) - len(other)) > 1:
        return 0
    start = next(n for n, (a, b) in enumerate(zip_longest(one, other)) if a != b)
    rest, against = one[start:], other[start:]
    if len(one) != len(other):
        longer, shorter = (rest, against) if len(rest) > len(against) else (against, rest)
        if longer[1:] != shorter:
            return 0
        return DOUBLED if start and longer[0] == one[start - 1] else LOST
    if rest[1:2] + rest[:1] + rest[2:] == against:
        return SWAPPED
    return CHANGED if rest[1:] == against[1:] else 0
