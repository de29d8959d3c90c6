"""Learn the map of questions of an embedding model: `recall/question_maps/`.

A question is to be nearer to the memory that answers it than to the others of its store, and an unrelated
prompt to none of them (a softmax over the memories and "none"). `calibrate_recall.py` uses this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import recall_notes

from reverie.ports import Embedder
from reverie.recall.question_map import QuestionMap
from reverie.recall.vectors import encoded, unit
from reverie.text.words import said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEARNT_FROM = ("other words", "told", "shared words")
# What a cosine counts in the softmax, and where "none" begins.
SHARPNESS = 20.0
NONE = 6.0
STEPS = 40
RATE, RATE_OF_NONE = 0.05, 5.0
MOMENTUM = 0.9
# How much the map is held back from leaving the identity.
DECAY = 0.01


@dataclass(frozen=True, slots=True)
class Shelf:
    """One store: its memories, the prompts put to it by their rows, and what each is to find.

    The last column of `right` is "none".
    """

    memories: NDArray[np.float32]
    asked: NDArray[np.int64]
    right: NDArray[np.float32]
    counts: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lessons:
    """The prompts of a set, and its stores."""

    prompts: NDArray[np.float32]
    shelves: tuple[Shelf, ...]


def maps_without_each(embedder: Embedder) -> dict[str, QuestionMap]:
    """For each set the map that the others teach; "" is that of all."""
    lessons = {half: _lessons(half, embedder) for half in recall_notes.HALVES}
    return {
        left_out: _learnt([of for half, of in lessons.items() if half != left_out])
        for left_out in ("", *lessons)
    }


def _lessons(half: str, embedder: Embedder) -> Lessons:
    known, projects = recall_notes.memories(), recall_notes.HALVES[half]
    prompts = recall_notes.questions(half)
    strange = [n for n, one in enumerate(prompts) if one.kind == recall_notes.UNRELATED]
    shelves = []
    for project in projects:
        docs = known[project]
        own = [
            n for n, one in enumerate(prompts) if one.kind in LEARNT_FROM and one.project == project
        ]
        right = [[doc.file in prompts[n].answers for doc in docs] + [False] for n in own]
        right += [[False] * len(docs) + [True]] * len(strange)
        rows = np.array(right, np.float32)
        texts = [said_once((doc.name, doc.description, doc.body)) for doc in docs]
        shelves.append(
            Shelf(
                encoded(embedder, texts, "passage"),
                np.array([*own, *strange]),
                rows / rows.sum(axis=1, keepdims=True),
                # Unrelated prompts are put to every store of their set.
                np.array([1.0] * len(own) + [1 / len(projects)] * len(strange), np.float32),
            )
        )
    vectors = encoded(embedder, [one.text for one in prompts], "question")
    return Lessons(vectors, tuple(shelves))


def _learnt(lessons: Sequence[Lessons]) -> QuestionMap:
    mean = np.concatenate([of.prompts for of in lessons]).mean(axis=0)
    usual = np.concatenate([s.memories for of in lessons for s in of.shelves]).mean(axis=0)
    ready = [
        (unit(of.prompts - mean), [replace(s, memories=s.memories - usual) for s in of.shelves])
        for of in lessons
    ]
    total = sum(float(s.counts[s.right[:, -1] == 0].sum()) for of in lessons for s in of.shelves)
    learnt = np.zeros((len(mean), len(mean) + 1), np.float32)
    pace, none, none_pace = np.zeros_like(learnt), NONE, 0.0
    for _ in range(STEPS):
        slope, none_slope = DECAY * learnt, 0.0
        for prompts, shelves in ready:
            turned = prompts @ learnt
            turned[:, :-1] += prompts
            errors = np.zeros_like(turned)
            for shelf in shelves:
                error = _errors(turned[shelf.asked], shelf, none) / total
                none_slope += float(error[:, -1].sum())
                errors[shelf.asked, :-1] += error[:, :-1] @ shelf.memories
                errors[shelf.asked, -1] += error[:, -1]
            slope += SHARPNESS * (prompts.T @ errors)
        pace = MOMENTUM * pace + slope
        none_pace = MOMENTUM * none_pace + none_slope
        learnt = learnt - RATE * pace
        none -= RATE_OF_NONE * none_pace
    # The last column, where prompts lie that no memory answers, is told by the kind of a prompt.
    return QuestionMap(np.eye(len(mean), dtype=np.float32) + learnt[:, :-1], mean, usual)


def _errors(turned: NDArray[np.float32], shelf: Shelf, none: float) -> NDArray[np.float32]:
    """By how much the chance of each memory, and of "none", is too large."""
    odds = SHARPNESS * np.c_[turned[:, :-1] @ shelf.memories.T, turned[:, -1]]
    odds[:, -1] += none
    chances = np.exp(odds - odds.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    found: NDArray[np.float32] = (chances - shelf.right) * shelf.counts[:, None]
    return found
