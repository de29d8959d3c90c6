"""Reads two facts together: a small transformer that knows more of meaning than the signs.

The signs compare words one by one. "Anna's paycheck comes from Siemens" and "Anna is with Siemens"
share too few of them; whether "oils" is another value than "watercolour", or only another word, they
cannot say. The model (`models/reader`) reads both sentences at once and corrects the odds. It is
MiniLM-L6, trained further by `benchmarks/fit_reader.py`, one byte a weight, and runs with numpy alone.
Without numpy or the model's files, the odds stand as they are.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.text import meaning
from reverie.text.meaning import numbers_of
from reverie.text.odds import Odds, standardised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reverie.text.signs import Signs

    Rows = NDArray[Any]

FOLDER = Path(__file__).parents[1] / "models" / "reader"
# Facts are short; of longer texts the beginning is read.
MOST_PIECES = 34
_HEADS = 12
_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
# Before both are read, no reading counts as impossible.
LEAST = 1e-4
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Unread:
    """A new and an old text, with their signs and the odds by these alone."""

    new: str
    old: str
    signs: Signs
    odds: Odds


def known() -> bool:
    """Whether the model can be used here."""
    return meaning.known() and _installed()


@cache
def _installed() -> bool:
    return find_spec("numpy") is not None and (FOLDER / "layers.npz").exists()


def read(pairs: Sequence[Unread]) -> list[Odds]:
    """The odds of each pair after both texts were read."""
    return _model().read(pairs) if pairs else []


@lru_cache(maxsize=4_096)
def pieces(text: str) -> tuple[int, ...]:
    """The numbers of the pieces of a text's words."""
    found: list[int] = []
    for word in _words(text):
        if len(found) >= MOST_PIECES:
            break
        found += numbers_of(word) or numbers_of(_UNKNOWN)
    return tuple(found[:MOST_PIECES])


def _words(text: str) -> Iterator[str]:
    """Words in lower case without accents; each mark of punctuation is a word of its own."""
    word = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        mark = kind[0] == "P" or (letter.isascii() and letter.isprintable() and kind[0] == "S")
        if mark or letter.isspace():
            if word:
                yield word
            word = ""
            if mark:
                yield letter
        elif kind not in ("Mn", "Cc", "Cf"):
            word += letter
    if word:
        yield word


@cache
def _model() -> _Model:
    import numpy as np  # noqa: PLC0415 - a command that reads nothing starts without it

    with np.load(FOLDER / "layers.npz") as stored:
        parts = {name: stored[name] for name in stored.files}
    vectors = np.load(FOLDER / "vectors.npy", mmap_mode="r")
    return _Model(np, {name: _whole(parts, name) for name in parts}, vectors)


def _whole(parts: Mapping[str, Rows], name: str) -> Rows:
    """A part of the model in full; the columns of a matrix are stored as bytes and a factor each."""
    scales = parts.get(f"{name}, scales")
    part = parts[name].astype("f4")
    return part if scales is None else part * scales


class _Model:
    def __init__(self, numpy: Any, parts: Mapping[str, Rows], vectors: Rows) -> None:
        self._np = numpy
        self._parts = parts
        self._vectors = vectors
        self._depth = sum(name.endswith(": attend") for name in parts)

    def read(self, pairs: Sequence[Unread]) -> list[Odds]:
        """All pairs in one pass: each layer multiplies the pieces of all of them at once."""
        texts = [self._embedded(one) for one in pairs]
        ends = [0]
        for text in texts:
            ends.append(ends[-1] + len(text))
        spans = list(pairwise(ends))
        rows = self._np.concatenate(texts)
        for layer in range(self._depth):
            rows = self._layer(rows, spans, f"layer {layer}")
        return [
            self._weighed(rows[start:end], one)
            for one, (start, end) in zip(pairs, spans, strict=True)
        ]

    def _embedded(self, pair: Unread) -> Rows:
        """A vector for each piece of both texts, with its place and its side."""
        start, end = numbers_of(_START), numbers_of(_END)
        new = [*start, *pieces(pair.new), *end]
        numbers = [*new, *pieces(pair.old), *end]
        sides = [int(at >= len(new)) for at in range(len(numbers))]
        parts = self._parts
        rows = self._vectors[numbers] * parts["scales of vectors"][numbers][:, None]
        rows = rows + parts["places"][: len(numbers)] + parts["sides"][sides]
        return self._levelled(rows, "vectors")

    def _layer(self, rows: Rows, spans: Sequence[tuple[int, int]], name: str) -> Rows:
        asked, keys, told = self._np.split(self._times(rows, f"{name}: attend"), 3, axis=1)
        seen = self._np.empty_like(rows)
        for start, end in spans:
            seen[start:end] = self._attended(*(one[start:end] for one in (asked, keys, told)))
        rows = self._levelled(rows + self._times(seen, f"{name}: seen"), f"{name}: seen")
        inner = self._bent(self._times(rows, f"{name}: inner"))
        return self._levelled(rows + self._times(inner, f"{name}: outer"), f"{name}: outer")

    def _attended(self, asked: Rows, keys: Rows, told: Rows) -> Rows:
        """What each piece of a pair takes over from the others, head by head."""
        length, width = asked.shape
        heads = [
            one.reshape(length, _HEADS, width // _HEADS).transpose(1, 0, 2)
            for one in (asked, keys, told)
        ]
        likeness = heads[0] @ heads[1].transpose(0, 2, 1) / (width // _HEADS) ** 0.5
        taken: Rows = (self._shares(likeness) @ heads[2]).transpose(1, 0, 2)
        return taken.reshape(length, width)

    def _weighed(self, rows: Rows, pair: Unread) -> Odds:
        """The odds by the signs, corrected by what was read."""
        np, parts = self._np, self._parts
        middle = len(pieces(pair.new)) + 2
        read = np.concatenate([rows[0], rows[:middle].mean(0), rows[middle:].mean(0)])
        signs = np.array(standardised(pair.signs), "f4")
        hidden = self._times(read, "read") + signs @ parts["signs"]
        before = np.log(np.array(astuple(pair.odds), "f4") + LEAST)
        sums = self._times(np.maximum(hidden, 0), "readings") + before * parts["before"]
        return Odds(*self._shares(sums).tolist())

    def _times(self, rows: Rows, name: str) -> Rows:
        product: Rows = rows @ self._parts[name] + self._parts[f"{name}, offset"]
        return product

    def _levelled(self, rows: Rows, name: str) -> Rows:
        rows = rows - rows.mean(-1, keepdims=True)
        rows = rows / self._np.sqrt((rows * rows).mean(-1, keepdims=True) + _TINY)
        return rows * self._parts[f"{name}, spread"] + self._parts[f"{name}, mean"]

    def _shares(self, sums: Rows) -> Rows:
        shares: Rows = self._np.exp(sums - sums.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return shares

    def _bent(self, rows: Rows) -> Rows:
        """The smooth step of the model's inner layers (GELU)."""
        bent: Rows = (
            0.5 * rows * (1 + self._np.tanh(0.79788456 * rows * (1 + 0.044715 * rows * rows)))
        )
        return bent
