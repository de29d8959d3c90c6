"""Static word vectors: a text's vector is the mean of its pieces' vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import StorageError
from reverie.ports import OF_MESSAGES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from reverie.ports import TextKind


@contextmanager
def loading(name: str, place: Path) -> Iterator[None]:
    """Turn any error into a StorageError that names the model and says what to do."""
    try:
        yield
    # The libraries' errors have no common base class, and a broken file must not stop a turn.
    except Exception as error:
        raise StorageError(
            f"the embedding model {name} cannot be loaded from {place} ({error}); "
            "install its package again, or choose another recall.embedder"
        ) from error


# Reading the file takes longer than a prompt may wait; every index of the process shares it.
@cache
def load_tokenizer(path: Path) -> Tokenizer:
    tokenizer = _tokenizer(path.read_bytes())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _tokenizer(data: bytes) -> Tokenizer:
    """The tokenizer of a file, made in steps.

    Each call of the library holds the interpreter; a single call for the whole file would stop the
    caller's event loop for twice as long.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece

    described = json.loads(data)
    if described["model"]["type"] != "WordPiece":
        return Tokenizer.from_buffer(data)
    options = described["model"]
    words = options.pop("vocab")
    special = {one["content"]: one["id"] for one in described["added_tokens"]}
    small = json.dumps(described | {"model": options | {"vocab": special}})
    tokenizer: Tokenizer = Tokenizer.from_str(small)
    tokenizer.model = WordPiece(words, **{k: v for k, v in options.items() if k != "type"})
    return tokenizer


@dataclass(frozen=True, slots=True)
class Table:
    """A row for each piece of a word, and the factor of each row."""

    rows: NDArray[np.int8] | NDArray[np.float32]
    scales: NDArray[np.float32]
    # The row of each piece, if several pieces share one.
    places: NDArray[np.int64] | None = None

    def of(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int8] | NDArray[np.float32]:
        return self.rows[ids if self.places is None else self.places[ids]]


class StaticEmbedder:
    """Averages static word vectors; loaded at the first use.

    The folder holds either `vectors.npy` (a row of bytes for each piece of a word) with `scales.npy`
    (what a row is multiplied by), or `model.safetensors` as Model2Vec writes it. A table without
    `tokenizer.json` has the pieces of the one for messages.
    """

    context = (0.3, 0.15)
    together = 0.0
    portion = 2_000

    def __init__(self, name: str, folder: Path, messages: StaticEmbedder | None = None) -> None:
        """`messages` is the model for messages of conversations, if it is another one."""
        self.name = name
        self.apart = messages is not None
        self._folder = folder
        self._messages = messages

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        if self._messages is not None and kind in OF_MESSAGES:
            return self._messages.encode(texts, kind)
        table, tokenizer = self._loaded
        import numpy as np

        rows = np.zeros((len(texts), table.rows.shape[1]), np.float32)
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        for row, encoding in zip(rows, encoded, strict=True):
            ids = encoding.ids
            if ids:
                row[:] = table.scales[ids] @ table.of(ids) / len(ids)
        return rows

    def word_vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[int]]:
        """A vector of length one for each piece of a word, text after text, and how many each has."""
        if self._messages is not None:
            return self._messages.word_vectors(texts)
        table, tokenizer = self._loaded
        import numpy as np

        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        counts = [len(encoding.ids) for encoding in encoded]
        ids = np.fromiter((i for encoding in encoded for i in encoding.ids), np.int64, sum(counts))
        known, places = np.unique(ids, return_inverse=True)
        rows = table.of(known).astype(np.float32)
        rows /= np.sqrt(np.vecdot(rows, rows))[:, None].clip(1e-9)
        found: NDArray[np.float32] = rows[places]
        return found, counts

    @cached_property
    def _loaded(self) -> tuple[Table, Tokenizer]:
        with loading(self.name, self._folder):
            import numpy as np

            published = self._folder / MODEL2VEC
            if published.is_file():
                table = _published_table(published)
            else:
                table = Table(
                    np.load(self._folder / "vectors.npy", mmap_mode="r"),
                    np.load(self._folder / "scales.npy"),
                )
            pieces = self._folder / "tokenizer.json"
            if self._messages is not None and not pieces.is_file():
                return table, self._messages._loaded[1]
            return table, load_tokenizer(pieces)


MODEL2VEC = "model.safetensors"


def _published_table(path: Path) -> Table:
    """The table of a Model2Vec model, left on disk: that of a hundred languages is large."""
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    kinds = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "<i1", "I32": "<i4", "I64": "<i8"}
    found = {
        name: np.memmap(
            path,
            kinds[part["dtype"]],
            "r",
            8 + size + part["data_offsets"][0],
            tuple(part["shape"]),
        )
        for name, part in header.items()
        if name in ("embeddings", "weights", "mapping")
    }
    places = np.asarray(found["mapping"], np.int64) if "mapping" in found else None
    count = len(found["embeddings"] if places is None else places)
    scales = np.asarray(found.get("weights", np.ones(count)), np.float32)
    return Table(found["embeddings"], scales, places)
