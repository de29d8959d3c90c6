"""Memories compared with a question word by word, where a stronger model reads them.

A vector for a whole sentence tells what it is about. Among the best memories for a question, the most
alike word for each word of the question tells more (late interaction). The model's vectors of words are made small by
a map that was learnt from memories (`token_maps/`, `benchmarks/learn_maps.py`) and kept in the index, 64 bytes
a word. Models without such a map are not asked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from reverie.ports import Embedder, TokenStates
from reverie.recall.shadow import Shadow, read_meta, write_meta
from reverie.recall.vectors import unit
from reverie.text.words import said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("token_maps")
# So many of the best memories are compared.
TOP = 20
# Up to which passage the vectors of words were made.
UPTO = "tokens"
_LARGEST = 127


@dataclass(frozen=True, slots=True)
class TokenReader:
    """Reads texts as rows of small vectors, a byte a number."""

    embedder: TokenStates
    matrix: NDArray[np.float32]

    def read(
        self, texts: Sequence[str], kind: Literal["passage", "question"]
    ) -> list[NDArray[np.int8]]:
        rows, counts = self.embedder.token_states(texts, kind)
        # No `@`: the threads of a BLAS wait for each other on a busy machine.
        small = unit(np.einsum("ij,jk->ik", rows, self.matrix))
        codes = np.rint(small * _LARGEST).astype(np.int8)
        return np.split(codes, np.cumsum(counts)[:-1])


def reader(embedder: Embedder | None) -> TokenReader | None:
    """How a model's words are read; None for a model without a map."""
    if not isinstance(embedder, TokenStates):
        return None
    matrix = _load(embedder.name)
    return None if matrix is None else TokenReader(embedder, matrix)


@lru_cache(maxsize=4)
def _load(model: str) -> NDArray[np.float32] | None:
    path = FOLDER / f"{model}.npy"
    # The name of another model may hold anything, such as an address.
    if path.parent != FOLDER or not path.is_file():
        return None
    rows: NDArray[np.float32] = np.load(path).astype(np.float32)
    return rows


def save(model: str, matrix: NDArray[np.float32]) -> None:
    """Keep a map, in half precision."""
    FOLDER.mkdir(exist_ok=True)
    np.save(FOLDER / f"{model}.npy", matrix.astype(np.float16))
    _load.cache_clear()


def question_tokens(embedder: Embedder | None, text: str) -> NDArray[np.int8] | None:
    """The words of a question; None for a model without a map."""
    words = reader(embedder)
    return None if words is None or not text.strip() else words.read([text], "question")[0]


def make_portion(shadow: Shadow, embedder: Embedder) -> int:
    """Read the next memories word by word; returns how many are left."""
    words = reader(embedder)
    if words is None:
        return 0
    with shadow.lock:
        connection = shadow.connection()
        done = int(read_meta(connection, UPTO) or 0)
        rows = connection.execute(
            "SELECT p.id, m.name, m.description, p.text FROM passages p "
            "JOIN memories m ON m.source = p.source WHERE p.episode = 0 AND p.id > ? "
            "ORDER BY p.id LIMIT ?",
            (done, words.embedder.portion),
        ).fetchall()
    if not rows:
        return 0
    found = words.read([said_once(row[1:]) for row in rows], "passage")
    with shadow.lock, shadow.writing() as connection:
        # A passage that was removed meanwhile is not brought back.
        connection.executemany(
            "INSERT OR REPLACE INTO tokens SELECT ?1, ?2 WHERE EXISTS "
            "(SELECT 1 FROM passages WHERE id = ?1)",
            [(row[0], codes.tobytes()) for row, codes in zip(rows, found, strict=True)],
        )
        write_meta(connection, UPTO, str(rows[-1][0]))
        left = connection.execute(
            "SELECT count(*) FROM passages WHERE episode = 0 AND id > ?", (rows[-1][0],)
        ).fetchone()
    return int(left[0])


def compared(
    connection: sqlite3.Connection, asked: NDArray[np.int8], passages: Sequence[int]
) -> dict[int, float]:
    """How alike passages are word by word; those that were not read yet are left out."""
    rows = connection.execute(
        f"SELECT passage, data FROM tokens WHERE passage IN ({', '.join(map(str, passages))}) "
        "AND length(data)"
    )
    question = asked.astype(np.float32) / _LARGEST
    found = {}
    for passage, data in rows:
        said = np.frombuffer(data, np.int8).reshape(-1, question.shape[1]) / np.float32(_LARGEST)
        found[passage] = float(np.einsum("ij,kj->ik", question, said).max(axis=1).mean())
    return found
