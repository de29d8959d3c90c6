"""Means with their intervals by bootstrap; the same figures give the same intervals every time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal, TypeAlias

# Fewer pairs, or sessions in an arm, say which way it points and no more.
FEWEST = 5
ROUNDS = 2_000
_SEED = 20_260

Verdict: TypeAlias = Literal[
    "nothing to compare", "directional", "no difference", "lower", "higher"
]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of means (with memory − without) and its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def verdict(self) -> Verdict:
        if self.n == 0:
            return "nothing to compare"
        if self.n < FEWEST:
            return "directional"
        if self.low > 0:
            return "higher"
        return "lower" if self.high < 0 else "no difference"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def paired(differences: Sequence[float]) -> Difference:
    """The mean of paired differences."""
    return _bootstrapped(len(differences), lambda pick: fmean(pick(differences)))


def between(with_memory: Sequence[float], without: Sequence[float]) -> Difference:
    """The difference of the means of two arms; the smaller arm counts as the number."""
    n = min(len(with_memory), len(without))
    return _bootstrapped(n, lambda pick: fmean(pick(with_memory)) - fmean(pick(without)))


Pick: TypeAlias = Callable[[Sequence[float]], Sequence[float]]


def _bootstrapped(n: int, statistic: Callable[[Pick], float]) -> Difference:
    if n == 0:
        return Difference(0.0, 0.0, 0.0, 0)
    chance = random.Random(_SEED)

    def resampled(values: Sequence[float]) -> Sequence[float]:
        return chance.choices(values, k=len(values))

    found = sorted(statistic(resampled) for _ in range(ROUNDS))
    cut = round(ROUNDS * 0.025)
    return Difference(statistic(lambda values: values), found[cut], found[-1 - cut], n)
