"""How near two words are in meaning, by the static vectors of the default recall model.

The table (`models/embeddings/potion`: bytes, English above all) stays on disk, and only the rows of the words
that are asked for are read, without numpy or the tokenizer's package: a command that judges one text loads
nothing else. Where numpy is loaded anyway, it multiplies; sums are taken in the same order, so that nothing
depends on it. A word that is no row of its own is the sum of its pieces. Without the table nothing is known.
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
    # What the numbers are multiplied by.
    scale: float = 1.0
    # Whether they are whole numbers, whose sum is the same in any order.
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
def telling(word: str) -> float:
    """How much a word tells, from 0 to 1: little if it is used everywhere."""
    found = _vector(word)
    return _UNKNOWN if found is None else min(1.0, found.length * found.scale / _LONGEST)


@lru_cache(maxsize=262_144)
def near(ours: str, theirs: str) -> float:
    """How near two words are: 1 for the same, about 0 for words that have nothing in common."""
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
    """How near the nearest of other words is."""
    return _nearest(word, tuple(others))


# The words of a pair are asked for several times, those of one text with every other.
@lru_cache(maxsize=4_096)
def _nearest(word: str, others: tuple[str, ...]) -> float:
    return max([near(word, one) for one in others], default=0.0)


def covered(words: Sequence[str], others: Sequence[str]) -> float:
    """How much of what words tell is said by others, too; all of nothing."""
    told, others = list(map(telling, words)), tuple(others)
    total = sum(told)
    if not total:
        return 1.0
    return sum([much * _nearest(w, others) for w, much in zip(words, told, strict=True)]) / total


def together(words: Sequence[str], others: Sequence[str]) -> float:
    """How near two groups of words are as a whole."""
    words, others = tuple(words), tuple(others)
    both = _product(words, others)
    lengths = (_product(words, words) * _product(others, others)) ** 0.5
    return both / lengths if lengths > 0 else 0.0


@lru_cache(maxsize=4_096)
def _product(words: tuple[str, ...], others: tuple[str, ...]) -> float:
    ours, theirs = ([(word, telling(word)) for word in side] for side in (words, others))
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


def _pieces(word: str, known: dict[str, int]) -> list[int]:
    """The longest known pieces of a word, from its beginning on; none if a part is unknown."""
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
