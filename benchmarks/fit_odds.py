"""Fit what the signs of two texts count: `text/forms/odds.json`.

The synonyms and rewrites were collected while looking at sets a to f, so these sets overstate what
the words of strangers have in common: for them, a part of both is left out. The freely worded sets
f and g count more. A pair that reads the same both ways is learnt both ways.

    python benchmarks/fit_odds.py [--write]

Each set is judged (`likeness.compare`) with the weights fitted on the others, then with those of all.
For sets a to f the judge does without the left out words, too. The thresholds of `likeness` are not
fitted anew for each set.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from judgement import DATA, pairs
from numpy.typing import NDArray
from report import publish

from reverie.text import odds as weighing
from reverie.text import statements as reading
from reverie.text import word_classes
from reverie.text.likeness import compare
from reverie.text.odds import signs_of
from reverie.text.word_classes import FOLDER, Forms, language_of

READINGS = ("same", "value", "more", "other")
READING_OF = {"duplicate": 0, "update": 1, "update_cue": 1, "extends": 2}
# Sets that were looked at while the lists of words grew, and the share of the lists that is kept.
TUNED = "abcdef"
KEPT = 0.4
WEIGHT = {"f": 4.0, "g": 4.0}
TUNED_WEIGHT = 0.7
PENALTY = 10.0
ROUNDS = 4_000
BOTH_WAYS = ("duplicate", "sibling", "unrelated", "update")
KINDS = ("duplicate", "update", "update_cue", "sibling", "sibling_cue", "overlap", "extends")
TOLD = {"duplicate": ("duplicate", "restates"), "update": ("update",), "update_cue": ("update",)}

Rows = NDArray[np.float64]


@contextmanager
def fewer_words() -> Iterator[None]:
    """Leave out a part of the synonyms and rewrites, the same part each time."""
    whole, groups = word_classes.forms, word_classes._groups()
    chance = random.Random(20261116)
    thinned = {
        name: [
            group for group in found if name == "shared" or chance.random() < KEPT or _unit(group)
        ]
        for name, found in groups.items()
    }

    @cache
    def thin(language: str) -> Forms:
        rules = whole(language)
        kept = tuple(one for one in rules.rewrites if chance.random() < KEPT)
        return replace(rules, rewrites=kept, vague={})

    with (
        patch.object(reading, "forms", thin),
        patch.object(word_classes, "_groups", lambda: thinned),
    ):
        _forget()
        yield
    _forget()


def _unit(group: list[str]) -> bool:
    """Days, months and units are known to everyone."""
    return group[0].endswith(("day", "ber", "uary")) or group[0] in (
        *("march", "april", "june", "july", "august", "second", "minute", "hour"),
        *("day", "week", "month", "year"),
    )


def _forget() -> None:
    word_classes.synonyms.cache_clear()
    reading.statements.cache_clear()
    reading.change_in.cache_clear()


def signs(new: str, old: str) -> dict[str, float]:
    language = language_of(new, old)
    ours, theirs = (reading.statements(text, language) for text in (new, old))
    return signs_of((new, old), ours, theirs, reading.change_in(new, language), language)


def words_for(name: str) -> AbstractContextManager[None]:
    return fewer_words() if name in TUNED else nullcontext()


@dataclass(frozen=True)
class Learnt:
    """The signs of a set's pairs, the reading and the weight of each."""

    names: list[str]
    values: Rows
    readings: Rows
    weights: Rows


def learnt(file: Path) -> Learnt:
    name = file.stem[-1]
    found: list[dict[str, float]] = []
    kinds: list[str] = []
    with words_for(name):
        for pair in pairs(file):
            turned = [(pair["old"], pair["new"])] if pair["kind"] in BOTH_WAYS else []
            for new, old in [(pair["new"], pair["old"]), *turned]:
                found.append(signs(new, old))
                kinds.append(pair["kind"])
    names = list(found[0])
    values = np.array([[one[name] for name in names] for one in found])
    readings = np.eye(len(READINGS))[[READING_OF.get(kind, 3) for kind in kinds]]
    return Learnt(names, values, readings, np.full(len(kinds), WEIGHT.get(name, TUNED_WEIGHT)))


Weights = tuple[list[str], list[list[float]]]


def fitted(sets: list[Learnt]) -> Weights:
    offsets, slopes = fit(
        np.vstack([one.values for one in sets]),
        np.vstack([one.readings for one in sets]),
        np.concatenate([one.weights for one in sets]),
    )
    rows = [[offsets[at], *slopes[:, at]] for at in range(len(READINGS))]
    return sets[0].names, [[round(float(one), 3) for one in row] for row in rows]


def told(file: Path, weights: Weights) -> dict[str, tuple[int, int]]:
    """Of each kind, how many pairs are told as what they are (others: told at all), and all."""
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with words_for(file.stem[-1]), patch.object(weighing, "_weights", lambda: weights):
        for pair in pairs(file):
            kind, likeness = pair["kind"], compare(pair["new"], pair["old"]).likeness
            total[kind] += 1
            found[kind] += likeness in TOLD.get(kind, ("duplicate", "restates", "update"))
    return {kind: (found[kind], total[kind]) for kind in total}


def fit(values: Rows, readings: Rows, weights: Rows) -> tuple[Rows, Rows]:
    """Multinomial logistic regression with a penalty; offsets and weights for plain signs."""
    mean, spread = values.mean(0), values.std(0) + 1e-6
    given = (values - mean) / spread
    offsets, slopes = np.zeros(len(READINGS)), np.zeros((given.shape[1], len(READINGS)))
    pace = 0.5 / len(given)
    for _ in range(ROUNDS):
        sums = given @ slopes + offsets
        share = np.exp(sums - sums.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        error = (share - readings) * weights[:, None]
        slopes -= pace * (given.T @ error + PENALTY * slopes)
        offsets -= pace * error.sum(0)
    plain = slopes / spread[:, None]
    return offsets - mean @ plain, plain


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    files = sorted(DATA.glob("pairs_*.jsonl"))
    sets = {file: learnt(file) for file in files}
    whole = fitted(list(sets.values()))
    rows = []
    for file in files:
        others = fitted([one for other, one in sets.items() if other != file])
        for name, weights in (("the others", others), ("all", whole)):
            found = told(file, weights)
            rows.append([file.stem[-1], name, *(_share(found.get(kind)) for kind in KINDS)])
    publish("fit_odds", ["set", "fitted on", *KINDS], rows)
    if options.write:
        data: dict[str, Any] = {"signs": whole[0], **dict(zip(READINGS, whole[1], strict=True))}
        text = ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in data.items())
        (FOLDER / "odds.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _share(found: tuple[int, int] | None) -> str:
    return f"{found[0]} of {found[1]}" if found else "-"


if __name__ == "__main__":
    main()
