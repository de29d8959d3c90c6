"""Learn the map of questions of an embedding model: `recall/question_maps/`.

A question is to be nearer to the memory that answers it than to the others of its store, and an unrelated
prompt to none of them (a softmax over the memories and "none"). `calibrate_recall.py` uses this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
RATE = 0.05
MOMENTUM = 0.9
# How much the map is held back from leaving the identity.
DECAY = 0.01


@dataclass(frozen=True, slots=True)
class Shelf:
    """One store, the prompts put to it, and what each is to find; the last column is "none"."""

    memories: NDArray[np.float32]
    prompts: NDArray[np.float32]
    right: NDArray[np.float32]
    counts: NDArray[np.float32]


def maps_without_each(embedder: Embedder) -> dict[str, QuestionMap]:
    """For each set the map that the others teach; "" is that of all."""
    shelves = {half: _shelves(half, embedder) for half in recall_notes.HALVES}
    return {
        left_out: _learnt({half: of for half, of in shelves.items() if half != left_out})
        for left_out in ("", *shelves)
    }


def _shelves(half: str, embedder: Embedder) -> list[Shelf]:
    known, projects = recall_notes.memories(), recall_notes.HALVES[half]
    asked = recall_notes.questions(half)
    strange = [one for one in asked if one.kind == recall_notes.UNRELATED]
    found = []
    for project in projects:
        docs = known[project]
        texts = [said_once((doc.name, doc.description, doc.body)) for doc in docs]
        own = [one for one in asked if one.kind in LEARNT_FROM and one.project == project]
        right = [[doc.file in one.answers for doc in docs] + [False] for one in own]
        right += [[False] * len(docs) + [True]] * len(strange)
        rows = np.array(right, np.float32)
        found.append(
            Shelf(
                encoded(embedder, texts, "passage"),
                encoded(embedder, [one.text for one in (*own, *strange)], "question"),
                rows / rows.sum(axis=1, keepdims=True),
                # Unrelated prompts are put to every store of their set.
                np.array([1.0] * len(own) + [1 / len(projects)] * len(strange), np.float32),
            )
        )
    return found


def _learnt(shelves: Mapping[str, list[Shelf]]) -> QuestionMap:
    known = [shelf for of in shelves.values() for shelf in of]
    mean = np.concatenate([shelf.prompts for shelf in known]).mean(axis=0)
    usual = np.concatenate([shelf.memories for shelf in known]).mean(axis=0)
    ready = [
        (unit(shelf.prompts - mean), shelf.memories - usual, shelf.right, shelf.counts)
        for shelf in known
    ]
    total = sum(float(counts[right[:, -1] == 0].sum()) for _, _, right, counts in ready)
    size = len(mean)
    matrix, pace = np.zeros((size, size), np.float32), np.zeros((size, size), np.float32)
    away, away_pace = np.zeros(size, np.float32), np.zeros(size, np.float32)
    none, none_pace = NONE, 0.0
    for _ in range(STEPS):
        slope, away_slope, none_slope = DECAY * matrix, DECAY * away, 0.0
        for prompts, memories, right, counts in ready:
            odds = SHARPNESS * (prompts + prompts @ matrix) @ memories.T
            odds = np.hstack([odds, (none + SHARPNESS * (prompts @ away))[:, None]])
            odds = np.exp(odds - odds.max(axis=1, keepdims=True))
            error = (odds / odds.sum(axis=1, keepdims=True) - right) * counts[:, None] / total
            slope = slope + SHARPNESS * (prompts.T @ (error[:, :-1] @ memories))
            away_slope = away_slope + SHARPNESS * (prompts.T @ error[:, -1])
            none_slope += float(error[:, -1].sum())
        pace = MOMENTUM * pace + slope
        away_pace = MOMENTUM * away_pace + away_slope
        none_pace = MOMENTUM * none_pace + none_slope
        matrix = matrix - RATE * pace
        away = away - RATE * away_pace
        none -= none_pace * RATE * 100
    return QuestionMap(np.eye(size, dtype=np.float32) + matrix, mean, usual)
