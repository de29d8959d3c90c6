"""Fit how a sentence is read as a memory: `memory/format/kinds.json`.

Each file of `kinds/` holds sentences of one author with the type and the scope they should get. The
table shows each author's sentences judged with the weights fitted on the others': how many that speak
of the person go with the person, how many of the project stay in it, how many types are right.
`unlearnt/` and the files of `--test` are judged with the weights fitted on all.

    python benchmarks/fit_kinds.py [--write] [--test FILE …] [--errors]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import publish

from reverie.memory.format import kinds
from reverie.memory.format.kinds import READINGS, Weights, signs_of

DATA = Path(__file__).parent / "kinds"
# A sign that was seen once says little.
LEAST = 2
PENALTY = 0.05
ROUNDS = 200
PACE = 0.1
# Signs whose largest weight is below this are left out of the file.
NEGLIGIBLE = 0.5

Rows = NDArray[np.float32]
Sentence = dict[str, Any]


def sentences(file: Path) -> list[Sentence]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def reading_of(sentence: Sentence) -> int:
    """The place in READINGS of a labelled sentence."""
    type_, about_person = sentence["type"], sentence["scope"] == "person"
    if type_ == "reference":
        name = "place"
    elif type_ == "feedback":
        name = "manner" if about_person else "rule"
    else:
        name = "person" if about_person else "fact"
    return READINGS.index(name)


def fitted(learnt: list[Sentence]) -> Weights:
    """Multinomial logistic regression, by Adam with a penalty on the weights."""
    found = [signs_of(one["text"]) for one in learnt]
    counts = Counter(sign for signs in found for sign in signs)
    names = sorted(sign for sign, count in counts.items() if count >= LEAST)
    place = {name: index for index, name in enumerate(names)}
    given = np.zeros((len(learnt), len(names)), np.float32)
    for row, signs in zip(given, found, strict=True):
        known = [place[sign] for sign in signs if sign in place]
        row[known] = 1 / np.sqrt(len(known) or 1)
    wanted = np.eye(len(READINGS), dtype=np.float32)[[reading_of(one) for one in learnt]]
    weights, offsets = _descended(given, wanted)
    kept = {
        name: [round(float(one), 1) for one in row]
        for name, row in zip(names, weights, strict=True)
        if np.abs(row).max() >= NEGLIGIBLE
    }
    return Weights(kept, [round(float(one), 3) for one in offsets])


def _descended(given: Rows, wanted: Rows) -> tuple[Rows, Rows]:
    sizes = ((given.shape[1], wanted.shape[1]), (wanted.shape[1],))
    state: list[Rows] = [np.zeros(size, np.float32) for size in sizes]
    moments = [(np.zeros_like(one), np.zeros_like(one)) for one in state]
    for step in range(1, ROUNDS + 1):
        sums = given @ state[0] + state[1]
        share = np.exp(sums - sums.max(1, keepdims=True))
        error = (share / share.sum(1, keepdims=True) - wanted) / len(given)
        changes = [given.T @ error + PENALTY / len(given) * state[0], error.sum(0)]
        for one, change, (first, second) in zip(state, changes, moments, strict=True):
            first += 0.1 * (change - first)
            second += 0.001 * (change**2 - second)
            hat = second / (1 - 0.999**step)
            one -= PACE * (first / (1 - 0.9**step)) / (np.sqrt(hat) + 1e-8)
    return state[0], state[1]


def judged(told: list[Sentence], weights: Weights, *, errors: bool = False) -> list[str]:
    """Shares: about the person and kept with the person, of the project and kept in it, type right."""
    right: Counter[str] = Counter()
    total = Counter(one["scope"] for one in told)
    for one in told:
        found = kinds.readings(one["text"], weights)
        scope = "person" if kinds.share_of_person(found) > kinds.SURE_OF_PERSON else "project"
        right[one["scope"]] += scope == one["scope"]
        right["type"] += kinds.type_of(found) == one["type"]
        if errors and scope != one["scope"]:
            print(f"  {one['scope']} taken for {scope}: {one['text']}")
    return [f"{right[scope]} of {total[scope]}" for scope in ("person", "project")] + [
        f"{right['type']} of {len(told)}"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    parser.add_argument("--test", nargs="*", type=Path, default=[], help="sets that are not learnt")
    parser.add_argument(
        "--errors", action="store_true", help="print what is put in the wrong place"
    )
    options = parser.parse_args()
    sets = {file: sentences(file) for file in sorted(DATA.glob("*.jsonl"))}
    rows = []
    for file, told in sets.items():
        others = [one for other, found in sets.items() if other != file for one in found]
        rows.append([file.stem, *judged(told, fitted(others), errors=options.errors)])
    whole = fitted([one for found in sets.values() for one in found])
    tests = [*sorted((DATA / "unlearnt").glob("*.jsonl")), *options.test]
    rows += [[file.stem, *judged(sentences(file), whole, errors=options.errors)] for file in tests]
    publish("fit_kinds", ["sentences", "about the person", "of the project", "type"], rows)
    if options.write:
        _write(whole)


def _write(weights: Weights) -> None:
    lines = ",\n".join(
        f"{json.dumps(sign, ensure_ascii=False)}:{json.dumps(row, separators=(',', ':'))}"
        for sign, row in sorted(weights.signs.items())
    )
    file = Path(kinds.__file__).with_name("kinds.json")
    text = f'{{"offsets":{json.dumps(weights.offsets)},"signs":{{\n{lines}\n}}}}\n'
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
