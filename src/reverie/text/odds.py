"""The odds that two texts say the same, hold two values of one thing, or speak of different things.

The rules (`comparison`) decide what is certain. Where they see no more than common words, this weighs
the signs of both (`signs`) and what the rules found. The weights are data (`forms/odds.json`): small
networks whose answers are averaged, fitted by `benchmarks/fit_odds.py` on the pairs of the benchmark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul

from reverie.text.comparison import Verdict
from reverie.text.signs import Signs
from reverie.text.word_classes import FOLDER

RULED = ("duplicate", "extends", "update", "sibling", "unrelated")
# A sign that is further from its mean than any that was learnt counts as this many spreads.
_FURTHEST = 4.0


@dataclass(frozen=True, slots=True)
class Odds:
    """How probable each reading of a pair is; together they are one."""

    same: float = 0.0
    value: float = 0.0
    more: float = 0.0
    other: float = 1.0


@dataclass(frozen=True, slots=True)
class Network:
    """One hidden layer; each row holds the offset first, then a weight for each input."""

    hidden: list[list[float]]
    readings: list[list[float]]


@dataclass(frozen=True, slots=True)
class Weights:
    """The signs by name, what is usual for each, and the networks that weigh them."""

    names: list[str]
    means: list[float]
    spreads: list[float]
    networks: list[Network]


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
    """How a new text probably relates to an old one; a sign that is not known counts as usual."""
    weights = _weights()
    given = [
        max(-_FURTHEST, min(_FURTHEST, (signs.get(name, mean) - mean) / spread))
        for name, mean, spread in zip(weights.names, weights.means, weights.spreads, strict=True)
    ]
    answers = [_answer(network, given) for network in weights.networks]
    return Odds(*(sum(column) / len(answers) for column in zip(*answers, strict=True)))


def _answer(network: Network, given: Sequence[float]) -> list[float]:
    hidden = [max(0.0, one) for one in _sums(network.hidden, given)]
    sums = _sums(network.readings, hidden)
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
