"""How close two words are in meaning, by the static vectors of the default recall model.

The table (`models/embeddings/potion`: bytes, mostly English) stays on disk. Only the rows of the
words asked for are read, without numpy or the tokenizer's package, so a command that judges one
text loads neither. If numpy is loaded already, it does the multiplication; sums are taken in the
same order, so the result is the same. A word without a row is the sum of its pieces. Without the
table, no word is known.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import mul
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[1] / "models" / "embeddings" / "potion"
_LONGEST_WORD = 40
# The header of a .npy file: its length is a number of two bytes after the magic and the version.
_LENGTH_AT = 8
# Rare words have long vectors, up to this length; a word without one counts as rather rare.
_LONGEST = 120.0
_UNKNOWN = 0.5


@dataclass(frozen=True, slots=True)
class _Vector:
    # An array where numpy is loaded.
    numbers: Any
    length: float
    # The factor for the stored numbers.
    scale: float = 1.0
    # Whether the numbers are integers, whose sum is the same in any order.
    whole: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    pieces: dict[str, int]
    rows: memoryview
    scales: memoryview[float]
    width: int

    def row(self, number: int) -> Any:
        start = number * self.width
        cells, numpy = self.rows[start : start + self.width], _numpy()
        return numpy.frombuffer(cells, "i1").astype(float) if numpy else tuple(cells.tolist())


def _numpy() -> ModuleType | None:
    return sys.modules.get("numpy")


def known() -> bool:
    """Whether the table is there."""
    return _table() is not None


@lru_cache(maxsize=16_384)
def information(word: str) -> float:
    """How informative a word is, from 0 to 1: little if it is used everywhere."""
    found = _vector(word)
    return _UNKNOWN if found is None else min(1.0, found.length * found.scale / _LONGEST)


@lru_cache(maxsize=262_144)
def near(ours: str, theirs: str) -> float:
    """How close two words are: 1 for the same word, about 0 for unrelated ones."""
    if ours == theirs:
        return 1.0
    if ours > theirs:
        return near(theirs, ours)
    mine, other = _vector(ours), _vector(theirs)
    if mine is None or other is None or not mine.length or not other.length:
        return 0.0
    whole = mine.whole and other.whole
    return _dot(mine.numbers, other.numbers, whole=whole) / (mine.length * other.length)


def nearest(word: str, others: Sequence[str]) -> float:
    """How close the closest of other words is."""
    return _nearest(word, tuple(others))


# Cached, because the words of a text are compared with those of every other text.
@lru_cache(maxsize=4_096)
def _nearest(word: str, others: tuple[str, ...]) -> float:
    return max([near(word, one) for one in others], default=0.0)


def covered(words: Sequence[str], others: Sequence[str]) -> float:
    """The share of the words' information that the others have, too; 1 if there is none."""
    amounts, others = list(map(information, words)), tuple(others)
    total = sum(amounts)
    if not total:
        return 1.0
    return sum([much * _nearest(w, others) for w, much in zip(words, amounts, strict=True)]) / total


def together(words: Sequence[str], others: Sequence[str]) -> float:
    """How close two groups of words are as a whole."""
    words, others = tuple(words), tuple(others)
    both = _product(words, others)
    lengths = (_product(words, words) * _product(others, others)) ** 0.5
    return both / lengths if lengths > 0 else 0.0


@lru_cache(maxsize=4_096)
def _product(words: tuple[str, ...], others: tuple[str, ...]) -> float:
    ours, theirs = ([(word, information(word)) for word in side] for side in (words, others))
    return sum([much * little * near(a, b) for a, much in ours for b, little in theirs])


@lru_cache(maxsize=16_384)
def _vector(word: str) -> _Vector | None:
    """The vector of a word; None where a piece of it is unknown."""
    table = _table()
    pieces = _pieces(word.lower(), table.pieces) if table else []
    if table is None or not pieces:
        return None
    rows = [table.row(number) for number in pieces]
    if len(rows) == 1:
        length = math.sqrt(_dot(rows[0], rows[0], whole=True))
        return _Vector(rows[0], length, table.scales[pieces[0]], whole=True)
    scaled = [(table.scales[number], row) for number, row in zip(pieces, rows, strict=True)]
    if _numpy():
        numbers = sum(scale * row for scale, row in scaled)
    else:
        scales = [scale for scale, _ in scaled]
        numbers = tuple(sum(map(mul, scales, column)) for column in zip(*rows, strict=True))
    return _Vector(numbers, math.sqrt(_dot(numbers, numbers, whole=False)))


def _dot(ours: Any, theirs: Any, *, whole: bool) -> float:
    numpy = _numpy()
    if numpy is None:
        return float(sum(map(mul, ours, theirs)))
    if whole:
        return float(numpy.dot(ours, theirs))
    # The dot product of numpy adds fractions in another order.
    return float(sum(numpy.multiply(ours, theirs).tolist()))


def numbers_of(word: str) -> list[int]:
    """The numbers of a word's pieces in the table's vocabulary; none if a part is unknown."""
    table = _table()
    return _pieces(word, table.pieces) if table else []


def _pieces(word: str, known: dict[str, int]) -> list[int]:
    """The longest known pieces of a word, from its start; none if a part is unknown."""
    found = []
    start = 0
    while start < len(word) <= _LONGEST_WORD:
        sign = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if sign + word[start:end] in known), None)
        if end is None:
            return []
        found.append(known[sign + word[start:end]])
        start = end
    return found


@cache
def _table() -> _Table | None:
    try:
        pieces = json.loads((FOLDER / "tokenizer.json").read_bytes())["model"]["vocab"]
        with (FOLDER / "vectors.npy").open("rb") as file:
            rows = _body(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("b")
        scales = _body((FOLDER / "scales.npy").read_bytes()).cast("f")
    except OSError:
        return None
    return _Table(pieces, rows, scales, len(rows) // len(pieces))


def _body(data: bytes | mmap.mmap) -> memoryview:
    (length,) = struct.unpack_from("<H", data, _LENGTH_AT)
    return memoryview(data)[_LENGTH_AT + 2 + length :]
