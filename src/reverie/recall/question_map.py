"""Turns a question's vector towards the memories that answer questions of its kind.

A model puts a question near texts that say the same. The memory that answers it says something else,
in ways that are alike from store to store: `question_maps/` holds, for each model, a linear map learnt from questions and
their memories, and the means of questions and of memories, which are taken away first. Vectors of memories
stay as they are. `benchmarks/calibrate_recall.py` makes the maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("question_maps")


@dataclass(frozen=True, slots=True)
class Aim:
    """The vector to compare memories with, and what any memory has in common with it."""

    vector: NDArray[np.float32] | None
    common: float = 0.0


@dataclass(frozen=True, slots=True)
class QuestionMap:
    """A map of questions of one model."""

    matrix: NDArray[np.float32]
    questions: NDArray[np.float32]
    memories: NDArray[np.float32]

    def aimed(self, vector: NDArray[np.float32]) -> Aim:
        # No `@`: the threads of a BLAS wait for each other on a busy machine.
        import numpy as np

        turned = np.einsum("i,ij->j", _unit(vector - self.questions), self.matrix)
        turned = _unit(turned)
        return Aim(turned, float(np.vecdot(turned, self.memories)))


def aimed(model: str, vector: NDArray[np.float32] | None) -> Aim:
    """Where a question points to among memories; as it is for a model without a map."""
    known = _load(model) if vector is not None else None
    if vector is None or known is None or len(vector) != len(known.questions):
        return Aim(vector)
    return known.aimed(vector)


@lru_cache(maxsize=4)
def _load(model: str) -> QuestionMap | None:
    path = FOLDER / f"{model}.npy"
    # The name of another model may hold anything, such as an address.
    if path.parent != FOLDER or not path.is_file():
        return None
    import numpy as np

    rows = np.load(path).astype(np.float32)
    return QuestionMap(rows[:-2], rows[-2], rows[-1])


def save(model: str, learnt: QuestionMap) -> None:
    """Keep a map, in half precision."""
    import numpy as np

    rows = np.vstack([learnt.matrix, learnt.questions, learnt.memories])
    np.save(FOLDER / f"{model}.npy", rows.astype(np.float16))
    _load.cache_clear()


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    length = max(float(np.sqrt(np.vecdot(vector, vector))), 1e-9)
    found: NDArray[np.float32] = vector / np.float32(length)
    return found
