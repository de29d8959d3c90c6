"""Fuses signals into one score: priors of a memory, ties between memories, weights, calibration."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reverie.recall.documents import Collection, MemoryDoc
from reverie.text.words import fold

DAY = 86_400.0

# In standard deviations of the fused score: enough to break a tie, or to sink an outdated memory.
_SUPERSEDED = -1.5
_EXPIRED = -1.0
_NOT_YET = -0.5
_PINNED = 0.4
_RECENCY = 0.2
_RECENCY_DAYS = 60.0
_USE = 0.15
_MOST_USE = 0.6
_DOUBT = 1.0
_USUAL_CONFIDENCE = 0.8
_TYPES: Mapping[str, float] = {"feedback": 0.1, "user": 0.05}


@dataclass(slots=True)
class Priors:
    """The fields of a memory's frontmatter that affect its rank."""

    type: str | None
    created: float | None
    valid_from: float | None
    valid_until: float | None
    confidence: float | None
    superseded: bool
    pinned: bool
    archived: bool

    def label(self, now: float) -> str:
        """A caveat for the reader."""
        if self.archived:
            return "archived"
        if self.superseded:
            return "superseded"
        if self.valid_until is not None and self.valid_until <= now:
            return "expired"
        if self.valid_from is not None and self.valid_from > now:
            return f"from {datetime.fromtimestamp(self.valid_from).astimezone():%Y-%m-%d}"
        doubtful = self.confidence is not None and self.confidence < 0.5
        return "low confidence" if doubtful else ""


def _outdated(standing: Priors, now: float) -> float:
    over = standing.valid_until is not None and standing.valid_until <= now
    return _SUPERSEDED * bool(standing.superseded) + _EXPIRED * over


def prior(standing: Priors, now: float, uses: int, *, former: bool = False) -> float:
    """The sum of the priors of a memory; a question about the past ignores penalties for outdated ones."""
    total = _TYPES.get(standing.type or "", 0.0) + _PINNED * bool(standing.pinned)
    total += _outdated(standing, now) if not former else 0.0
    if standing.valid_from is not None and standing.valid_from > now:
        total += _NOT_YET
    if standing.confidence is not None:
        total += _DOUBT * min(0.0, standing.confidence - _USUAL_CONFIDENCE)
    if standing.created is not None:
        age = max(0.0, now - standing.created) / DAY
        total += _RECENCY * math.exp(-age / _RECENCY_DAYS)
    return total + min(_MOST_USE, _USE * math.log1p(max(0, uses)))


# A tie shared by this many memories is not informative.
COMMON = 50


def ties(doc: MemoryDoc) -> set[str]:
    """A memory's connections: its entities, its links, and the names others link it by."""
    stem = doc.file.removesuffix(".md")
    names = {doc.file, stem, stem.rpartition("/")[2], doc.name}
    return (
        {f"entity:{fold(name).strip()}" for name in doc.entities if name.strip()}
        | {f"link:{_target(link)}" for link in doc.links if link.strip()}
        | {f"self:{_target(name)}" for name in names if name.strip()}
    )


def _target(link: str) -> str:
    plain = fold(link).strip().removesuffix(".md").rpartition("/")[2]
    return plain.replace(" ", "-").replace("_", "-")


def neighbours(
    connection: sqlite3.Connection, strengths: Mapping[int, float]
) -> dict[int, tuple[float, str]]:
    """Sources connected with the given ones, with the strength and the tie."""
    found: dict[int, tuple[float, str]] = {}
    for source, strength in strengths.items():
        for tie in _ties_of(connection, source):
            for other in _joined(connection, tie):
                if other == source:
                    continue
                if strength > found.get(other, (0.0, ""))[0]:
                    found[other] = (strength, tie)
    return found


def _ties_of(connection: sqlite3.Connection, source: int) -> list[str]:
    rows = connection.execute("SELECT tie FROM ties WHERE source = ? ORDER BY tie", (source,))
    return [row[0] for row in rows]


def _joined(connection: sqlite3.Connection, tie: str) -> Sequence[int]:
    kind, _, name = tie.partition(":")
    # A link finds the memory of that name, and a name the memories that link to it.
    opposite = {"link": ("self:", "link:"), "self": ("link:",), "entity": ("entity:",)}[kind]
    places = ", ".join("?" * len(opposite))
    rows = connection.execute(
        f"SELECT DISTINCT source FROM ties WHERE tie IN ({places}) LIMIT {COMMON + 1}",
        [prefix + name for prefix in opposite],
    ).fetchall()
    return [] if len(rows) > COMMON else [row[0] for row in rows]


# Each signal's values, in the order of the candidates.
Signals = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of one standard deviation of each signal."""

    lexical: float = 1.0
    semantic: float = 0.65
    session_lexical: float = 0.25
    session_semantic: float = 0.3
    speaker: float = 1.1
    time: float = 4.0
    graph: float = 0.5
    prior: float = 1.0
    # Of memories alone: groups of words that mean the same.
    concepts: float = 0.0
    # Of messages alone: the second look (`rerank`).
    interaction: float = 0.0
    second_opinion: float = 0.0
    substance: float = 0.0
    statement: float = 0.0
    fits: float = 0.0
    reply: float = 0.0
    told_before: float = 0.0
    session_words: float = 0.0


WEIGHTS: Mapping[Collection, Weights] = {
    # Signals of memories are log odds already (`relevance`). A memory may be about March without
    # having been written then, so its time counts less.
    "memories": Weights(
        semantic=1.0,
        session_lexical=0.0,
        session_semantic=0.0,
        speaker=0.0,
        time=1.5,
        concepts=1.0,
    ),
    "episodes": Weights(),
}
# The second look at the best messages, fitted on dev (LoCoMo conversations 1–4): after a static
# model, after a stronger one, and after words alone.
SECOND_LOOK = Weights(
    semantic=1.0,
    session_lexical=1.1,
    session_semantic=0.3,
    speaker=2.2,
    time=8.0,
    interaction=1.65,
    substance=1.8,
    statement=0.8,
)
SECOND_LOOK_STRONG = Weights(
    semantic=1.5,
    session_lexical=0.4,
    session_semantic=0.73,
    speaker=1.45,
    time=11.0,
    interaction=1.68,
    second_opinion=0.2,
    substance=0.57,
    statement=0.6,
    fits=1.25,
    reply=1.15,
    told_before=-0.7,
    session_words=0.43,
)
SECOND_LOOK_AT_WORDS = Weights(
    session_lexical=0.45, speaker=1.05, time=4.0, substance=0.6, statement=0.25
)
# Sessions are ranked by what their user said as a whole, and by their best messages in meaning.
SESSION_WEIGHTS = Weights(
    lexical=0.0,
    semantic=3.0,
    session_lexical=0.0,
    session_semantic=0.0,
    speaker=0.0,
    time=1.0,
    interaction=0.6,
    session_words=0.75,
)
# Without vectors, words of the best message count, too, up to a limit.
SESSION_WEIGHTS_OF_WORDS = replace(SESSION_WEIGHTS, lexical=1.0)
SESSION_LIMIT = 2.0
# How many of its best messages count for a session.
_SPOKESMEN = 3
# With this few candidates, each is judged by itself instead of against the others.
_FEW = 10


def z_scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each value is above the mean.

    A neutral value (0) is included, so that a single candidate can stand out; among many it has
    little effect.
    """
    if not values:
        return []
    nothing = min(1.0, _FEW / len(values))
    count = len(values) + nothing
    mean = sum(values) / count
    variance = (sum((value - mean) ** 2 for value in values) + nothing * mean**2) / count
    spread = math.sqrt(variance) + 1e-9
    return [(value - mean) / spread for value in values]


def session_scores(sessions: Sequence[int], values: Sequence[float]) -> list[float]:
    """For each message, the score of the best messages of its session."""
    groups: dict[int, list[float]] = {}
    for session, value in zip(sessions, values, strict=True):
        groups.setdefault(session, []).append(value)
    strength = {}
    for session, group in groups.items():
        best = sorted(group, reverse=True)[:_SPOKESMEN]
        strength[session] = sum(best) / len(best)
    return z_scores([strength[session] for session in sessions])


def limited(score: float) -> float:
    """A bounded word score for a session, so that no outlier outweighs everything else."""
    return SESSION_LIMIT * math.tanh(score / SESSION_LIMIT)


def fused(signals: Signals, weights: Weights, count: int) -> list[float]:
    """The weighted sum of every candidate's signals."""
    totals = [0.0] * count
    for name, values in signals.items():
        weight = getattr(weights, name)
        if weight:
            totals = [t + weight * v for t, v in zip(totals, values, strict=True)]
    return totals


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns a fused score and two absolute measures into the probability of a good match.

    Fused scores only compare the candidates of one question, and with more rivals one can stand out
    further, so they are scaled by that. The share of the question's words that a candidate covers,
    and its similarity, decide whether it is worth showing.
    """

    offset: float
    fused: float
    coverage: float
    likeness: float

    def chance(self, fused: float, rivals: int, coverage: float, likeness: float) -> float:
        total = self.offset + self.fused * fused / math.sqrt(rivals)
        total += self.coverage * coverage + self.likeness * likeness
        return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


# More rivals than this do not let the best stand out further.
_MOST_RIVALS = 100


def rivals(candidates: int, size: int) -> int:
    """The scores a candidate is compared with: the others', and in a larger collection those of the rest.

    In a large one, a single word in common finds a candidate, which proves nothing; in a small one
    it may well be the right one.
    """
    return min(max(candidates, size - _FEW, 1), _MOST_RIVALS)


# Fitted on dev (see `benchmarks/recall_threshold.py`), with questions about strangers as misses, on
# stores of one memory to hundreds.
BY_WORDS = Calibration(offset=-4.945, fused=4.371, coverage=3.509, likeness=0.0)
CALIBRATIONS: Mapping[str, Calibration] = {
    "": BY_WORDS,
    # The calibration of the previous static model, moved to the mean and spread of this one's
    # cosines.
    "potion-8m-notes-int8": Calibration(-8.098, 2.963, 1.463, 6.617),
    "arctic-embed-s-int8+potion-8m-notes-int8": Calibration(-10.413, 2.928, 2.831, 8.246),
}
# Cosines are specific to a model: any other model is judged by word coverage and order only (fitted
# with arctic, without cosines).
ANY_MODEL = Calibration(offset=-5.62, fused=3.335, coverage=4.652, likeness=0.0)


# Below this chance, showing nothing is better.
GOOD_MATCH = 0.3
