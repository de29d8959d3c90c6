"""Whether two memories say the same: alike in words, with numbers, names and negations guarded."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Likeness = Literal["same", "extends", "differs", "unrelated"]

# Alike enough to be about one thing: below it, two texts merely share words.
_ABOUT_ONE_THING = 0.5
# Word pairs that must agree; "Alice reports to Bob" is not "Bob reports to Alice".
_SAME_ORDER = 0.4

_TOKEN = re.compile(r"[^\W_]+(?:['’.\-/_][^\W_]+)*|[^\W_]")
_NEGATIONS = frozenset(
    {"not", "no", "never", "none", "without", "nor", "neither", "cannot", "nobody", "nothing"}
    | {"avoid", "stop", "nicht", "kein", "keine", "nie", "pas", "jamais", "nunca"}
)
_STOP = frozenset(
    {
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "to",
        "of",
        "in",
        "on",
    }
    | {
        "at",
        "for",
        "by",
        "with",
        "as",
        "and",
        "that",
        "this",
        "these",
        "those",
        "it",
        "its",
        "they",
    }
    | {
        "their",
        "them",
        "he",
        "she",
        "his",
        "her",
        "i",
        "my",
        "me",
        "we",
        "our",
        "us",
        "you",
        "your",
    }
    | {"will", "would", "should", "must", "shall", "can", "do", "does", "did", "has", "have", "had"}
    | {"user", "person", "please", "always", "really", "very", "just", "so", "when", "s"}
)
# Said about the same wish; everything else must match as a word.
_SYNONYMS = {"like": "prefer", "favour": "prefer", "favor": "prefer", "colour": "color"}


@dataclass(frozen=True, slots=True)
class Match:
    """The candidate nearest to a text and how it relates to it."""

    key: str
    likeness: Likeness
    score: float


def compare(new: str, old: str) -> Likeness:
    """How a new text relates to an old one; `same` only when nothing it says is different."""
    return _compare(new, old)[0]


def nearest(text: str, candidates: Iterable[tuple[str, str]]) -> Match | None:
    """The memory (key, text) that says the same, is extended or is contradicted; None if none is."""
    order = ("unrelated", "differs", "extends", "same")
    matches = [Match(key, *_compare(text, old)) for key, old in candidates]
    related = [match for match in matches if match.likeness != "unrelated"]
    return max(related, key=lambda m: (order.index(m.likeness), m.score), default=None)


def _compare(new: str, old: str) -> tuple[Likeness, float]:
    ours, theirs = _content(new), _content(old)
    first, second = set(ours), set(theirs)
    if not first or not second:
        return ("same" if first == second and new.split() == old.split() else "unrelated"), 0.0
    if first.isdisjoint(second):
        return "unrelated", 0.0
    score = len(first & second) / len(first | second)
    if not _about_one_thing(first, second):
        return "unrelated", score
    return _relation(ours, theirs, new, old), score


def _about_one_thing(first: set[str], second: set[str]) -> bool:
    """Judged without numbers: "the port is 8080" and "the port is 8443" speak of one port."""
    words, others = ({t for t in tokens if not _numeric(t)} or tokens for tokens in (first, second))
    shared = len(words & others)
    if words == others:
        return True
    return len(first & second) >= 2 and shared >= _ABOUT_ONE_THING * min(len(words), len(others))


@lru_cache(maxsize=8_192)
def _numeric(token: str) -> bool:
    return any(char.isdigit() for char in token)


def _relation(ours: Sequence[str], theirs: Sequence[str], new: str, old: str) -> Likeness:
    only_ours, only_theirs = set(ours) - set(theirs), set(theirs) - set(ours)
    if _negated(new) != _negated(old) or (only_ours and only_theirs):
        return "differs"
    # A name or number left out is a different claim, not a shorter way to say the same.
    if only_theirs & _guards(old) or _code(new) != _code(old):
        return "differs"
    if _order(ours, theirs) < _SAME_ORDER:
        return "differs"
    # What adds words may add a fact; what only leaves words out says nothing new.
    return "extends" if only_ours else "same"


@lru_cache(maxsize=8_192)
def _content(text: str) -> tuple[str, ...]:
    """The words that carry meaning; kept, because a pile is compared with all there is."""
    words = [_stem(word) for word in _tokens(text)]
    return tuple(word for word in words if word not in _STOP and word not in _NEGATIONS)


def _tokens(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", text.replace("’", "'")).casefold()
    plain = "".join(char for char in folded if not unicodedata.combining(char))
    plain = re.sub(r"\b(\w+)n't\b", r"\1 not", plain)
    return _TOKEN.findall(re.sub(r"'s\b", "", plain))


def _stem(word: str) -> str:
    """Plural and verb endings only: a stronger stemmer would join different words."""
    if word in _STOP or _numeric(word) or not word.isascii():
        return word
    for ending, rest in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    word = word.removesuffix("e") if len(word) > 4 else word
    return _SYNONYMS.get(word, _SYNONYMS.get(f"{word}e", word))


def _guards(text: str) -> set[str]:
    """What makes two sentences of one shape different facts: numbers and names."""
    numbers = {token for token in _tokens(text) if _numeric(token)}
    names = re.findall(r"(?<![.!?:\n] )(?<!^)\b[A-Z][\w-]+", text, re.MULTILINE)
    return numbers | {_stem(name.casefold()) for name in names}


def _code(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def _negated(text: str) -> int:
    return sum(token in _NEGATIONS for token in _tokens(text)) % 2


def _order(ours: Sequence[str], theirs: Sequence[str]) -> float:
    shared = set(ours) & set(theirs)
    first, second = ([w for w in words if w in shared] for words in (ours, theirs))
    pairs = [set(pairwise(words)) for words in (first, second)]
    union = pairs[0] | pairs[1]
    return len(pairs[0] & pairs[1]) / len(union) if union else 1.0
