"""One order from many signals: each is made comparable (z-scores) and weighted; weights are data.

The weights were chosen by hand and by search on what `benchmarks/recall_data.py` calls dev.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie.recall.documents import Collection

# Each signal's values, in the order of the candidates.
Signals = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Weights:
    """What one standard deviation of each signal counts."""

    lexical: float = 1.0
    semantic: float = 0.65
    session_lexical: float = 0.25
    session_semantic: float = 0.3
    speaker: float = 1.1
    time: float = 4.0
    graph: float = 0.5
    prior: float = 1.0


WEIGHTS: Mapping[Collection, Weights] = {
    # A memory may speak of March without having been written then: its time counts less.
    "memories": Weights(session_lexical=0.0, session_semantic=0.0, speaker=0.0, time=1.5),
    "episodes": Weights(),
}
# Sessions are ranked by their best messages. One message full of the question's words says less
# about a whole session than about itself: words count up to a limit, meaning counts more.
SESSION_WEIGHTS = Weights(
    semantic=3.0, session_lexical=0.0, session_semantic=0.0, speaker=0.0, time=1.0
)
SESSION_LIMIT = 2.0
# The messages that speak for their session.
_SPOKESMEN = 3
# So few that each must be judged by itself rather than against the others.
_FEW = 10


def z_scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each value is above the mean.

    One that says nothing (0) is among them, so that an only candidate can stand out; among many it
    counts for less.
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
    """For each message, how strong the best messages of its session are."""
    groups: dict[int, list[float]] = {}
    for session, value in zip(sessions, values, strict=True):
        groups.setdefault(session, []).append(value)
    strength = {}
    for session, group in groups.items():
        best = sorted(group, reverse=True)[:_SPOKESMEN]
        strength[session] = sum(best) / len(best)
    return z_scores([strength[session] for session in sessions])


def limited(score: float) -> float:
    """Words as evidence for a session: no outlier outweighs everything else."""
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
    """From a fused score and two absolute figures to the chance that a match is a good one.

    Fused scores only compare the candidates of one question, and the more rivals there are, the
    further one can stand out: they count by how far that is. How much of the question's words a
    candidate covers, and how alike it is at all, tells whether it is worth showing.
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
    """Whom a candidate stands out from: the others, and in all but a small collection its rest.

    In a large one a single word in common brings one candidate, which proves nothing; in a small
    one it may well be the right one.
    """
    return min(max(candidates, size - _FEW, 1), _MOST_RIVALS)


# Fitted on dev (see `benchmarks/recall_threshold.py`), with questions about strangers as misses, on
# stores of one memory to hundreds.
BY_WORDS = Calibration(offset=-4.945, fused=4.371, coverage=3.509, likeness=0.0)
CALIBRATIONS: Mapping[str, Calibration] = {
    "": BY_WORDS,
    "wordllama-l2-supercat-256": Calibration(-7.586, 2.963, 1.463, 5.682),
    "arctic-embed-s-int8": Calibration(-10.413, 2.928, 2.831, 8.246),
}
# Cosines of another model mean something else: a model that is not here is judged by the words it
# covers and by its order alone (fitted with arctic, without cosines).
ANY_MODEL = Calibration(offset=-5.62, fused=3.335, coverage=4.652, likeness=0.0)


# Below this chance, nothing is better than something.
GOOD_MATCH = 0.3
