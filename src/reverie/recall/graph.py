"""The entity and link graph: memories that share an entity, or point to each other."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from reverie.recall.documents import MemoryDoc
from reverie.text.words import fold

# A tie that this many memories share says nothing about any two of them.
COMMON = 50


def ties(doc: MemoryDoc) -> set[str]:
    """What a memory can be joined by: its entities, its links, and the names others link it by."""
    stem = doc.file.removesuffix(".md")
    names = {doc.file, stem, stem.rpartition("/")[2], doc.name}
    return (
        {f"entity:{fold(name).strip()}" for name in doc.entities if name.strip()}
        | {f"link:{_target(link)}" for link in doc.links if link.strip()}
        | {f"self:{_target(name)}" for name in names if name.strip()}
    )


def _target(link: str) -> str:
    plain = fold(link).strip().removesuffix(".md").rpartition("/")[2]
    return plain.replace(" ", "-").replace("_", "-")


def neighbours(
    connection: sqlite3.Connection, strengths: Mapping[int, float]
) -> dict[int, tuple[float, str]]:
    """Sources joined with the given ones: how strongly, and by what."""
    found: dict[int, tuple[float, str]] = {}
    for source, strength in strengths.items():
        for tie in _ties_of(connection, source):
            for other in _joined(connection, tie):
                if other == source:
                    continue
                if strength > found.get(other, (0.0, ""))[0]:
                    found[other] = (strength, tie)
    return found


def _ties_of(connection: sqlite3.Connection, source: int) -> list[str]:
    rows = connection.execute("SELECT tie FROM ties WHERE source = ? ORDER BY tie", (source,))
    return [row[0] for row in rows]


def _joined(connection: sqlite3.Connection, tie: str) -> Sequence[int]:
    kind, _, name = tie.partition(":")
    # A link finds the memory of that name, and a name the memories that link to it.
    opposite = {"link": ("self:", "link:"), "self": ("link:",), "entity": ("entity:",)}[kind]
    places = ", ".join("?" * len(opposite))
    rows = connection.execute(
        f"SELECT DISTINCT source FROM ties WHERE tie IN ({places}) LIMIT {COMMON + 1}",
        [prefix + name for prefix in opposite],
    ).fetchall()
    return [] if len(rows) > COMMON else [row[0] for row in rows]
