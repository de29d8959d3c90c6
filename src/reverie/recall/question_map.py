"""Turns a question's vector towards the memories that answer such questions.

A model puts a question near texts that say the same. The memory that answers it says something
else, but in similar ways from store to store. For each model, `question_maps/` has a linear map
learnt from questions and their memories, and the means of questions and of memories, which are
subtracted first. Vectors of memories do not change. `benchmarks/calibrate_recall.py` makes the
maps.
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
    """The vector to compare memories with, and the part that is common to all memories."""

    vector: NDArray[np.float32] | None
    common: float = 0.0


@dataclass(frozen=True, slots=True)
class QuestionMap:
    """The map of one model."""

    matrix: NDArray[np.float32]
    questions: NDArray[np.float32]
    memories: NDArray[np.float32]

    def aimed(self, vector: NDArray[np.float32]) -> Aim:
        # Not `@`: BLAS threads wait for each other on a busy machine.
        import numpy as np

        turned = np.einsum("i,ij->j", _unit(vector - self.questions), self.matrix)
        turned = _unit(turned)
        return Aim(turned, float(np.vecdot(turned, self.memories)))


def aimed(model: str, vector: NDArray[np.float32] | None) -> Aim:
    """A question's vector moved towards its answers; unchanged for a model without a map."""
    known = _load(model) if vector is not None else None
    if vector is None or known is None or len(vector) != len(known.questions):
        return Aim(vector)
    return known.aimed(vector)


@lru_cache(maxsize=4)
def _load(model: str) -> QuestionMap | None:
    path = FOLDER / f"{model}.npy"
    # The name of another model can be any text, such as a URL.
    if path.parent != FOLDER or not path.is_file():
        return None
    import numpy as np

    rows = np.load(path).astype(np.float32)
    return QuestionMap(rows[:-2], rows[-2], rows[-1])


def save(model: str, learnt: QuestionMap) -> None:
    """Save a map, in half precision."""
    import numpy as np

    rows = np.vstack([learnt.matrix, learnt.questions, learnt.memories])
    np.save(FOLDER / f"{model}.npy", rows.astype(np.float16))
    _load.cache_clear()


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    length = max(float(np.sqrt(np.vecdot(vector, vector))), 1e-9)
    found: NDArray[np.float32] = vector / np.float32(length)
    return found
