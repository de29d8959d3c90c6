"""Fit what recall's figures count: `prompt_kinds.json`, `question_maps/` and `calibration.json` of recall.

First the kind of a prompt: runs of small words that questions and tasks about one's own work have and
others do not (`recall_notes/kinds.txt` and the questions of the notes), and for each embedding model
the direction in which such prompts lie. Then, for each model, the map of its questions
(`learn_maps.py`), and what the figures of the best memory count for showing it and those beside it:
a logistic regression of prompts that have a right memory among those shown against unrelated ones. How much more
a large store needs, and the offset, are set so that at `GOOD_MATCH` a small share of the unrelated prompts is
shown anything (`WRONG`), whatever the size.

The weights by which memories are ordered are those of the file. For each set it prints what would be shown if the
set were not there: its prompts are judged by kinds, maps and weights from the other sets. `--write` writes
what was learnt from all of them.

    python benchmarks/calibrate_recall.py [--write]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import prompt_kinds
import recall_notes
from learn_maps import maps_without_each
from prompt_kinds import Labelled
from recall_examples import NAMES, STORES, Example, Kinds, from_notes
from recall_methods import Cached
from report import publish

from reverie.recall import question_map, relevance
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.relevance import Calibration

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(relevance.__file__).with_name("calibration.json")
# The share of unrelated prompts that may be shown something.
WRONG = 0.0225
# What a prompt of each kind counts in the regression; unrelated ones count half as much again as the first kind.
COUNTS = {"other words": 1.0, "told": 0.8, "shared words": 3.0, "long prompt": 0.2}
UNRELATED_COUNTS = 1.5
# Questions in other words put to stores without the memory that answers them: little is to be shown there, too.
ABSENT = "absent"
ABSENT_COUNTS = 0.02
RIDGE = 20.0
STEPS = 12
KINDS = (*COUNTS, ABSENT, recall_notes.UNRELATED)
SIZE = NAMES.index("size")
GOOD = float(np.log(GOOD_MATCH / (1 - GOOD_MATCH)))
ANY_MODEL = "*"


@dataclass(frozen=True, slots=True)
class Seen:
    """A part of a prompt put to a store: the figures of the best memory, and whether a right one is shown with it."""

    set: str
    store: str
    kind: str
    # The prompt and the store it was put to.
    asked: tuple[object, ...]
    figures: NDArray[np.float64]
    right: bool


def seen(example: Example, order: NDArray[np.float64]) -> Seen:
    """`order` are the weights by which memories are ordered."""
    odds = example.figures @ order
    best = int(odds.argmax())
    shown = np.argsort(-odds, kind="stable")[: recall_notes.SHOWN]
    near = shown[odds[shown] >= odds[best] - relevance.NEARLY]
    return Seen(
        example.set,
        example.store,
        example.kind,
        (example.projects, example.prompt, example.kind),
        example.figures[best],
        bool(example.right[near].any()),
    )


def without_answer(example: Example) -> Iterator[Example]:
    """The same question, put to the store without the memories that answer it."""
    if example.kind == "other words":
        rest = example.right == 0
        yield replace(
            example, kind=ABSENT, figures=example.figures[rest], right=example.right[rest]
        )


class Prompts:
    """Parts of prompts, in columns."""

    def __init__(self, rows: Sequence[Seen]) -> None:
        self.figures = np.stack([row.figures for row in rows])
        self.right = np.array([row.right for row in rows])
        self.set = np.array([row.set for row in rows])
        self.store = np.array([row.store for row in rows])
        self.kind = np.array([row.kind for row in rows])
        numbers = {asked: n for n, asked in enumerate(dict.fromkeys(row.asked for row in rows))}
        self._asked = np.array([numbers[row.asked] for row in rows])

    def best(
        self, odds: NDArray[np.float64], chosen: NDArray[np.bool_], *, right: bool = False
    ) -> NDArray[np.float64]:
        """The odds of the best part of each prompt; with `right` of those that show a right memory."""
        if not chosen.any():
            return np.zeros(0)
        found = np.where(self.right, odds, -np.inf)[chosen] if right else odds[chosen]
        _, places = np.unique(self._asked[chosen], return_inverse=True)
        best = np.full(places.max() + 1, -np.inf)
        np.maximum.at(best, places, found)
        return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files of recall")
    given = parser.parse_args()
    prompts = prompt_kinds.labelled()
    runs = prompt_kinds.runs_learnt(prompts)
    prompt_kinds.use(runs)
    crossed = prompt_kinds.without_own_set(prompts, _by_runs(runs))
    print(f"{len(runs)} runs of words from {len(prompts)} prompts")
    made: dict[str, Calibration] = {}
    pooled: list[Seen] = []
    rows: list[Row] = []
    for name, embedder in recall_notes.methods():
        kinds = Kinds(crossed, prompts, embedder)
        maps = maps_without_each(embedder) if embedder is not None else {}
        model = embedder.name if embedder is not None else ""
        own, general = relevance.calibration(model), relevance.calibration(ANY_MODEL)
        judged = []
        for found in from_notes(embedder, kinds, maps):
            both = (found, *without_answer(found))
            judged += [seen(example, _order(own)) for example in both]
            if model:
                pooled += [seen(example, _order(general)) for example in both]
        learnt, left_out = _learnt(own, judged)
        made[model] = replace(learnt, direction=kinds.direction)
        rows += [[name, *row] for row in left_out]
        if given.write and maps:
            question_map.save(model, maps[""])
        if isinstance(embedder, Cached):
            embedder.save()
    # Cosines of a model that is not known mean nothing, their order does.
    made[ANY_MODEL], left_out = _learnt(relevance.calibration(ANY_MODEL), pooled)
    rows += [["any model", *row] for row in left_out]
    publish("recall_left_out", ("method", "left out", "store", *KINDS), rows)
    for model, one in made.items():
        print(model or "words alone", one.shown)
    if given.write:
        # One run a line, so that a change can be read.
        prompt_kinds.FILE.write_text(json.dumps(runs, indent=0, ensure_ascii=False) + "\n")
        written = {model: _written(one) for model, one in sorted(made.items())}
        FILE.write_text(json.dumps(written, indent=1) + "\n")


def _by_runs(
    runs: Mapping[str, float],
) -> Callable[[Sequence[Labelled]], Callable[[str], float]]:
    """Learns the kind of a prompt from some of the prompts; `runs` are those of all."""

    def learn(prompts: Sequence[Labelled]) -> Callable[[str], float]:
        weights = prompt_kinds.runs_learnt(prompts, runs)
        return lambda text: prompt_kinds.own_work(weights, text)

    return learn


def _written(made: Calibration) -> dict[str, object]:
    figures: dict[str, object] = {
        field.name: getattr(made, field.name)
        for field in fields(made)
        if field.name not in {"direction", "shown"}
    }
    figures["shown"] = {name: round(count, 3) for name, count in made.shown.items()}
    return figures | ({"direction": made.direction} if made.direction else {})


def _order(of: Calibration) -> NDArray[np.float64]:
    return np.array([getattr(of, name, 0.0) for name in NAMES])


Row = list[str | int | float]


def _learnt(begin: Calibration, rows: Sequence[Seen]) -> tuple[Calibration, list[Row]]:
    """What is learnt from all sets, and what each would be shown by what the others teach."""
    prompts = Prompts(rows)
    # A model that is not known has no cosines to go by, the others no margins.
    unused = [name for name in ("cosine", "margin") if not getattr(begin, name)]
    used = np.array([name not in unused for name in NAMES])
    table: list[Row] = []
    for half in recall_notes.HALVES:
        found = _fitted(prompts, prompts.set != half, used)
        table += [
            [
                half,
                store,
                *_shares(prompts, (prompts.set == half) & (prompts.store == store), found),
            ]
            for store in STORES
            if ((prompts.set == half) & (prompts.store == store)).any()
        ]
    for store in STORES:
        columns = zip(*(row[2:] for row in table if row[1] == store), strict=True)
        table.append(["mean", store, *(_mean(column) for column in columns)])
    weights, offset = _fitted(prompts, np.ones(len(rows), bool), used)
    counts = {name: float(w) for name, w, use in zip(NAMES, weights, used, strict=True) if use}
    return replace(begin, shown={"offset": offset} | counts), table


def _mean(column: Iterable[str | int | float]) -> float:
    return fmean(float(value) for value in column if value != "-")


def _fitted(
    prompts: Prompts, chosen: NDArray[np.bool_], used: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """What the figures of the best memory count for showing it, and the offset."""
    strange = chosen & (prompts.kind == recall_notes.UNRELATED)
    counts = np.zeros(len(chosen))
    for store in STORES:
        here = chosen & (prompts.store == store) & prompts.right
        for kind, count in COUNTS.items():
            counts[here & (prompts.kind == kind)] = count
        unrelated = strange & (prompts.store == store)
        wanted = (here & (prompts.kind == "other words")).sum()
        counts[unrelated] = UNRELATED_COUNTS * wanted / max(unrelated.sum(), 1)
        counts[chosen & (prompts.store == store) & (prompts.kind == ABSENT)] = ABSENT_COUNTS
    rows = counts > 0
    weights = np.zeros(len(NAMES))
    weights[used] = _regression(prompts.figures[rows][:, used], prompts.right[rows], counts[rows])
    weights[SIZE] = 0.0
    odds = prompts.figures @ weights
    limits = []
    for store in STORES:
        here = strange & (prompts.store == store)
        limit = np.quantile(prompts.best(odds, here), 1 - WRONG)
        limits.append((float(prompts.figures[here, SIZE].mean()), float(limit)))
    sizes, heights = zip(*limits, strict=True)
    slope = np.polyfit(sizes, heights, 1)[0]
    weights[SIZE] = min(0.0, -float(slope))
    return weights, GOOD - fmean(limit + weights[SIZE] * size for size, limit in limits)


def _regression(
    x: NDArray[np.float64], y: NDArray[np.bool_], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression with a ridge by Newton's method."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    found = np.zeros(z.shape[1])
    held = RIDGE * np.eye(len(found))
    held[0, 0] = 1e-6
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(z @ found, -30, 30)))
        slope = z.T @ (counts * (p - y)) + held @ found
        found -= np.linalg.solve((z * (counts * p * (1 - p) + 1e-9)[:, None]).T @ z + held, slope)
    return np.asarray(found[1:] / spread)


def _shares(
    prompts: Prompts, chosen: NDArray[np.bool_], found: tuple[NDArray[np.float64], float]
) -> Row:
    """Of each kind of prompt, the share that is shown the right memory; of the last two, any."""
    weights, offset = found
    odds = prompts.figures @ weights + offset
    shares: Row = []
    for kind in KINDS:
        right = kind in COUNTS
        best = prompts.best(odds, chosen & (prompts.kind == kind), right=right)
        shares.append(float((best >= GOOD).mean()) if len(best) else "-")
    return shares


if __name__ == "__main__":
    main()
