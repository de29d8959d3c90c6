"""Signs from word meaning: how close the words of two texts are, and how informative the unmatched ones.

The same fact in other words has close words for what differs; two facts differ in an informative
word without a counterpart. The sentences of two texts are paired the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from reverie.text import meaning
from reverie.text.statements import Token

_VALUES = ("number", "day")
_MOST_UNMATCHED = 4.0
# Each word is compared with each of the other text, so of long texts only the beginning is judged.
_MOST_WORDS = 24
_MOST_SENTENCES = 4
_MOST_TIMES = 4
_CLAUSE = re.compile(r"[,:] +| +(?:and|but|because|und|aber|weil|et|mais|y|pero|porque) +")


def closest_sentences(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, str]:
    """The sentence of each text that has most in common with one of the other.

    A sentence that is much longer than the other is compared by its clauses.
    """
    if len(ours) == len(theirs) == 1:
        ours, theirs = _clauses(ours[0], theirs[0]), _clauses(theirs[0], ours[0])
        if len(ours) == len(theirs) == 1:
            return ours[0], theirs[0]
    ours, theirs = ours[:_MOST_SENTENCES], theirs[:_MOST_SENTENCES]
    pairs = [(mine, other) for mine in ours for other in theirs]
    return max(pairs, key=lambda pair: in_common(*pair))


def _clauses(text: str, other: str) -> Sequence[str]:
    if len(text.split()) <= _MOST_TIMES * len(other.split()):
        return [text]
    return [part for part in _CLAUSE.split(text) if len(part.split()) > 1] or [text]


@lru_cache(maxsize=4_096)
def _words_of(text: str) -> tuple[str, ...]:
    words = text.lower().split()[:_MOST_WORDS]
    return tuple("".join(filter(str.isalnum, word)) for word in words)


def in_common(one: str, other: str) -> float:
    """How much of the meaning of each of two texts the other has."""
    ours, theirs = _words_of(one), _words_of(other)
    return meaning.covered(ours, theirs) + meaning.covered(theirs, ours)


def meaning_signs(
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> dict[str, float]:
    """The signs of a new and an old text, by their content words and those that only one has."""
    if not meaning.known():
        return {}
    tokens = tokens[0][:_MOST_WORDS], tokens[1][:_MOST_WORDS]
    alone = alone[0][:_MOST_WORDS], alone[1][:_MOST_WORDS]
    return _nearness(tokens, alone) | _unmatched(tokens, alone)


def _nearness(
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> dict[str, float]:
    new, old = (_written(side) for side in tokens)
    words = [_written(side, "word", "quantity") for side in tokens]
    rest = [_written(side, "word", "quantity") for side in alone]
    names = [_written(side, "name", "code") for side in alone]
    said = meaning.covered(words[0], old), meaning.covered(words[1], new)
    left = meaning.covered(rest[0], old), meaning.covered(rest[1], new)
    each = [meaning.nearest(word, old) for word in rest[0]]
    each += [meaning.nearest(word, new) for word in rest[1]]
    return {
        "meaning": meaning.together(new, old),
        "meaning of words": meaning.together(*words),
        "least meant": min(said),
        "most meant": max(said),
        "least of the rest meant": min(left),
        "most of the rest meant": max(left),
        "meaning of the rest": meaning.together(*rest) if any(rest) else 1.0,
        "furthest word": min(each, default=1.0),
        "nearest of the rest": max(
            (meaning.near(a, b) for a in rest[0] for b in rest[1]), default=0
        ),
        "meaning of other names": meaning.together(*names),
    }


def _unmatched(
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> dict[str, float]:
    """How informative the common words are, and those without a counterpart."""
    differ = [[t for t in side if t.kind not in _VALUES and not t.verb] for side in alone]
    shared = [
        [t for t in side if t.kind not in _VALUES and not any(t is one for one in own)]
        for side, own in zip(tokens, alone, strict=True)
    ]
    known = _written(tokens[1]), _written(tokens[0])
    left = [
        [_information_of(t) * (1 - max(0.0, meaning.nearest(_word(t), others))) for t in side]
        for side, others in zip(differ, known, strict=True)
    ]
    most = [max(side, default=0.0) for side in left]
    common = sum(_information_of(t) for side in shared for t in side)
    total = common + sum(_information_of(t) for side in differ for t in side)
    values = all(any(t.kind in _VALUES for t in side) for side in alone)
    part = common / total if total else 0.5
    return {
        "most told by both": max(map(_information_of, shared[0]), default=0.0),
        "told by both": part,
        "told by new alone": most[0],
        "told by old alone": most[1],
        "told by each alone": min(most),
        "all told by new alone": min(_MOST_UNMATCHED, sum(left[0])),
        "all told by old alone": min(_MOST_UNMATCHED, sum(left[1])),
        "values differ, told by both": values * part,
        "values differ, told by each alone": values * min(most),
    }


def _information_of(token: Token) -> float:
    return meaning.information(_word(token))


def _word(token: Token) -> str:
    return token.word or token.key


def _written(tokens: Sequence[Token], *kinds: str) -> tuple[str, ...]:
    """The words of these kinds; without a kind, all but figures and days."""
    if not kinds:
        return tuple([t.word or t.key for t in tokens if t.kind not in _VALUES])
    return tuple([t.word or t.key for t in tokens if t.kind in kinds])
