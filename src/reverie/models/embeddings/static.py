"""A table of token vectors, averaged: no network of any kind runs, so it is fast on any CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.models.embeddings.weights import load_tokenizer, loading, read_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer


class StaticEmbedder:
    """Read from disk when the first text comes."""

    context = (0.3, 0.15)
    together = 0.0
    portion = 2_000

    def __init__(self, name: str, weights: Path, tokenizer: Path) -> None:
        self.name = name
        self._places = (weights, tokenizer)

    def encode(
        self, texts: Sequence[str], kind: Literal["passage", "question"]
    ) -> NDArray[np.float32]:
        table, tokenizer = self._loaded
        import numpy as np

        rows = np.zeros((len(texts), table.shape[1]), np.float32)
        encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, encoding in zip(rows, encoded, strict=True):
            if encoding.ids:
                row[:] = table[encoding.ids].mean(axis=0, dtype=np.float32)
        return rows

    @cached_property
    def _loaded(self) -> tuple[NDArray[np.float32], Tokenizer]:
        weights, tokenizer = self._places
        with loading(self.name, weights.parent):
            return read_table(weights), load_tokenizer(tokenizer)
