"""Fit what recall's figures count: `recall/prompt_kinds.json` and `recall/calibration.json`.

First the kind of a prompt: runs of small words that questions and tasks about one's own work have and
others do not (`recall_notes/kinds.txt` and the questions of the notes), and for each embedding model
the direction in which such prompts lie. Then, for each model, what the figures count: from all sets of
project notes (`recall_notes.py`) and, where REVERIE_DATA is there, the notes of LoCoMo conversations
1-4. Two logistic fits give a beginning: one tells the right memory from the others of its store, one a
question that the store answers from one that it does not. What is wanted is neither of the two but
many right ones shown at few wrong ones, so the weights are then moved, two at a time at random, as long
as more questions are shown the right memory at 2, 3 and 5 % of wrong prompts. Offsets
are set at last: at `GOOD_MATCH` a small share of the unrelated prompts is shown anything, of those that
ask and of those that tell.

What a prompt's kind says is learnt without the set that the prompt is of, or it would be trusted too
much. `--without SET` leaves a set out of everything, and tells what it would be shown.

Groups of words are by the author of most questions, and know them better than those of strangers:
a word in a group counts as much as a word in common, no more (`OTHERS`).

    python benchmarks/calibrate_recall.py [--write] [--without SET]
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import prompt_kinds
import recall_notes
import recall_threshold
from prompt_kinds import Labelled
from recall_data import locomo
from recall_methods import Cached
from report import data_folder

from reverie.ports import Embedder
from reverie.recall import queries, relevance
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.prompt_kind import PromptKind, kind_of, limited
from reverie.recall.relevance import Calibration, Figures, Wanted, marks
from reverie.recall.vectors import encoded
from reverie.text.words import query_words, said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(relevance.__file__).with_name("calibration.json")
NAMES = tuple(field.name for field in fields(Figures))
KIND = [NAMES.index(name) for name in relevance.KIND]
# The share of unrelated prompts that ask, and of those that tell, that may be shown something. On sets
# that were left out, more are. Without meaning, groups of words decide, which know these sets.
WRONG = {"": (0.01, 0.01), "arctic-embed-s-int8": (0.025, 0.02)}
USUAL_WRONG = (0.025, 0.02)
# Moves that are tried, and the shares of wrong ones at which the right ones are counted.
MOVES = 700
COUNTED_AT = (0.02, 0.03, 0.05)
# Memories of each question that moves are judged by.
NEAREST = 14
# Stores are large from here on (`Figures.size`).
LARGE = 0.5
# The few large stores that were learnt from make size seem to matter more than it does ("check").
SIZE_SHARE = 0.7
# Questions of each LoCoMo conversation that are learnt from, and memories of each question.
FROM_CHATS = 40
COMPARED = 8
# What a question counts by its kind. Those that share words are fewer in the notes than in life.
COUNTS = {
    "shared words": 3.0,
    "keywords": 3.0,
    "chat": 0.3,
    "stranger": 0.3,
    "absent": 0.03,
    recall_notes.UNRELATED: 0.4,
}
# Of the questions of other projects and of the prompts of `kinds.txt`, one in so many is put to a
# project's memories.
STRANGERS = 7
OF_KINDS = 5
OTHERS = 1.0
COMPARING = ("words", "cosine", "margin", "names", "fits")
MOVED = ("words", "cosine", "margin", "names", "fits", "unknown", "own_work", "topic")


@dataclass(frozen=True, slots=True)
class Example:
    """A question put to a store: the figures of its memories, and which of them are right."""

    kind: str
    figures: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def weight(self) -> float:
        return COUNTS.get(self.kind, 1.0)


class Store:
    """Memories compared with questions, as the index compares them."""

    def __init__(self, docs: Sequence[MemoryDoc], embedder: Embedder | None) -> None:
        self.files = [doc.file for doc in docs]
        texts = [said_once((doc.name, doc.description, doc.body)) for doc in docs]
        self._marks = [marks(doc.name, doc.description, doc.body) for doc in docs]
        self._rows = Counter(
            term for kept in self._marks for term in {*kept.terms.split(), *kept.groups.split()}
        )
        self._embedder = embedder
        self._vectors = None if embedder is None else encoded(embedder, texts, "passage")

    def compared(self, text: str, kinds: Kinds, whole: str | None = None) -> NDArray[np.float64]:
        cosines = np.zeros(len(self._marks))
        margins = cosines
        if self._embedder is not None and self._vectors is not None:
            cosines = self._vectors @ encoded(self._embedder, [text], "question")[0]
            margins = (cosines - cosines.mean()) / max(float(cosines.std()), 0.02)
        kind, topic = kinds.of(whole or text)
        wanted = Wanted(text, len(self._marks), self._rows.__getitem__, kind, topic)
        return np.array(
            [
                astuple(wanted.compared(kept, float(cosine), float(margin)))
                for kept, cosine, margin in zip(self._marks, cosines, margins, strict=True)
            ]
        )


class Kinds:
    """The kind of each prompt, as it is known from the sets that it is not of."""

    def __init__(
        self,
        runs: Mapping[str, float],
        crossed: Mapping[str, float],
        prompts: Sequence[Labelled],
        embedder: Embedder | None,
    ) -> None:
        self._runs = runs
        self._crossed = crossed
        self._embedder = embedder
        self.direction: tuple[float, ...] = ()
        self._topics: Mapping[str, float] = {}
        if embedder is not None:
            self._topics = prompt_kinds.without_own_set(prompts, self._learnt)
            found = prompt_kinds.direction_learnt(prompts, embedder, crossed)
            self.direction = tuple(round(float(value), 2) for value in found)

    def of(self, text: str) -> tuple[PromptKind, float]:
        kind = kind_of(text)
        if text in self._crossed:
            kind = PromptKind(kind.asks, limited(self._crossed[text]))
        topic = self._topics[text] if text in self._topics else self._along(self.direction, text)
        return kind, limited(topic)

    def _learnt(self, prompts: Sequence[Labelled]) -> Callable[[str], float]:
        assert self._embedder is not None
        found = prompt_kinds.direction_learnt(prompts, self._embedder, self._crossed)
        return lambda text: self._along(found, text)

    def _along(self, direction: Sequence[float] | NDArray[np.float64], text: str) -> float:
        if self._embedder is None:
            return 0.0
        return float(encoded(self._embedder, [text], "question")[0] @ np.asarray(direction))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write both files of recall")
    parser.add_argument("--without", choices=prompt_kinds.LEARNT_FROM, help="leave a set out")
    given = parser.parse_args()
    learnt = prompt_kinds.LEARNT_FROM
    prompt_kinds.LEARNT_FROM = tuple(half for half in learnt if half != given.without)
    prompts = prompt_kinds.labelled()
    runs = prompt_kinds.runs_learnt(prompts)
    prompt_kinds.use(runs)
    crossed = prompt_kinds.without_own_set(prompts, _by_runs)
    print(f"{len(runs)} runs of words from {len(prompts)} prompts")
    if given.write:
        # One run a line, so that a change can be read.
        prompt_kinds.FILE.write_text(json.dumps(runs, indent=0, ensure_ascii=False) + "\n")
    made: dict[str, Calibration] = {}
    found: dict[str, list[Example]] = {}
    for name, embedder in recall_notes.methods():
        kinds = Kinds(runs, crossed, prompts, embedder)
        examples = [*from_notes(embedder, kinds), *from_chats(embedder, kinds)]
        model = embedder.name if embedder is not None else ""
        # How far a memory stands out of its store says little beside how alike it is.
        without = ("margin",) if model else ("cosine", "margin")
        wrong = WRONG.get(model, USUAL_WRONG)
        made[model] = replace(fitted(examples, without, (), wrong), direction=kinds.direction)
        found[model] = examples
        if given.without:
            unseen = [*from_notes(embedder, kinds, (given.without,))]
            print(name, "without", given.without, shown(made[model], unseen), flush=True)
        if isinstance(embedder, Cached):
            embedder.save()
        print(name, replace(made[model], direction=()), shown(made[model], examples))
    pooled = [example for model, examples in found.items() if model for example in examples]
    # Cosines of a model that is not known mean nothing, their order does.
    made["*"] = fitted(pooled, ("cosine",), ("topic",))
    print("any model", made["*"], shown(made["*"], pooled))
    if given.write:
        FILE.write_text(
            json.dumps({m: _written(c) for m, c in sorted(made.items())}, indent=1) + "\n"
        )


def _by_runs(prompts: Sequence[Labelled]) -> Callable[[str], float]:
    weights = prompt_kinds.runs_learnt(prompts)
    return lambda text: prompt_kinds.own_work(weights, text)


def _written(made: Calibration) -> dict[str, object]:
    figures = {
        field.name: round(getattr(made, field.name), 3)
        for field in fields(made)
        if field.name != "direction"
    }
    return figures | ({"direction": made.direction} if made.direction else {})


def from_notes(
    embedder: Embedder | None, kinds: Kinds, halves: Sequence[str] | None = None
) -> Iterator[Example]:
    known = recall_notes.memories()
    others = [p.text for p in prompt_kinds.labelled() if p.set == "kinds"]
    for half in halves or prompt_kinds.LEARNT_FROM:
        projects = recall_notes.HALVES[half]
        stores = [(project,) for project in projects]
        for store in [*stores, *([projects] if len(projects) > 1 else [])]:
            shelf = Store([doc for project in store for doc in known[project]], embedder)
            nothing = np.zeros(len(shelf.files))
            asked = recall_notes.questions(half)
            for one in asked:
                if one.kind == recall_notes.UNRELATED or one.project in store:
                    yield from _examples(one, shelf, kinds)
            for one in [one for one in asked if one.project not in ("", *store)][::STRANGERS]:
                yield Example("absent", shelf.compared(one.text, kinds), nothing)
            for text in others[len(shelf.files) % OF_KINDS :: OF_KINDS]:
                kind = "absent" if kinds.of(text)[0].own_work > 0 else recall_notes.UNRELATED
                yield Example(kind, shelf.compared(text, kinds), nothing)


def _examples(asked: recall_notes.Asked, shelf: Store, kinds: Kinds) -> Iterator[Example]:
    right = np.array([file in asked.answers for file in shelf.files], float)
    text = f"{asked.before} {asked.text}".strip()
    parts = queries.parts(text)
    # Which sentence of a long prompt a memory answers is not known: it is not learnt from.
    if asked.kind == recall_notes.UNRELATED or len(parts) == 1:
        for part in parts:
            yield Example(asked.kind, shelf.compared(part, kinds, text), right)
    if asked.kind == "shared words":
        # Agents are told what to do more often than asked.
        told = " ".join(word.word for word in query_words(text))
        yield Example("keywords", shelf.compared(told, kinds), right)


def from_chats(embedder: Embedder | None, kinds: Kinds) -> Iterator[Example]:
    """Notes that LoCoMo's authors took; each question is also put to another person's."""
    if "REVERIE_DATA" not in os.environ:
        print("not used: LoCoMo (set REVERIE_DATA)")
        return
    folder = data_folder()
    corpora = [corpus for corpus in locomo(folder) if corpus.dev]
    notes = recall_threshold.notes(folder)
    shelves = [Store([doc for doc, _ in notes[corpus.name]], embedder) for corpus in corpora]
    for number, corpus in enumerate(corpora):
        asked = [question for question in corpus.questions if question.kind != "adversarial"]
        for question in asked[:: max(1, len(asked) // FROM_CHATS)]:
            right = np.array([float(bool(t & question.gold)) for _, t in notes[corpus.name]])
            yield Example("chat", shelves[number].compared(question.text, kinds), right)
            other = shelves[(number + 1) % len(shelves)]
            figures = other.compared(question.text, kinds)
            yield Example("stranger", figures, np.zeros(len(figures)))


def fitted(
    examples: Sequence[Example],
    without: Sequence[str],
    unknown: Sequence[str] = (),
    wrong: tuple[float, float] = USUAL_WRONG,
) -> Calibration:
    """The weights of comparing, as far as they help to tell whether there is an answer at all."""
    names = [name for name in COMPARING if name not in without]
    while True:
        weights, _ = _fit(*_memories(examples, names))
        if (weights >= 0).all():
            break
        # Figures that speak for a memory do not count against it.
        names = [name for name, weight in zip(names, weights, strict=True) if weight >= 0]
    comparing = np.zeros(len(NAMES))
    comparing[[NAMES.index(name) for name in names]] = weights
    kind = [at for at in KIND if NAMES[at] not in ("size", *unknown)]
    (share, *shape), offset = _fit(*_questions(examples, comparing, kind))
    comparing *= share
    comparing[NAMES.index("others")] = OTHERS * comparing[NAMES.index("words")]
    comparing[kind] = shape
    counts: dict[str, Any] = dict(zip(NAMES, map(float, comparing), strict=True))
    made = Calibration(offset, **counts)
    usable = [name for name in MOVED if name not in (*without, *unknown)]
    return _moved(_improved(made, examples, usable), examples, wrong)


def _improved(made: Calibration, examples: Sequence[Example], usable: Sequence[str]) -> Calibration:
    """The weights moved at random, as long as more is shown at the same share of wrong ones."""
    wanted, strange = (
        _nearest(made, [e for e in examples if e.kind in kinds and not _is_large(e)])
        for kinds in (("other words", "shared words"), (recall_notes.UNRELATED,))
    )
    asking = strange[0][:, 0, NAMES.index("tells")] == 0
    strange = strange[0][asking], strange[1][asking]
    best = np.array([getattr(made, name) for name in NAMES])
    most = _shown_at_few_wrong(best, wanted, strange)
    dice = np.random.default_rng(1)
    for _ in range(MOVES):
        tried = best.copy()
        for name in dice.choice(list(usable), size=2, replace=False):
            place = NAMES.index(name)
            step = 0.35 * (abs(tried[place]) + (1.5 if name == "cosine" else 0.2)) * dice.normal()
            sign = -1 if name == "unknown" else 1
            tried[place] = sign * max(0.0, sign * tried[place] + step)
        tried[NAMES.index("others")] = OTHERS * tried[NAMES.index("words")]
        count = _shown_at_few_wrong(tried, wanted, strange)
        if count > most:
            best, most = tried, count
    counts: dict[str, Any] = dict(zip(NAMES, map(float, best), strict=True))
    return Calibration(made.offset, **counts)


Stacked = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def _is_large(example: Example) -> bool:
    return bool(example.figures[0, NAMES.index("size")] > LARGE)


def _nearest(made: Calibration, examples: Sequence[Example]) -> Stacked:
    """The figures of the memories nearest to each question, and which of them are right."""
    figures, right = [], []
    for example in examples:
        odds = _log_odds(made, example) + 3 * example.figures[:, NAMES.index("cosine")]
        chosen = np.argsort(-odds - 100 * example.right)[:NEAREST]
        short = NEAREST - len(chosen)
        figures.append(np.pad(example.figures[chosen], ((0, short), (0, 0)), mode="edge"))
        right.append(np.pad(example.right[chosen], (0, short)))
    return np.stack(figures), np.stack(right)


def _shown_at_few_wrong(weights: NDArray[np.float64], wanted: Stacked, strange: Stacked) -> float:
    """The share of questions that are shown the right memory, at a few shares of wrong prompts."""
    wrong = (strange[0] @ weights).max(axis=1)
    odds = wanted[0] @ weights
    order = np.argsort(-odds, axis=1)[:, : recall_notes.SHOWN]
    best = np.take_along_axis(odds, order, 1)
    right = np.where(np.take_along_axis(wanted[1], order, 1) > 0, best, -np.inf).max(axis=1)
    # What is much less likely than the best one is not shown beside it.
    beside = np.where(best[:, 0] - right <= relevance.NEARLY, best[:, 0], -np.inf)
    return float(
        np.mean([(beside >= np.quantile(wrong, 1 - share)).mean() for share in COUNTED_AT])
    )


def _moved(
    made: Calibration, examples: Sequence[Example], wrong: tuple[float, float]
) -> Calibration:
    """Offsets at which few unrelated prompts are shown something: asking, telling, in large stores.

    In the sets every question has an answer in the large store, too, so that no fit could tell what
    its size means.
    """
    strange = [e for e in examples if e.kind == recall_notes.UNRELATED]
    sizes = np.array([e.figures[0, NAMES.index("size")] for e in strange])
    tells = np.array([e.figures[0, NAMES.index("tells")] for e in strange]) > 0
    odds = np.array([_log_odds(made, e).max() for e in strange])
    large = sizes > LARGE
    good = np.log(GOOD_MATCH / (1 - GOOD_MATCH))
    (asked, told), (asked_in_large, _) = (
        [
            float(good - np.quantile(odds[chosen & kind], 1 - share))
            for kind, share in zip((~tells, tells), wrong, strict=True)
        ]
        for chosen in (~large, large)
    )
    size = SIZE_SHARE * min(0.0, asked_in_large - asked) / float(sizes[large].mean())
    return replace(made, offset=made.offset + asked, tells=made.tells + told - asked, size=size)


Rows = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _memories(examples: Sequence[Example], names: Sequence[str]) -> Rows:
    """Memories that come near a question which one of them answers: figures, right or not, weight."""
    columns = [NAMES.index(name) for name in names]
    rows, right, weights = [], [], []
    for example in examples:
        if example.right.any():
            near = example.figures @ np.array(
                [0.3 * (n == "words") + (n == "cosine") for n in NAMES]
            )
            chosen = np.union1d(np.argsort(-near)[:COMPARED], np.flatnonzero(example.right))
            rows.append(example.figures[np.ix_(np.asarray(chosen), np.asarray(columns))])
            right.append(example.right[chosen])
            weights.append(np.full(len(chosen), example.weight))
    return np.concatenate(rows), np.concatenate(right), np.concatenate(weights)


def _questions(
    examples: Sequence[Example], comparing: NDArray[np.float64], kind: Sequence[int]
) -> Rows:
    """Questions: how well the best memory fits and what the question looks like; is it answered?"""
    rows = []
    for example in examples:
        scores = example.figures @ comparing
        best = int(scores.argmax())
        rows.append([scores[best], *example.figures[best, kind]])
    answered = [float(example.right.any()) for example in examples]
    return np.array(rows), np.array(answered), np.array([e.weight for e in examples])


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Logistic regression by Newton's method."""
    mean, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    found = np.zeros(z.shape[1])
    ridge = 2 * np.eye(z.shape[1])
    ridge[0, 0] = 0
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ found))
        slope = z.T @ (w * (p - y)) + ridge @ found
        found -= np.linalg.solve((z * (w * p * (1 - p))[:, None]).T @ z + ridge, slope)
    slopes = found[1:] / spread
    return slopes, float(found[0] - slopes @ mean)


def _log_odds(made: Calibration, example: Example) -> NDArray[np.float64]:
    weights = np.array([getattr(made, name) for name in NAMES])
    found: NDArray[np.float64] = example.figures @ weights + made.offset
    return found


def shown(made: Calibration, examples: Sequence[Example]) -> dict[str, float]:
    """Of each kind of question, how many are shown the right memory (of strangers': any)."""
    counted: dict[str, list[bool]] = {}
    for example in examples:
        odds = _log_odds(made, example)
        best = np.argsort(-odds)[: recall_notes.SHOWN]
        chances = np.array([relevance.chance_beside(odds[i], odds[best[0]]) for i in best])
        wanted = example.right[best] > 0 if example.right.any() else np.ones(len(best), bool)
        seen = bool(((chances >= GOOD_MATCH) & wanted).any())
        counted.setdefault(example.kind, []).append(seen)
    return {kind: round(float(np.mean(values)), 3) for kind, values in counted.items()}


if __name__ == "__main__":
    main()
