"""Fit what each figure of recall counts, for each embedding model: `recall/calibration.json`.

Two fits, learnt from the dev half of the project notes (`recall_notes.py`) and, where REVERIE_DATA is
there, from the notes of LoCoMo conversations 1–4 put to their own questions and to those of
strangers. The first tells the right memory from the others of its store, the second a question that
the store answers from one that it does not. The offset is then moved so that at `GOOD_MATCH` a small
share of the unrelated prompts of dev is shown anything.

Groups of words are by the author of the questions, and know them better than those of strangers:
both fits do without them. LoCoMo's questions, which are by others, have a word in a group count
more than a word in common (1.5 to 2.6 times); `OTHERS` stays below that.

    python benchmarks/calibrate_recall.py [--write]
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import recall_notes
import recall_threshold
from recall_data import locomo
from recall_methods import Cached
from report import data_folder

from reverie.ports import Embedder
from reverie.recall import lexical as queries
from reverie.recall import relevance
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.relevance import Calibration, Figures, Wanted, marks
from reverie.recall.vectors import encoded
from reverie.text.words import query_words, said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(relevance.__file__).with_name("calibration.json")
NAMES = tuple(field.name for field in fields(Figures))
SHAPED = [NAMES.index(name) for name in relevance.SHAPE]
# The share of unrelated prompts of dev that may be shown something.
WRONG = 0.035
# Without meaning, groups of words decide, which know dev better than they know strangers.
WRONG_BY_WORDS = 0.003
# Questions of each LoCoMo conversation that are learnt from, and memories of each question.
FROM_CHATS = 40
COMPARED = 8
# What a question counts by its kind. Those that share words are fewer in the notes than in life.
COUNTS = {
    "shared words": 3.0,
    "told": 3.0,
    "chat": 0.3,
    "stranger": 0.3,
    recall_notes.UNRELATED: 0.4,
}
OTHERS = 1.0
COMPARING = ("words", "cosine", "margin", "names")


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

    def compared(self, text: str, whole: str | None = None) -> NDArray[np.float64]:
        wanted = Wanted(text, len(self._marks), self._rows.__getitem__, whole)
        cosines = np.zeros(len(self._marks))
        margins = cosines
        if self._embedder is not None and self._vectors is not None:
            cosines = self._vectors @ encoded(self._embedder, [text], "question")[0]
            margins = (cosines - cosines.mean()) / max(float(cosines.std()), 0.02)
        return np.array(
            [
                astuple(wanted.compared(kept, float(cosine), float(margin)))
                for kept, cosine, margin in zip(self._marks, cosines, margins, strict=True)
            ]
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write recall/calibration.json")
    given = parser.parse_args()
    made: dict[str, Calibration] = {}
    found: dict[str, list[Example]] = {}
    for name, embedder in recall_notes.methods():
        examples = [*from_notes(embedder), *from_chats(embedder)]
        model = embedder.name if embedder is not None else ""
        without = () if model else ("cosine", "margin")
        made[model] = fitted(examples, without)
        found[model] = examples
        if isinstance(embedder, Cached):
            embedder.save()
        print(name, made[model], shown(made[model], examples))
    pooled = [example for model, examples in found.items() if model for example in examples]
    # Cosines of a model that is not known mean nothing, their order does.
    made["*"] = fitted(pooled, ("cosine",))
    print("any model", made["*"], shown(made["*"], pooled))
    if given.write:
        rounded = {
            model: {field.name: round(getattr(c, field.name), 3) for field in fields(c)}
            for model, c in sorted(made.items())
        }
        FILE.write_text(json.dumps(rounded, indent=2) + "\n")


def from_notes(embedder: Embedder | None) -> Iterator[Example]:
    known = recall_notes.memories()
    projects = recall_notes.HALVES["dev"]
    for store in [*((project,) for project in projects), projects]:
        shelf = Store([doc for project in store for doc in known[project]], embedder)
        for asked in recall_notes.questions("dev"):
            unrelated = asked.kind == recall_notes.UNRELATED
            if unrelated or asked.project in store:
                right = np.array([file in asked.answers for file in shelf.files], float)
                text = f"{asked.before} {asked.text}".strip()
                parts = queries.parts(text)
                # Which sentence of a long prompt a memory answers is not known: it is not learnt from.
                if unrelated or len(parts) == 1:
                    for part in parts:
                        yield Example(asked.kind, shelf.compared(part, text), right)
                if asked.kind == "shared words":
                    # Agents are told what to do more often than asked.
                    told = " ".join(word.word for word in query_words(text))
                    yield Example("told", shelf.compared(told), right)


def from_chats(embedder: Embedder | None) -> Iterator[Example]:
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
            yield Example("chat", shelves[number].compared(question.text), right)
            other = shelves[(number + 1) % len(shelves)]
            figures = other.compared(question.text)
            yield Example("stranger", figures, np.zeros(len(figures)))


def fitted(examples: Sequence[Example], without: Sequence[str]) -> Calibration:
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
    (share, *shape), offset = _fit(*_questions(examples, comparing))
    comparing *= share
    comparing[NAMES.index("others")] = OTHERS * comparing[NAMES.index("words")]
    comparing[SHAPED] = shape
    made = Calibration(offset, **dict(zip(NAMES, map(float, comparing), strict=True)))
    strange = [_log_odds(made, e).max() for e in examples if e.kind == recall_notes.UNRELATED]
    wrong = WRONG_BY_WORDS if "margin" in without else WRONG
    moved = np.log(GOOD_MATCH / (1 - GOOD_MATCH)) - np.quantile(strange, 1 - wrong)
    return replace(made, offset=offset + float(moved))


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


def _questions(examples: Sequence[Example], comparing: NDArray[np.float64]) -> Rows:
    """Questions: how well the best memory fits and what the question looks like; is it answered?"""
    rows = [
        [(example.figures @ comparing).max(), *example.figures[0, SHAPED]] for example in examples
    ]
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
