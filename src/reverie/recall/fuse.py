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


def z_scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each value is above the mean.

    A candidate that says nothing (0) is always among them, so that an only one can stand out.
    """
    count = len(values) + 1
    mean = sum(values) / count
    variance = (sum((value - mean) ** 2 for value in values) + mean**2) / count
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

    Fused scores only compare the candidates of one question, and the more there are, the further one
    can stand out: they count by how far that is. How much of the question's words a candidate
    covers, and how alike it is at all, tells whether it is worth showing.
    """

    offset: float
    fused: float
    coverage: float
    likeness: float

    def chance(self, fused: float, count: int, coverage: float, likeness: float) -> float:
        """`count` is how many candidates there were."""
        total = self.offset + self.fused * fused / math.sqrt(min(max(count, 1), MANY))
        total += self.coverage * coverage + self.likeness * likeness
        return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


# From here on, more candidates do not let the best of them stand out further.
MANY = 100

# Fitted on dev (see `benchmarks/recall_threshold.py`), with questions about strangers as misses and
# stores from one memory to hundreds; the last of them on hundreds alone.
BY_WORDS = Calibration(offset=-4.744, fused=4.4, coverage=3.485, likeness=0.0)
CALIBRATIONS: Mapping[str, Calibration] = {
    "": BY_WORDS,
    "wordllama-l2-supercat-256": Calibration(-7.398, 3.361, 1.374, 5.679),
    "arctic-embed-s-int8": Calibration(-6.329, 2.91, 4.431, 1.386),
}
# Cosines of another model mean something else: a model that is not here is judged by the words it
# covers, and its order counts less than that of words alone (fitted with arctic, without cosines).
ANY_MODEL = Calibration(offset=-5.533, fused=2.93, coverage=4.759, likeness=0.0)


# Below this chance, nothing is better than something.
GOOD_MATCH = 0.3
