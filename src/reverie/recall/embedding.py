"""Giving passages their vectors: read from the file, encoded outside any lock, written back.

A model may be slow, or far away, or not answer: it is asked for a portion at a time, and neither
readers nor writers wait for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reverie.recall import episodes
from reverie.recall.documents import Embedded
from reverie.recall.shadow import Shadow, next_stamp, read_meta, write_meta
from reverie.recall.vectors import coded, encoded, unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reverie.ports import Embedder

# A message this long speaks for itself; a shorter one leans on its neighbours.
_SELF_CONTAINED = 160
# A message no longer than this is read together with the one after it.
_READ_BEFORE = 240
# A share that moves a vector less than this is not worth reading a text for.
_WORTH_READING = 0.1


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read for one passage: texts, each with its share in the vector."""

    passage: int
    episode: int
    texts: tuple[tuple[str, float], ...]


def embed_portion(shadow: Shadow, embedder: Embedder, dimensions: int | None) -> Embedded:
    """One portion of the passages without a vector; `dimensions` is what the model gave of late."""
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
            # Somebody wrote meanwhile: what reads otherwise now stays pending, or is gone.
            same = [_reading(connection, embedder, w.passage, w.episode) == w for w in work]
            work, rows = [w for w, kept in zip(work, same, strict=True) if kept], rows[same]
        _write(connection, work, rows)
        return Embedded(len(work), _pending(connection))


def outdated(connection: sqlite3.Connection, name: str, dimensions: int | None) -> bool:
    """Whether the vectors in the file are another model's, or of another size than it gives now."""
    if read_meta(connection, "embedder") != name:
        return True
    known = read_meta(connection, "dimensions")
    return bool(known and dimensions) and known != str(dimensions)


def _start_again(connection: sqlite3.Connection, name: str, dimensions: int | None) -> None:
    """Vectors of another model are useless: all are to be made again."""
    connection.execute("DELETE FROM vectors")
    connection.execute("DELETE FROM removed")
    connection.execute("INSERT OR IGNORE INTO pending SELECT id, episode FROM passages")
    write_meta(connection, "embedder", name)
    write_meta(connection, "generation", str(next_stamp(connection)))
    if dimensions is None:
        connection.execute("DELETE FROM meta WHERE key = 'dimensions'")
    else:
        write_meta(connection, "dimensions", str(dimensions))


def _pending(connection: sqlite3.Connection) -> int:
    """How many passages have no vector."""
    return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])


def _readings(connection: sqlite3.Connection, embedder: Embedder) -> list[Reading]:
    """The next passages without a vector, and what is to be read for them."""
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
    """One row a passage: its texts' rows, each with its share."""
    texts = list(dict.fromkeys(text for item in work for text, _ in item.texts))
    place = {text: i for i, text in enumerate(texts)}
    vectors = encoded(embedder, texts, "passage")
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
    return "{}. {}\n{}".format(*row) if row else ""


def _message(
    connection: sqlite3.Connection, embedder: Embedder, passage: int
) -> list[tuple[str, float]]:
    """A message, with a share of its neighbours as far as the model gains from that."""
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
