"""What the tests of the index share: memories in one line, and a model that needs no package."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reverie.recall.documents import Episode, MemoryDoc, Refreshed
from reverie.recall.index import RecallIndex
from reverie.text.words import terms

NOW = 1_800_000_000.0
DAY = 86_400.0


class HashedWords:
    """An embedder for tests: each stem is a fixed direction, so shared words are alike."""

    name = "hashed-words"
    dimensions = 64
    context: tuple[float, ...] = (0.3, 0.15)
    together = 0.0
    portion = 2_000
    apart = False

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in terms(text):
                seed = zlib.crc32(term.encode())
                row += np.random.default_rng(seed).standard_normal(self.dimensions)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def memory(file: str, body: str = "", **fields) -> MemoryDoc:
    fields.setdefault("created", NOW - 10 * DAY)
    return MemoryDoc(
        file=file, signature=(len(body), hash_of(body, fields), 1), body=body, **fields
    )


def hash_of(*parts: object) -> int:
    return zlib.crc32(repr(parts).encode("utf-8", "replace"))


def fill(index: RecallIndex, *docs: MemoryDoc) -> Refreshed:
    """Make the index hold exactly these memories."""
    by_file = {doc.file: doc for doc in docs}
    return index.refresh({doc.file: doc.signature for doc in docs}, by_file.get)


def shelf(folder: Path, *docs: MemoryDoc, embedder=None) -> RecallIndex:
    index = RecallIndex.open(folder / "recall.db", embedder)
    done = fill(index, *docs)
    assert done.problem is None
    return index


def files(index: RecallIndex, question: str, **options) -> list[str]:
    options.setdefault("now", NOW)
    return [hit.key for hit in index.search(question, **options).hits]


def said(*lines: str, start: float = NOW - DAY, speaker: str = "") -> list[Episode]:
    """A conversation of alternating user and assistant messages, a minute apart."""
    return [
        Episode(f"m{i}", ("user", "assistant")[i % 2], start + 60 * i, line, speaker)
        for i, line in enumerate(lines)
    ]


def changed(doc: MemoryDoc, body: str) -> MemoryDoc:
    return replace(doc, body=body, signature=(len(body), hash_of(body), 2))
