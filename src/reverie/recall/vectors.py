"""Vectors of passages: computed outside any lock, stored in the index, searched in memory.

A model may be slow, remote or unavailable: it encodes one portion at a time, and neither readers
nor writers wait for it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reverie.recall import episodes
from reverie.recall.documents import Embedded
from reverie.recall.shadow import Shadow, next_stamp, read_meta, write_meta
from reverie.text.words import said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reverie.ports import Embedder, TextKind


log = logging.getLogger(__name__)

# The model whose vectors were last discarded.
REPLACED = "replaced"
# A message this long is clear by itself; a shorter one needs its neighbours.
_SELF_CONTAINED = 160
# A message up to this length is read together with the next one.
_READ_BEFORE = 240
# A text whose share moves the vector less than this is not worth encoding.
_WORTH_READING = 0.1


@dataclass(frozen=True, slots=True)
class Reading:
    """The texts that a passage's vector is made of, each with its weight."""

    passage: int
    episode: int
    texts: tuple[tuple[str, float], ...]


def embed_portion(shadow: Shadow, embedder: Embedder, dimensions: int | None) -> Embedded:
    """Embed one batch of passages without a vector; `dimensions` is the size of the model's last vectors."""
    with shadow.lock:
        connection = shadow.connection()
        if outdated(connection, embedder.name, dimensions):
            with shadow.writing() as connection:
                _start_again(connection, embedder.name, dimensions)
        work = _readings(connection, embedder)
        stamp = read_meta(connection, "stamp")
    if not work:
        return Embedded()
    rows = _rows(embedder, work)
    with shadow.lock, shadow.writing() as connection:
        undisturbed = read_meta(connection, "stamp") == stamp
        if outdated(connection, embedder.name, rows.shape[1]):
            _start_again(connection, embedder.name, rows.shape[1])
        if not undisturbed:
            # Another process may have written meanwhile: changed passages stay pending, removed ones go.
            same = [_reading(connection, embedder, w.passage, w.episode) == w for w in work]
            work, rows = [w for w, kept in zip(work, same, strict=True) if kept], rows[same]
        _write(connection, work, rows)
        return Embedded(len(work), _pending(connection))


def outdated(connection: sqlite3.Connection, name: str, dimensions: int | None) -> bool:
    """Whether the stored vectors come from another model, or have another size than its vectors now."""
    if read_meta(connection, "embedder") != name:
        return True
    known = read_meta(connection, "dimensions")
    return bool(known and dimensions) and known != str(dimensions)


def _start_again(connection: sqlite3.Connection, name: str, dimensions: int | None) -> None:
    """Drop all vectors, because another model made them; all passages are embedded again."""
    former = read_meta(connection, "embedder")
    if former and connection.execute("DELETE FROM vectors").rowcount:
        log.info("the vectors of %s are made again by %s", former, name)
        write_meta(connection, REPLACED, former)
    connection.execute("DELETE FROM removed")
    connection.execute("INSERT OR IGNORE INTO pending SELECT id, episode FROM passages")
    write_meta(connection, "embedder", name)
    write_meta(connection, "generation", str(next_stamp(connection)))
    if dimensions is None:
        connection.execute("DELETE FROM meta WHERE key = 'dimensions'")
    else:
        write_meta(connection, "dimensions", str(dimensions))


def replacing(connection: sqlite3.Connection, name: str) -> str:
    """A note while the vectors of another model are being replaced; empty when that is done."""
    former = read_meta(connection, REPLACED)
    left = _pending(connection) if former else 0
    if not left:
        return ""
    return (
        f"{left:,} passages are found by words alone until {name} has read them (before: {former})"
    )


def counted(connection: sqlite3.Connection, name: str) -> Embedded:
    """How many passages have a vector of this model, and how many wait for one."""
    if read_meta(connection, "embedder") != name:
        total = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
        return Embedded(0, total)
    made = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    return Embedded(made, _pending(connection))


def _pending(connection: sqlite3.Connection) -> int:
    """The number of passages without a vector."""
    return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])


def _readings(connection: sqlite3.Connection, embedder: Embedder) -> list[Reading]:
    """The next passages without a vector, and the texts to embed for them."""
    rows = connection.execute(
        "SELECT passage, episode FROM pending ORDER BY passage LIMIT ?", (embedder.portion,)
    ).fetchall()
    return [_reading(connection, embedder, passage, episode) for passage, episode in rows]


def _reading(
    connection: sqlite3.Connection, embedder: Embedder, passage: int, episode: int
) -> Reading:
    texts = (
        _message(connection, embedder, passage) if episode else [(_memory(connection, passage), 1)]
    )
    return Reading(passage, episode, tuple(texts))


def _rows(embedder: Embedder, work: Sequence[Reading]) -> NDArray[np.float32]:
    """One vector per passage: the weighted sum of the vectors of its texts."""
    if embedder.apart and len({item.episode for item in work}) > 1:
        of_messages = np.array([bool(item.episode) for item in work])
        groups = [[item for item in work if bool(item.episode) is apart] for apart in (False, True)]
        parts = [_rows(embedder, group) for group in groups]
        joined = np.empty((len(work), parts[0].shape[1]), np.float32)
        joined[~of_messages], joined[of_messages] = parts
        return joined
    texts = list(dict.fromkeys(text for item in work for text, _ in item.texts))
    place = {text: i for i, text in enumerate(texts)}
    vectors = encoded(embedder, texts, "message" if work[0].episode else "passage")
    rows = np.zeros((len(work), vectors.shape[1]), np.float32)
    for row, item in zip(rows, work, strict=True):
        for text, share in item.texts:
            row += share * vectors[place[text]]
    return unit(rows)


def _write(
    connection: sqlite3.Connection, work: Sequence[Reading], rows: NDArray[np.float32]
) -> None:
    stamp = next_stamp(connection)
    # Texts that are all blank have no size, and need no vector.
    if rows.shape[1]:
        write_meta(connection, "dimensions", str(rows.shape[1]))
        connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
            [
                (item.passage, item.episode, stamp, *coded(row))
                for item, row in zip(work, rows, strict=True)
            ],
        )
    connection.executemany(
        "DELETE FROM pending WHERE passage = ?", [(item.passage,) for item in work]
    )


def _memory(connection: sqlite3.Connection, passage: int) -> str:
    row = connection.execute(
        "SELECT m.name, m.description, p.text FROM passages p "
        "JOIN memories m ON m.source = p.source WHERE p.id = ?",
        (passage,),
    ).fetchone()
    return said_once(row) if row else ""


def _message(
    connection: sqlite3.Connection, embedder: Embedder, passage: int
) -> list[tuple[str, float]]:
    """The texts of a message: its own, and its neighbours' where that helps the model."""
    reach = max(len(embedder.context), 1 if embedder.together else 0)
    near = _window(connection, passage, reach)
    own = near.get(0, "")
    leaning = min(1.0, _SELF_CONTAINED / max(len(own), 1)) ** 2
    texts = [(own, 1.0)]
    for distance, share in enumerate(embedder.context, 1):
        around = (near.get(-distance), near.get(distance))
        texts += [(text, leaning * share) for text in around if text is not None]
    together = leaning * embedder.together
    before = near.get(-1, "")
    if 0 < len(before) <= _READ_BEFORE and together > _WORTH_READING:
        texts.append((f"{before}\n{own}", together))
    return texts


def _window(connection: sqlite3.Connection, passage: int, reach: int) -> dict[int, str]:
    rows = connection.execute(
        "SELECT n.position - p.position, n.id, n.position, n.speaker, n.text FROM passages p "
        "JOIN passages n ON n.source = p.source AND n.position BETWEEN p.position - ? "
        "AND p.position + ? WHERE p.id = ?",
        (reach, reach, passage),
    )
    return {row[0]: episodes.Row(*row[1:]).spoken for row in rows}


EXACT_ROWS = 40_000
_CANDIDATES = 2_000
# How many rows are sampled for the mean of a store that is not compared as a whole.
_SAMPLE = 1_000
_BLOCK = 512
_PORTION = 20_000


@dataclass(frozen=True, slots=True)
class Nearest:
    """Passages by similarity to a question, and whether the search was approximate.

    `usual` and `spread` are the mean and the deviation over the store.
    """

    scores: dict[int, float]
    approximate: bool
    usual: float = 0.0
    spread: float = 1.0


class Matrix:
    """The vectors of one collection in memory, kept up to date by the change stamps of the index."""

    def __init__(self, episode: int) -> None:
        self._episode = episode
        self._generation: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._stamp = -1
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._codes: NDArray[np.int8] = np.zeros((0, 0), np.int8)
        self._scales: NDArray[np.float32] = np.zeros(0, np.float32)
        self._bits: NDArray[np.uint64] = np.zeros((0, 0), np.uint64)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def dimensions(self) -> int:
        return int(self._codes.shape[1])

    def follow(self, connection: sqlite3.Connection) -> None:
        """Load what changed in the index since the last call."""
        stamp = int(read_meta(connection, "stamp") or 0)
        if stamp == self._stamp:
            return
        generation = read_meta(connection, "generation")
        if generation != self._generation:
            self._generation = generation
            self._clear()
        gone = connection.execute(
            "SELECT passage FROM removed WHERE stamp > ?", (self._stamp,)
        ).fetchall()
        rows = connection.execute(
            "SELECT passage, scale, data FROM vectors WHERE stamp > ? AND episode = ? "
            "ORDER BY passage",
            (self._stamp, self._episode),
        )
        self._drop({row[0] for row in gone})
        # In portions: a million rows at once would take several times the memory they need.
        while portion := rows.fetchmany(_PORTION):
            self._drop({row[0] for row in portion})
            self._add(portion)
        self._stamp = stamp

    def _drop(self, passages: set[int]) -> None:
        if not passages or not len(self._ids):
            return
        kept = ~np.isin(self._ids, np.fromiter(passages, np.int64))
        if not kept.all():
            self._ids, self._codes = self._ids[kept], self._codes[kept]
            self._scales, self._bits = self._scales[kept], self._bits[kept]

    def _add(self, rows: Sequence[tuple[int, float, bytes]]) -> None:
        ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        scales = np.fromiter((row[1] for row in rows), np.float32, len(rows))
        codes = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(len(rows), -1)
        if not len(self._ids):
            self._ids, self._codes, self._scales, self._bits = ids, codes, scales, _signs(codes)
            return
        in_order = ids[0] > self._ids[-1]
        self._ids = np.concatenate([self._ids, ids])
        self._codes = np.concatenate([self._codes, codes])
        self._scales = np.concatenate([self._scales, scales])
        self._bits = np.concatenate([self._bits, _signs(codes)])
        if not in_order:
            order = np.argsort(self._ids)
            self._ids, self._codes = self._ids[order], self._codes[order]
            self._scales, self._bits = self._scales[order], self._bits[order]

    def nearest(
        self, question: NDArray[np.float32], count: int, allowed: Collection[int] | None
    ) -> Nearest:
        """The passages most similar to a question, among the allowed ones."""
        rows = self._rows(allowed)
        approximate = (len(self) if rows is None else len(rows)) > EXACT_ROWS
        usual = rows
        if approximate:
            usual = np.arange(0, len(self), max(1, len(self) // _SAMPLE))
            rows = self._by_bits(question, rows)
        scores = self._exact(question, rows)
        background = self._exact(question, usual) if approximate else scores
        if len(scores) > count:
            best = np.argpartition(-scores, count)[:count]
            rows = best if rows is None else rows[best]
            scores = scores[best]
        ids = self._ids if rows is None else self._ids[rows]
        found = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        if not len(background):
            return Nearest(found, approximate)
        # In double precision, so that the order of the rows does not matter.
        wide = background.astype(np.float64)
        return Nearest(found, approximate, float(wide.mean()), float(wide.std()))

    def scores(self, question: NDArray[np.float32], passages: Collection[int]) -> dict[int, float]:
        """The similarity of the given passages to a question; passages without a vector are left out."""
        rows = self._rows(passages)
        if rows is None or not len(rows):
            return {}
        found = self._exact(question, rows).tolist()
        return dict(zip(self._ids[rows].tolist(), found, strict=True))

    def _rows(self, passages: Collection[int] | None) -> NDArray[np.int64] | None:
        if passages is None or not len(self._ids):
            return None
        wanted = np.sort(np.fromiter(passages, np.int64, len(passages)))
        places = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        found: NDArray[np.int64] = places[self._ids[places] == wanted]
        return found

    def _exact(
        self, question: NDArray[np.float32], rows: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        total = len(self._ids) if rows is None else len(rows)
        scores = np.empty(total, np.float32)
        # One small buffer, and not `@`: allocating memory costs more than the arithmetic, and BLAS
        # threads wait for each other, on a busy machine for 40 ms.
        floats = np.empty((min(_BLOCK, total), self.dimensions), np.float32)
        for start in range(0, total, _BLOCK):
            place = slice(start, min(start + _BLOCK, total))
            block = place if rows is None else rows[place]
            part = floats[: place.stop - start]
            part[:] = self._codes[block]
            scores[place] = np.vecdot(part, question) * self._scales[block]
        return scores

    def _by_bits(
        self, question: NDArray[np.float32], rows: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        wanted = _signs(question[None, :])[0]
        bits = self._bits if rows is None else self._bits[rows]
        differing = np.zeros(len(bits), np.uint16)
        for column, value in enumerate(wanted):
            differing += np.bitwise_count(bits[:, column] ^ value)
        best = np.argpartition(differing, _CANDIDATES)[:_CANDIDATES]
        chosen: NDArray[np.int64] = best if rows is None else rows[best]
        return chosen


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise rows to length one; a row of zeros (an empty text) stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    result: NDArray[np.float32] = rows / np.maximum(lengths, 1e-9)
    return result


def _signs(rows: NDArray[np.int8] | NDArray[np.float32]) -> NDArray[np.uint64]:
    packed = np.packbits(rows > 0, axis=1)
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def encoded(embedder: Embedder, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
    """Embed texts and normalise the vectors."""
    return unit(embedder.encode(texts, kind))


def coded(row: NDArray[np.float32]) -> tuple[float, bytes]:
    """A vector as it is stored: a scale, and one byte per dimension."""
    scale = float(np.abs(row).max()) / 127 or 1.0
    return scale, np.rint(row / scale).astype(np.int8).tobytes()
