"""The odds that two texts say the same, hold two values of one thing, or speak of different things.

The rules (`comparison`) decide what is certain. Where they see no more than common words, this weighs
the signs of both (`signs`) and what the rules found. The weights are data (`forms/odds.json`): small
networks whose answers are averaged, fitted by `benchmarks/fit_odds.py` on the pairs of the benchmark.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import mul
from types import ModuleType
from typing import Any

from reverie.text.comparison import Verdict
from reverie.text.signs import Signs
from reverie.text.word_classes import FOLDER

RULED = ("duplicate", "extends", "update", "sibling", "unrelated")
# A sign counts as at most this many standard deviations from its mean.
_FURTHEST = 4.0


@dataclass(frozen=True, slots=True)
class Odds:
    """The probability of each reading of a pair; they add up to one."""

    same: float = 0.0
    value: float = 0.0
    more: float = 0.0
    other: float = 1.0


@dataclass(frozen=True, slots=True)
class Network:
    """One hidden layer; each row holds the offset first, then a weight for each input."""

    hidden: list[list[float]]
    readings: list[list[float]]


@dataclass(frozen=True)
class Weights:
    """The signs by name, with mean and spread, and the networks that weigh them."""

    names: list[str]
    means: list[float]
    spreads: list[float]
    networks: list[Network]

    @cached_property
    def arrays(self) -> tuple[Any, Any, Any]:
        """Means, spreads, and the hidden rows of all networks as columns."""
        array = sys.modules["numpy"].array
        rows = [row for network in self.networks for row in network.hidden]
        return array(self.means), array(self.spreads), array(rows).T.copy()


def ruled(verdict: Verdict) -> dict[str, float]:
    """What the rules found, as signs."""
    found = {f"ruled {name}": float(verdict.likeness == name) for name in RULED}
    return found | {
        "ruled, certain": float(verdict.certain),
        "ruled, said": float(verdict.said),
        "ruled, firm": float(verdict.firm),
        "ruled, score": verdict.score,
    }


def odds(signs: Signs) -> Odds:
    """How a new text probably relates to an old one; a missing sign counts as its mean."""
    weights = _weights()
    numpy = sys.modules.get("numpy")
    hidden = _hidden(weights, signs) if numpy is None else _hidden_by(numpy, weights, signs)
    answers, start = [], 0
    for network in weights.networks:
        end = start + len(network.hidden)
        answers.append(_answer(network, hidden[start:end]))
        start = end
    return Odds(*(sum(column) / len(answers) for column in zip(*answers, strict=True)))


def standardised(signs: Signs) -> list[float]:
    """Each sign by its distance from its mean, in standard deviations."""
    weights = _weights()
    return [
        max(-_FURTHEST, min(_FURTHEST, (signs.get(name, mean) - mean) / spread))
        for name, mean, spread in zip(weights.names, weights.means, weights.spreads, strict=True)
    ]


def _hidden(weights: Weights, signs: Signs) -> list[float]:
    """The sums of the hidden layers, one network after the other."""
    given = standardised(signs)
    return [one for network in weights.networks for one in _sums(network.hidden, given)]


def _hidden_by(numpy: ModuleType, weights: Weights, signs: Signs) -> list[float]:
    """The same with numpy, as a sum of rows in the same order."""
    means, spreads, columns = weights.arrays
    values = numpy.array(
        [signs.get(n, m) for n, m in zip(weights.names, weights.means, strict=True)]
    )
    given = numpy.concatenate(([1.0], ((values - means) / spreads).clip(-_FURTHEST, _FURTHEST)))
    sums: list[float] = numpy.add.reduce(columns * given[:, None], axis=0).tolist()
    return sums


def _answer(network: Network, sums: Sequence[float]) -> list[float]:
    sums = _sums(network.readings, [max(0.0, one) for one in sums])
    top = max(sums)
    shares = [math.exp(one - top) for one in sums]
    total = sum(shares)
    return [share / total for share in shares]


def _sums(rows: Sequence[Sequence[float]], given: Sequence[float]) -> list[float]:
    inputs = (1.0, *given)
    return [sum(map(mul, row, inputs)) for row in rows]


@cache
def _weights() -> Weights:
    data = json.loads((FOLDER / "odds.json").read_text(encoding="utf-8"))
    networks = [Network(one["hidden"], one["readings"]) for one in data["networks"]]
    return Weights(data["signs"], data["means"], data["spreads"], networks)
