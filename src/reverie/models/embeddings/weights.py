"""Weights and tokenizers from disk; whatever their libraries raise is one kind of error here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import StorageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer


@contextmanager
def loading(name: str, place: Path) -> Iterator[None]:
    """Say which model could not be loaded, and what to do."""
    try:
        yield
    # The libraries' own errors have no common root: a broken file must not stop a turn.
    except Exception as error:
        raise StorageError(
            f"the embedding model {name} cannot be loaded from {place} ({error}); "
            "install its package again, or choose another recall.embedder"
        ) from error


def load_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def read_table(path: Path) -> NDArray[np.float32]:
    """The one matrix of a safetensors file, mapped into memory: pages are read when used."""
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    (entry,) = (value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
    offset = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=tuple(entry["shape"]))
