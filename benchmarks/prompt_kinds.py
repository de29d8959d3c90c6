"""Learn what a prompt about one's own work sounds like: `recall/prompt_kinds.json`.

Labelled prompts are those of `recall_notes/kinds.txt` and the questions of the notes that are learnt
from. `calibrate_recall.py` uses this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import recall_notes

from reverie.ports import Embedder
from reverie.recall import prompt_kind
from reverie.recall.vectors import encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(prompt_kind.__file__).with_name("prompt_kinds.json")
LEARNT_FROM = tuple(recall_notes.HALVES)
ASKING = ("other words", "shared words", "told", "other language")
# Runs of words that fewer prompts have, or that say less, are not kept.
LEAST_SEEN = 3
LEAST_SAID = 0.02
RIDGE = 3.0
RIDGE_OF_DIRECTION = 20.0
# What the vectors of prompts are multiplied by.
STRETCH = 5.0
STEPS = 6
STEPS_FROM_NEAR = 3


@dataclass(frozen=True, slots=True)
class Labelled:
    """A prompt, whether it is about one's own work, and the set it is of."""

    text: str
    own: bool
    set: str


def labelled() -> list[Labelled]:
    lines = (recall_notes.FOLDER / "kinds.txt").read_text().splitlines()
    return [
        *(Labelled(line[2:], line.startswith("+"), "kinds") for line in lines),
        *(
            Labelled(asked.text, asked.kind in ASKING, half)
            for half in LEARNT_FROM
            for asked in recall_notes.questions(half)
            if asked.kind in (*ASKING, recall_notes.UNRELATED)
        ),
    ]


def runs_learnt(
    prompts: Sequence[Labelled], begin: Mapping[str, float] | None = None
) -> Mapping[str, float]:
    """The weight of each run of small words; that of "" holds for every prompt.

    From weights that are nearly right (`begin`) it takes fewer steps.
    """
    seen = Counter(run for prompt in prompts for run in prompt_kind.runs(prompt.text))
    known = sorted(run for run, count in seen.items() if count >= LEAST_SEEN)
    place = {run: n for n, run in enumerate(known)}
    x = np.zeros((len(prompts), len(known)))
    for row, prompt in zip(x, prompts, strict=True):
        row[[place[run] for run in prompt_kind.runs(prompt.text) if run in place]] = 1
    near = None if begin is None else [begin.get(run, 0.0) for run in ("", *known)]
    slopes, offset = fit(x, prompts, np.zeros(len(prompts)), near)
    kept = {run: round(float(slopes[n]), 2) for run, n in place.items()}
    return {"": round(offset, 2)} | {r: w for r, w in kept.items() if abs(w) >= LEAST_SAID}


def use(runs: Mapping[str, float]) -> None:
    """Let recall judge prompts by these runs from now on."""
    prompt_kind.weights.cache_clear()
    prompt_kind.weights = lambda: runs  # type: ignore[assignment]


def own_work(weights: Mapping[str, float], text: str) -> float:
    return weights[""] + sum(weights.get(run, 0.0) for run in prompt_kind.runs(text))


def direction_learnt(
    prompts: Sequence[Labelled], embedder: Embedder, by_runs: Mapping[str, float]
) -> NDArray[np.float64]:
    """Where the model puts prompts about one's own work, beyond what their small words tell."""
    vectors = encoded(embedder, [prompt.text for prompt in prompts], "question")
    known = np.array([by_runs[prompt.text] for prompt in prompts])
    x = np.asarray(vectors, np.float64) * STRETCH
    slopes, _ = fit(x, prompts, known, ridge=RIDGE_OF_DIRECTION)
    return slopes * STRETCH


def without_own_set(
    prompts: Sequence[Labelled], learn: Callable[[Sequence[Labelled]], Callable[[str], float]]
) -> dict[str, float]:
    """What each prompt is taken for by what was learnt from the other sets."""
    found: dict[str, float] = {}
    for name in sorted({prompt.set for prompt in prompts}):
        judge = learn([prompt for prompt in prompts if prompt.set != name])
        found |= {prompt.text: judge(prompt.text) for prompt in prompts if prompt.set == name}
    return found


def fit(
    x: NDArray[np.float64],
    prompts: Sequence[Labelled],
    known: NDArray[np.float64],
    near: Sequence[float] | None = None,
    ridge: float = RIDGE,
) -> tuple[NDArray[np.float64], float]:
    """Logistic regression with a ridge by Newton's method; both kinds weigh the same."""
    y = np.array([float(prompt.own) for prompt in prompts])
    w = np.where(y > 0, 1.0, y.sum() / (1 - y).sum())
    # Half the precision is enough, and takes half the time.
    z = np.c_[np.ones(len(x)), x].astype(np.float32)
    found = np.zeros(z.shape[1]) if near is None else np.array(near)
    held = ridge * np.eye(z.shape[1])
    held[0, 0] = 1e-6
    for _ in range(STEPS if near is None else STEPS_FROM_NEAR):
        p = 1 / (1 + np.exp(-np.clip(z @ found + known, -30, 30)))
        slope = z.T @ (w * (p - y)) + held @ found
        counts = (w * p * (1 - p) + 1e-9).astype(np.float32)
        found -= np.linalg.solve((z * counts[:, None]).T @ z + held, slope)
    return found[1:], float(found[0])
