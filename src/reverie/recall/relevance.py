"""How likely a memory is to help with a question: a probability from a few features that hold across stores.

Some features compare the question with one memory: the share of its words that the memory has (rare
ones count more), the share it has in other words, names in common, similarity of meaning, and how
far that exceeds the store's other memories. Others describe the question alone: whether it sounds
like one about one's own work or about the world (`prompt_kind`), and whether its meaning is near
that of such questions. What ranks one memory above another does not decide whether anything is
worth showing: one set of weights orders the memories, and another estimates, from the features of
the best memory, how likely a right one is among those shown. `calibration.json` holds both for each
embedding model; `benchmarks/calibrate_recall.py` makes it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.recall import answer_kind
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.prompt_kind import PromptKind, is_keywords, kind_of, limited
from reverie.text import thesaurus
from reverie.text.words import QueryWord, query_words, spoken_words, stem, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_WORDS = 24
# The weight of a word that English uses everywhere, compared with a content word.
_COMMON_WORD = 0.35
# How many groups of a question are searched for: the rarest.
MOST_GROUPS = 10
# The least content a question needs: a rare word, or several common ones.
_LEAST_SAID = 1.2
# The exponent of the share of words in common.
_BY_CHANCE = 1.5
# The share of keywords that a memory must have, literally or in other words, to be shown.
_COVERS_KEYWORDS = 0.6
# In a store of two, a word that one of them has is not common yet.
_SMALL = 30
_FEW = 0.25
# Larger stores were not calibrated: they are treated like stores of 600.
_LARGEST_SIZE = 3.0

_POLITE = frozenset(
    {"please", "tell", "thanks", "thank", "hello", "hi", "hey", "kindly", "bitte", "danke"}
    | {"merci", "gracias", "favor", "plait"}
)
# Names, identifiers and numbers, which a question means exactly.
_NAME = re.compile(
    r"(?<=[^.!?:\s] )[A-ZÀ-Þ][\w-]+|\b\w*[a-z][A-Z]\w*|\b\w+_\w+\b|\b[\w.-]*\d[\w.-]*\b|\b[A-Z]{2,}\b"
)
_MOST_NAMES = 3
# Placeholders for a file or picture in a message, which are not words of the question.
_PLACEHOLDER = re.compile(r"\[\w+ [0-9a-f]{8,}\]")


# Not frozen, for speed: each question makes hundreds of these, and frozen ones take three times as
# long.
@dataclass(slots=True)
class Marks:
    """What a passage is judged by: its stems, groups, cues and kinds of answer."""

    terms: str
    groups: str


def marks(*texts: str, cues: str = "") -> Marks:
    """The marks of a memory's passage, from its texts; cues are other words for it."""
    own: dict[str, None] = {}
    about: set[str] = set()
    for text in dict.fromkeys(texts):
        stems, spoken = terms(text), spoken_words(text)[1]
        own.update(dict.fromkeys(stems))
        about |= thesaurus.groups_of(stems, spoken)
    if cues:
        about |= {*thesaurus.groups(cues), *terms(cues)}
    about |= answer_kind.offered("\n".join(dict.fromkeys(texts)))
    return Marks(" ".join(own), " ".join(sorted(about)))


@dataclass(slots=True)
class Figures:
    """Features of a question compared with one memory, and of the question alone."""

    words: float = 0.0
    others: float = 0.0
    cosine: float = 0.0
    margin: float = 0.0
    # Names, identifiers and numbers of the question that the memory has.
    names: float = 0.0
    # Whether the memory offers the kind of answer asked for, such as a person or a day.
    fits: float = 0.0
    # Of the question alone: names that no memory has, whether it is about one's own work by its
    # words (a question, or else a task) and by its meaning, and whether it states rather than asks.
    unknown: float = 0.0
    own_work: float = 0.0
    task: float = 0.0
    topic: float = 0.0
    tells: float = 0.0
    # The size of the store: among many memories, one is similar by chance.
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weight of each feature, in log odds."""

    words: float
    others: float
    cosine: float
    margin: float
    names: float
    fits: float
    unknown: float
    own_work: float
    task: float
    topic: float
    # The weights of the best memory's features for showing it and those beside it, which is worth
    # it from `fuse.GOOD_MATCH` on. "offset" applies to every question.
    shown: Mapping[str, float]
    # The direction of questions about one's own work in the model's space.
    direction: tuple[float, ...] = ()

    def parts(self, seen: Figures) -> dict[str, float]:
        """The evidence for a memory, by signal."""
        return {
            "lexical": self.words * seen.words + self.names * seen.names,
            "concepts": self.others * seen.others,
            "semantic": self.cosine * seen.cosine + self.margin * seen.margin,
        }

    def base(self, seen: Figures) -> float:
        """The evidence that does not depend on the question's words."""
        return (
            self.fits * seen.fits
            + self.unknown * seen.unknown
            + self.own_work * seen.own_work
            + self.task * seen.task
            + self.topic * seen.topic
        )

    def log_odds(self, best: Figures, *, keywords: bool = False) -> float:
        """The log odds that a right memory is among those shown, from the features of the best one.

        A memory with most of the typed keywords, or similar ones, is worth showing.
        """
        counts = self.shown
        odds = counts["offset"] + sum(
            count * float(getattr(best, name)) for name, count in counts.items() if name != "offset"
        )
        covered = best.words + best.others
        return max(odds, 0.0) if keywords and covered >= _COVERS_KEYWORDS else odds

    def topic_of(self, vector: Sequence[float] | NDArray[np.float32] | None) -> float:
        """How close a question's meaning is to questions about one's own work."""
        if vector is None or len(vector) != len(self.direction):
            return 0.0
        values = vector if isinstance(vector, Sequence) else vector.tolist()
        return limited(sum(map(mul, self.direction, values)))


# Next to a memory worth showing, only those nearly as good are worth it, too.
NEARLY = 2.2
_LEAST_BESIDE = 0.1
_JUST_BELOW = GOOD_MATCH - 0.01


_LEAST_SPREAD = 0.02
_NO_SPREAD = 1e-6


def margin(cosine: float, usual: float, spread: float) -> float:
    """How far a memory stands out from its store; a single one counts like the better of two."""
    return (cosine - usual) / max(spread, _LEAST_SPREAD) if spread > _NO_SPREAD else 1.0


def chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, log_odds))))


def chance_beside(log_odds: float, best: float) -> float:
    """The chance of a memory, given that of the best one."""
    own = chance(log_odds)
    if chance(best) < GOOD_MATCH:
        return own
    nearly = best - log_odds <= NEARLY and own >= _LEAST_BESIDE
    return max(own, GOOD_MATCH) if nearly else min(own, _JUST_BELOW)


def calibration(model: str) -> Calibration:
    """The calibration of a model; for an uncalibrated one, the order counts but not the cosines."""
    known = _calibrations()
    return known.get(model, known["*"])


@lru_cache(maxsize=1)
def _calibrations() -> Mapping[str, Calibration]:
    text = Path(__file__).with_name("calibration.json").read_text(encoding="utf-8")
    return {
        model: Calibration(**{**figures, "direction": tuple(figures.get("direction", ()))})
        for model, figures in json.loads(text).items()
    }


@lru_cache(maxsize=16)
def _groups_by_word(text: str) -> Mapping[str, set[str]]:
    return thesaurus.groups_by_word(text)


class Wanted:
    """A question, ready to be compared with many passages of one store."""

    def __init__(
        self,
        text: str,
        size: int,
        rows: Callable[[str], int],
        kind: PromptKind | None = None,
        topic: float = 0.0,
    ) -> None:
        """`kind` and `topic` are those of the whole message."""
        text = _PLACEHOLDER.sub(" ", text)
        self._kind = kind or kind_of(text)
        self._topic = topic
        self._asked = answer_kind.wanted(text) if self._kind.asks else frozenset()
        self._size = _relative(size)
        names = _name_terms(text)
        self._names = frozenset[str]().union(*names)
        found, phrases = _groups_by_word(text), thesaurus.groups_by_phrase(text)
        # "DB" is known where a memory says "database".
        groups = {stem: of for word, of in found.items() for stem in terms(word)} if names else {}
        self._unknown = float(
            any(
                not any(rows(one) or any(map(rows, groups.get(one, ()))) for one in forms)
                for forms in names
            )
        )
        self._terms: dict[str, int] = {}
        self._groups: dict[str, list[tuple[int, float]]] = {}
        self._weights: list[float] = []
        # The weight of each word by itself: "call" says little, "on call" says more.
        self._alone: list[float] = []
        rarity: dict[str, float] = {}
        for word in _content_words(text):
            place = len(self._weights)
            weight = _rarity(max(rows(term) for term in word.terms), size)
            common = not thesaurus.common().isdisjoint(word.terms)
            alone = weight * _COMMON_WORD if common else weight
            phrase = phrases.get(word.word)
            if phrase is None:
                weight = alone
            self._weights.append(weight)
            self._alone.append(alone)
            for term in word.terms:
                self._terms[term] = place
                self._groups.setdefault(term, []).append((place, alone))
            for group in sorted(phrase or found.get(word.word) or ()):
                if group not in rarity:
                    rarity[group] = _rarity(rows(group), size)
                self._groups.setdefault(group, []).append((place, weight * rarity[group]))
        self.keywords = is_keywords(text)
        # A question of a few common words is never fully covered, unless it is typed as a search.
        self._total = max(sum(self._weights), 0.0 if self.keywords else _LEAST_SAID) or _LEAST_SAID

    def compared(self, kept: Marks, cosine: float = 0.0, margin: float = 0.0) -> Figures:
        """The features of a passage for this question."""
        own, about = kept.terms.split(), kept.groups.split()
        mine = {self._terms[term] for term in self._terms.keys() & own}
        like: dict[int, float] = {}
        for group in self._groups.keys() & about:
            for place, value in self._groups[group]:
                more = value - self._alone[place] if place in mine else value
                if more > like.get(place, 0.0):
                    like[place] = more
        words = sum([self._alone[place] for place in mine]) / self._total if mine else 0.0
        rest = max(0.0, 1 - words)
        named = len(self._names.intersection(own)) if self._names else 0
        asks = self._kind.asks
        own_work = _softened(self._kind.own_work, rest)
        return Figures(
            # One or two of many words may be shared by chance; most of them are not.
            words=words**_BY_CHANCE,
            others=sum(like.values()) / self._total if like else 0.0,
            cosine=cosine,
            margin=margin,
            names=min(named, _MOST_NAMES) / _MOST_NAMES,
            fits=answer_kind.fits(self._asked, about) if self._asked else 0.0,
            # Evidence against any memory, such as a name that none has, counts little against one
            # that has the rest of the question's words.
            unknown=self._unknown * rest,
            own_work=own_work if asks else 0.0,
            task=0.0 if asks else own_work,
            topic=_softened(self._topic, rest),
            tells=0.0 if asks else 1.0,
            size=self._size,
        )


def _relative(size: int) -> float:
    """The relative size of a store; a very small one holds few answers, so it is a little stricter, too."""
    apart = math.log(max(size, 1) / _SMALL)
    return min(apart, _LARGEST_SIZE) if apart >= 0 else -_FEW * apart


def _softened(value: float, rest: float) -> float:
    """Evidence against any memory counts less, the more of the question's words it has."""
    return value if value > 0 else value * max(0.0, 2 * rest - 1)


def _name_terms(text: str) -> Sequence[frozenset[str]]:
    """The terms of each name in a question, in the question's language and by itself."""
    spoken = spoken_words(text)[1]
    return [
        frozenset({*terms(name), *(stem(word, spoken) for word in spoken_words(name)[0])})
        for name in _NAME.findall(text)[:MOST_WORDS]
    ]


def _content_words(text: str) -> Sequence[QueryWord]:
    """The words of a question without polite phrases."""
    words = query_words(text)
    return [word for word in words if word.word not in _POLITE][:MOST_WORDS] or words


def _rarity(rows: int, size: int) -> float:
    """1 for a word that no passage has, 0 for one that every passage of a larger store has."""
    size = max(size, _SMALL)
    return max(0.0, math.log((size + 1) / (rows + 0.5)) / math.log((size + 1) / 0.5))


def asked_groups(text: str, rows: Callable[[str], int]) -> Sequence[tuple[str, int]]:
    """The groups of a question that some passage has, rarest first, with how many have each."""
    meant = {word.word for word in _content_words(text)}
    found = {g for word, of in _groups_by_word(text).items() if word in meant for g in of}
    known = [(group, count) for group in sorted(found) if (count := rows(group))]
    return sorted(known, key=lambda item: (item[1], item[0]))[:MOST_GROUPS]
