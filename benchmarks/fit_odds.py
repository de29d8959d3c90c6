"""Fit what the signs of two texts count: `text/forms/odds.json`.

The synonyms and rewrites were collected while looking at sets a to e, so these sets overstate what
the words of strangers have in common: for them, a part of both is left out. Set f counts more, since
the judge had not been mended for it.

    python benchmarks/fit_odds.py [--write] [--without SET]

`--without f` fits the other sets and says how often each reading of f is the most probable one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from judgement import DATA, pairs
from numpy.typing import NDArray

from reverie.text import statements as reading
from reverie.text import word_classes
from reverie.text.odds import signs_of
from reverie.text.word_classes import FOLDER, Forms, language_of

READINGS = ("same", "value", "more", "other")
READING_OF = {"duplicate": 0, "update": 1, "update_cue": 1, "extends": 2}
# Sets that were looked at while the lists of words grew, and the share of the lists that is kept.
TUNED = "abcde"
KEPT = 0.4
WEIGHT = {"f": 2.0}
TUNED_WEIGHT = 0.5
PENALTY = 3.0
ROUNDS = 4_000

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


def signs(pair: dict[str, Any]) -> dict[str, float]:
    new, old = pair["new"], pair["old"]
    language = language_of(new, old)
    ours, theirs = (reading.statements(text, language) for text in (new, old))
    return signs_of(ours, theirs, reading.change_in(new, language), language)


def rows(files: list[Path]) -> tuple[list[str], Rows, Rows, Rows]:
    """The names of the signs, their values, the reading and the weight of each pair."""
    found: list[dict[str, float]] = []
    readings: list[int] = []
    weights: list[float] = []
    for file in files:
        name = file.stem[-1]
        if name in TUNED:
            with fewer_words():
                found += [signs(pair) for pair in pairs(file)]
        else:
            found += [signs(pair) for pair in pairs(file)]
        kinds = [pair["kind"] for pair in pairs(file)]
        readings += [READING_OF.get(kind, 3) for kind in kinds]
        weights += [WEIGHT.get(name, TUNED_WEIGHT)] * len(kinds)
    names = list(found[0])
    values = np.array([[one[name] for name in names] for one in found])
    return names, values, np.eye(len(READINGS))[readings], np.array(weights)


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
    parser.add_argument("--without", default="", help="a set to leave out and to try the fit on")
    options = parser.parse_args()
    files = sorted(DATA.glob("pairs_*.jsonl"))
    learnt = [file for file in files if file.stem[-1] != options.without]
    names, values, readings, weights = rows(learnt)
    offsets, slopes = fit(values, readings, weights)
    tried = [file for file in files if file.stem[-1] == options.without] or learnt
    _, values, readings, _ = rows(tried)
    best = (values @ slopes + offsets).argmax(1)
    for number, name in enumerate(READINGS):
        chosen = readings[:, number] > 0
        right = int((best[chosen] == number).sum())
        print(f"{name}: {right} of {int(chosen.sum())} most probable")
    if options.write:
        data: dict[str, Any] = {"signs": names}
        for number, name in enumerate(READINGS):
            row = [offsets[number], *slopes[:, number]]
            data[name] = [round(float(one), 3) for one in row]
        text = ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in data.items())
        (FOLDER / "odds.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
