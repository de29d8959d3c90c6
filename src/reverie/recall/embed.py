"""Embeddings: texts as vectors whose angle says how alike they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["passage", "question"]


class Embedder(Protocol):
    """Texts as rows of unit length. `name` changes whenever the same text gives another row."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def context(self) -> tuple[float, ...]:
        """How much the messages one, two, … places away add to a message's own vector."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]: ...
