"""A table of token vectors, averaged: fast on any CPU. Loaded only when vectors are used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from reverie.recall.embed import Kind
from reverie.recall.vectors import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StaticEmbedder:
    """A table of token vectors, averaged: no network of any kind runs, so it is fast on any CPU."""

    context = (0.3, 0.15)

    def __init__(self, name: str, weights: Path, tokenizer: Path) -> None:
        self.name = name
        self._table = _read_table(weights)
        self._tokenizer = load_tokenizer(tokenizer)

    @property
    def dimensions(self) -> int:
        return int(self._table.shape[1])

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, encoding in zip(rows, encoded, strict=True):
            if encoding.ids:
                row[:] = self._table[encoding.ids].mean(axis=0, dtype=np.float32)
        return unit(rows)


def _read_table(path: Path) -> NDArray[np.float32]:
    """The one matrix of a safetensors file, mapped into memory: pages are read when used."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    (entry,) = (value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
    offset = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=tuple(entry["shape"]))


def load_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
