"""Fit what recall's figures count: `prompt_kinds.json`, `question_maps/` and `calibration.json` of recall.

First the kind of a prompt: runs of small words that questions and tasks about one's own work have and
others do not (`recall_notes/kinds.txt` and the questions of the notes), and for each embedding model
the direction in which such prompts lie. Then, for each model, the map of its questions
(`learn_maps.py`) and the thresholds: how much more a prompt that
tells needs than one that asks (as shows the most right memories at the same share of wrong ones), how much
more a large store needs, and the offset, so that at `GOOD_MATCH` a small share of the unrelated
prompts is shown anything (`WRONG`).

The weights of the figures are those of the file. With `--move` they are moved, two at a time at random, as long as
more right ones are shown at few wrong ones. On sets that are left out this shows no more from
stores of one project, at more wrong ones, so it is off.

For each set it prints what would be shown if the set were not there: its prompts are judged by kinds, maps, weights (if
moved) and thresholds from the other sets. `--write` writes what was learnt from all of them.

    python benchmarks/calibrate_recall.py [--write] [--move]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import prompt_kinds
import recall_notes
from learn_maps import maps_without_each
from prompt_kinds import Labelled
from recall_examples import NAMES, Example, Kinds, from_notes
from recall_methods import Cached
from report import publish

from reverie.recall import question_map, relevance
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.relevance import Calibration

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(relevance.__file__).with_name("calibration.json")
# The share of unrelated prompts that may be shown something. On sets that are left out, a few more are.
WRONG = 0.0225
# What a prompt that tells may count more or less than one that asks: these are tried.
TELLS = np.arange(-1.0, 2.01, 0.2)
WANTED = ("other words", "told")
# Moves that are tried, and the shares of wrong ones at which the right ones are counted.
MOVES = 300
MOVED = ("words", "cosine", "names", "fits", "unknown", "own_work", "task", "topic")
COUNTED_AT = (0.01, 0.02, 0.03, 0.05)
# Memories of each example that are looked at.
NEAREST = 16
COSINE, WORDS, OTHERS, TELLING, SIZE = (
    NAMES.index(name) for name in ("cosine", "words", "others", "tells", "size")
)
GOOD = float(np.log(GOOD_MATCH / (1 - GOOD_MATCH)))


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts with the figures of their nearest memories; `begins` are the rows at which each begins."""

    figures: NDArray[np.float64]
    right: NDArray[np.float64]
    begins: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.begins)

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much speaks for the best memory of each prompt."""
        if not len(self):
            return np.zeros(0)
        odds = (self.figures @ weights).max(axis=1)
        return np.asarray(np.maximum.reduceat(odds, self.begins), np.float64)

    def shown_from(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much speaks for the best memory, where a right one would be shown beside it."""
        if not len(self):
            return np.zeros(0)
        odds = self.figures @ weights
        best = odds.max(axis=1)
        right = np.where(self.right > 0, odds, -np.inf).max(axis=1)
        # Those that are as good as the right one take its place.
        place = (odds >= right[:, None] - 1e-9).sum(axis=1)
        shown = (place <= recall_notes.SHOWN) & (best - right <= relevance.NEARLY)
        found = np.maximum.reduceat(np.where(shown, best, -np.inf), self.begins)
        return np.asarray(found, np.float64)


class Sets:
    """The examples of all sets, each with its nearest memories."""

    def __init__(self, examples: Sequence[Example], weights: NDArray[np.float64]) -> None:
        nearest = [_nearest(example, weights) for example in examples]
        self._figures = np.stack([figures for figures, _ in nearest])
        self._right = np.stack([right for _, right in nearest])
        self._of = np.array([example.set for example in examples])
        self._kind = np.array([example.kind for example in examples])
        self._together = np.array([example.together for example in examples])
        self._tells = np.array([example.tells for example in examples])
        keys = [(example.set, example.store, example.prompt) for example in examples]
        self._first = np.array([i == 0 or keys[i - 1] != key for i, key in enumerate(keys)])

    def prompts(
        self,
        kind: str,
        *,
        together: bool,
        of: str = "",
        without: str = "",
        tells: bool | None = None,
    ) -> Prompts:
        chosen = (self._kind == kind) & (self._together == together) & (self._of != without)
        if of:
            chosen &= self._of == of
        if tells is not None:
            chosen &= self._tells == tells
        rows = np.flatnonzero(chosen)
        begins = np.flatnonzero(self._first[rows])
        return Prompts(self._figures[rows], self._right[rows], begins)


def _nearest(example: Example, weights: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    odds = example.figures @ weights + 3 * example.figures[:, COSINE] + 100 * example.right
    chosen = np.argsort(-odds)[:NEAREST]
    short = NEAREST - len(chosen)
    figures = np.pad(example.figures[chosen], ((0, short), (0, 0)))
    # A store of fewer memories is filled with some that nothing speaks for.
    figures[len(chosen) :, COSINE] = -10.0
    figures[len(chosen) :, WORDS] = -10.0
    return figures, np.pad(example.right[chosen], (0, short))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write both files of recall")
    parser.add_argument("--move", action="store_true", help="move the weights, too")
    given = parser.parse_args()
    prompts = prompt_kinds.labelled()
    runs = prompt_kinds.runs_learnt(prompts)
    prompt_kinds.use(runs)
    crossed = prompt_kinds.without_own_set(prompts, _by_runs(runs))
    print(f"{len(runs)} runs of words from {len(prompts)} prompts")
    made: dict[str, Calibration] = {}
    pooled: list[Example] = []
    rows: list[list[str | int | float]] = []
    for name, embedder in recall_notes.methods():
        kinds = Kinds(crossed, prompts, embedder)
        maps = maps_without_each(embedder) if embedder is not None else {}
        examples = list(from_notes(embedder, kinds, maps))
        model = embedder.name if embedder is not None else ""
        learnt, left_out = _learnt(relevance.calibration(model), examples, move=given.move)
        made[model] = replace(learnt, direction=kinds.direction)
        rows += [[name, *row] for row in left_out]
        pooled += examples if model else []
        if given.write and maps:
            question_map.save(model, maps[""])
        if isinstance(embedder, Cached):
            embedder.save()
    # Cosines of a model that is not known mean nothing, their order does.
    made["*"], left_out = _learnt(relevance.calibration("*"), pooled, move=False)
    rows += [["any model", *row] for row in left_out]
    kinds_of = ("other words", "told", "long prompt", "shared words", recall_notes.UNRELATED)
    publish("recall_left_out", ("method", "left out", "store", *kinds_of), rows)
    for model, one in made.items():
        print(model or "words alone", replace(one, direction=()))
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
        field.name: round(getattr(made, field.name), 3)
        for field in fields(made)
        if field.name != "direction"
    }
    return figures | ({"direction": made.direction} if made.direction else {})


Row = list[str | int | float]


def _learnt(
    begin: Calibration, examples: Sequence[Example], *, move: bool
) -> tuple[Calibration, list[Row]]:
    """What is learnt from all sets, and what each would be shown by what the others teach."""
    weights = np.array([getattr(begin, name) for name in NAMES])
    sets = Sets(examples, weights)

    def learn(without: str) -> tuple[NDArray[np.float64], float]:
        return with_thresholds(moved(weights, sets, without) if move else weights, sets, without)

    rows: list[Row] = []
    for half, projects in recall_notes.HALVES.items():
        found = learn(half)
        stores = ("each", "together") if len(projects) > 1 else ("each",)
        rows += [[half, store, *shown(sets, half, store == "together", *found)] for store in stores]
    for store in ("each", "together"):
        columns = zip(*(row[2:] for row in rows if row[1] == store), strict=True)
        rows.append(["mean", store, *(fmean(_numbers(column)) for column in columns)])
    best, offset = learn("")
    counts: Mapping[str, Any] = dict(zip(NAMES, map(float, best), strict=True))
    return Calibration(offset, **counts), rows


def _numbers(column: Sequence[str | int | float]) -> list[float]:
    return [float(value) for value in column if value != "-"]


def shown(
    sets: Sets, half: str, together: bool, weights: NDArray[np.float64], offset: float
) -> list[str | int | float]:
    """Of each kind of prompt, the share that is shown the right memory; of unrelated ones, any."""
    found: list[str | int | float] = []
    for kind in ("other words", "told", "long prompt", "shared words", recall_notes.UNRELATED):
        prompts = sets.prompts(kind, together=together, of=half)
        strange = kind == recall_notes.UNRELATED
        odds = prompts.best(weights) if strange else prompts.shown_from(weights)
        found.append(float((odds + offset >= GOOD).mean()) if len(odds) else "-")
    return found


def with_thresholds(
    weights: NDArray[np.float64], sets: Sets, without: str
) -> tuple[NDArray[np.float64], float]:
    """The weights of telling and of the store's size, and the offset."""
    weights = weights.copy()
    weights[SIZE] = 0.0
    small, large = (
        sets.prompts(recall_notes.UNRELATED, together=together, without=without)
        for together in (False, True)
    )
    wanted = [sets.prompts(kind, together=False, without=without) for kind in WANTED]
    weights[TELLING] = max(TELLS, key=lambda value: _right_ones(weights, value, wanted, small))
    usual, higher = (float(np.quantile(p.best(weights), 1 - WRONG)) for p in (small, large))
    sizes = [float(p.figures[p.begins, 0, SIZE].mean()) for p in (small, large)]
    weights[SIZE] = min(0.0, usual - higher) / (sizes[1] - sizes[0])
    return weights, GOOD - usual - float(weights[SIZE]) * sizes[0]


def _right_ones(
    weights: NDArray[np.float64], tells: float, wanted: Sequence[Prompts], strange: Prompts
) -> float:
    """How many prompts are shown the right memory at shares of wrong ones near the one that is wanted."""
    weights = weights.copy()
    weights[TELLING] = tells
    found = np.concatenate([prompts.shown_from(weights) for prompts in wanted])
    wrong = strange.best(weights)
    shares = (WRONG * 0.7, WRONG, WRONG * 1.4)
    return fmean(float((found > np.quantile(wrong, 1 - share)).mean()) for share in shares)


def moved(weights: NDArray[np.float64], sets: Sets, without: str) -> NDArray[np.float64]:
    """The weights moved at random, as long as more is shown at the same shares of wrong ones."""
    pairs = [
        (
            sets.prompts(kind, together=together, without=without, tells=tells),
            sets.prompts(recall_notes.UNRELATED, together=together, without=without, tells=tells),
        )
        for kind, together, tells in (
            ("other words", False, False),
            ("other words", True, False),
            ("told", False, True),
        )
    ]
    best, dice = weights.copy(), np.random.default_rng(1)
    most = _shown_at_few_wrong(best, pairs)
    usable = [name for name in MOVED if name != "cosine" or weights[COSINE]]
    for _ in range(MOVES):
        tried = best.copy()
        for name in dice.choice(usable, size=2, replace=False):
            place = NAMES.index(name)
            step = 0.35 * (abs(tried[place]) + (1.5 if name == "cosine" else 0.2)) * dice.normal()
            sign = -1 if name == "unknown" else 1
            tried[place] = sign * max(0.0, sign * tried[place] + step)
        tried[OTHERS] = tried[WORDS]
        count = _shown_at_few_wrong(tried, pairs)
        if count > most:
            best, most = tried, count
    return best


def _shown_at_few_wrong(
    weights: NDArray[np.float64], pairs: Sequence[tuple[Prompts, Prompts]]
) -> float:
    total = 0.0
    for (wanted, strange), counts in zip(pairs, (1.0, 0.6, 0.3), strict=True):
        found, wrong = wanted.shown_from(weights), strange.best(weights)
        least = [np.quantile(wrong, 1 - share) for share in COUNTED_AT]
        total += counts * fmean(float((found > value).mean()) for value in least)
    return total


if __name__ == "__main__":
    main()
