"""Corrects words of a question that no memory contains, if one term of the store is one slip away.

A slip is a letter too many or too few, another letter, or two that changed places. Only words that
are no words we know are read so, and no names: "Gregor" is not a slip for "Grigor".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

from reverie.text import thesaurus
from reverie.text.words import ENGLISH, leaning, plain_words, query_words, stem

SHORTEST = 5
# Of one question, so many words are looked at.
MOST = 6
_WORD = re.compile(r"[A-Za-z]+")


def corrected(
    text: str, rows: Callable[[str], int], near: Callable[[str, int], Sequence[str]]
) -> str:
    """The text with its slips corrected; `near` are a store's terms by first letter and length."""
    if leaning(plain_words(text)) not in (None, "english"):
        return text
    strange = {
        word.word
        for word in query_words(text)
        if len(word.word) >= SHORTEST and not any(map(rows, word.terms)) and not _known(word.word)
    }
    if not 0 < len(strange) <= MOST:
        return text
    mended = {word: found for word in strange if (found := _meant(word, near))}

    def put(match: re.Match[str]) -> str:
        word = match[0]
        name = word[0].isupper() and match.start() > 0
        return word if name else mended.get(word.lower(), word)

    return _WORD.sub(put, text) if mended else text


def _known(word: str) -> bool:
    return word in ENGLISH or word in thesaurus.common_words() or thesaurus.knows(word)


def _meant(word: str, near: Callable[[str, int], Sequence[str]]) -> str | None:
    """The term that is one slip away, if there is exactly one."""
    for form in dict.fromkeys((stem(word, "english"), word)):
        found = [term for term in near(form[0], len(form)) if one_slip(form, term)]
        if len(found) == 1:
            return found[0]
    return None


def one_slip(one: str, other: str) -> bool:
    """Whether two words differ by one slip: a letter added, lost, changed, or two exchanged."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next(n for n, (a, b) in enumerate(zip_longest(one, other)) if a != b)
    rest, against = one[start:], other[start:]
    if len(one) != len(other):
        longer, shorter = (rest, against) if len(rest) > len(against) else (against, rest)
        return longer[1:] == shorter
    swapped = rest[1:2] + rest[:1] + rest[2:]
    return rest[1:] == against[1:] or swapped == against
