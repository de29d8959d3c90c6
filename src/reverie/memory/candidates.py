"""Which memories may say the same as a text: those that share its rarest words. Pure."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import log1p

from reverie.text.languages import ENGLISH
from reverie.text.words import plain_words, stem

MOST_CANDIDATES = 20
# A description is a sentence; of a text that is no sentence, these many words are enough.
MOST_WORDS = 64
# How many places of words are followed for one text; beyond it, a word only tells the found apart.
MOST_PLACES = 20_000


def content_words(text: str) -> tuple[str, ...]:
    """The words a text is found by, each once: what carries meaning, as its stem.

    The same stemmer for every text: which language a short one is in can only be guessed, and two
    that say the same must not be stemmed apart.
    """
    words = plain_words(text[: MOST_WORDS * 64])
    kept = [word for word in words if word not in ENGLISH] or words
    return tuple(dict.fromkeys(stem(word, "english") for word in kept))[:MOST_WORDS]


def rarity(having: int, total: int) -> float:
    """What sharing a word counts, by how many of all have it."""
    return log1p(total / having)


def covered(question: str, text: str) -> float:
    """The share of a question's words that a text has."""
    wanted = content_words(question)
    said = set(content_words(text))
    return sum(word in said for word in wanted) / len(wanted) if wanted else 0.0


class Candidates:
    """An inverted index over short texts: comparing with twenty replaces comparing with all."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._keys: list[str] = []
        self._texts: list[str] = []
        self._places: dict[str, list[int]] = {}
        for key, text in texts:
            self.add(key, text)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: str, text: str) -> None:
        place = len(self._keys)
        self._keys.append(key)
        self._texts.append(text)
        # A text without a single word is found by all of it.
        for word in content_words(text) or (text.strip(),):
            self._places.setdefault(word, []).append(place)

    def find(self, text: str, most: int = MOST_CANDIDATES) -> list[tuple[str, str]]:
        """The (key, text) pairs that share most with a text, rare words counting more."""
        wanted = content_words(text) or (text.strip(),)
        lists = sorted((found for word in wanted if (found := self._places.get(word))), key=len)
        scores: dict[int, float] = {}
        room = MOST_PLACES
        for places in lists:
            weight = rarity(len(places), len(self._keys))
            if len(places) <= room or not scores:
                for place in places[-room:]:
                    scores[place] = scores.get(place, 0.0) + weight
            else:
                for place in scores:
                    scores[place] += weight * _holds(places, place)
            room = max(0, room - len(places))
        best = heapq.nsmallest(most, scores, key=lambda place: (-scores[place], place))
        return [(self._keys[place], self._texts[place]) for place in best]


def _holds(places: Sequence[int], wanted: int) -> bool:
    at = bisect_left(places, wanted)
    return at < len(places) and places[at] == wanted
