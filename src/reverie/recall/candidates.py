"""Candidates for a question: the question itself, the passages its options allow, and the data of each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reverie.recall.documents import Collection, Scope
from reverie.recall.fuse import Priors
from reverie.recall.lexical import Counts
from reverie.recall.queries import Query
from reverie.recall.relevance import Marks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import WordVectors

# How many candidates each signal contributes; the second is for memories when few hits are wanted.
POOL = 150
SMALL_POOL = 30
# The same for a selector model, which is shown more.
MOST_POOL = 200
FEW_WANTED = 20


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the time it is asked from, and the use counts."""

    query: Query
    now: float
    as_of: float | None = None
    vector: NDArray[np.float32] | None = None
    uses: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    counts: Counts = field(default_factory=Counts)
    # How many candidates each signal contributes.
    pool: int = POOL
    # The sentences of a long message, each with its vector, by which memories are searched.
    parts: tuple[Part, ...] = ()
    # The vectors for comparing the best messages again, word by word.
    words: WordVectors | None = None
    # The part of the vector that is common to all memories.
    common: float = 0.0
    # The vector that messages are compared with.
    to_messages: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence of a long message."""

    text: str
    vector: NDArray[np.float32] | None = None


def pool(collection: Scope, limit: int) -> int:
    """How many candidates each signal contributes for this number of hits."""
    few = collection == "memories" and limit <= FEW_WANTED
    return SMALL_POOL if few else max(POOL, min(limit, MOST_POOL))


# Not frozen, for speed: each question makes several hundred of these.
@dataclass(slots=True)
class Candidate:
    """A passage found by some signal, and the data of its source."""

    id: int
    source: int
    key: str
    source_name: str
    role: str
    speaker: str
    at: float | None
    standing: Priors | None = None
    marks: Marks | None = None


def archived(connection: sqlite3.Connection, collection: Collection, query: Query) -> set[int]:
    """Passages of archived memories, which are hidden unless asked for."""
    if collection == "episodes" or query.archived:
        return set()
    rows = connection.execute(
        "SELECT p.id FROM memories m JOIN passages p ON p.source = m.source WHERE m.archived"
    )
    return {row[0] for row in rows}


def condition(collection: Collection, asked: Question) -> tuple[str, Sequence[object]] | None:
    """The question's options as SQL over `passages p`; None when there are none."""
    query = asked.query
    # A memory may hold from a later day than it was written; what counts is when it was written.
    known = "p.at" if collection == "episodes" else "coalesce(m.created, p.at)"
    options: list[tuple[str, object]] = [
        ("p.at >= ?", query.after),
        ("p.at < ?", query.before),
        (f"{known} <= ?", asked.as_of),
        ("p.role = ?", query.role),
        ("m.archived = ?", query.archived or None),
        # The start of a session's id is enough.
        ("instr(s.name, ?) = 1", query.session),
        *(
            ("m.type IN (SELECT value FROM json_each(?))", json.dumps(t))
            for t in [query.types]
            if t
        ),
    ]
    given = [(test, value) for test, value in options if value is not None]
    if not given:
        return None
    joins = " JOIN sources s ON s.id = p.source LEFT JOIN memories m ON m.source = p.source"
    tests = " AND ".join(["p.episode = ?", *(test for test, _ in given)])
    values = [int(collection == "episodes"), *(value for _, value in given)]
    return f"{joins} WHERE {tests}", values


def newest(
    connection: sqlite3.Connection, among: tuple[str, Sequence[object]], hidden: set[int]
) -> list[int]:
    """The newest passages that fit the options, for a query without words."""
    rows = connection.execute(
        f"SELECT p.id FROM passages p {among[0]} ORDER BY p.at DESC, p.id LIMIT ?",
        (*among[1], POOL + len(hidden)),
    )
    return [row[0] for row in rows if row[0] not in hidden][:POOL]


def load(
    connection: sqlite3.Connection, collection: Collection, ids: Sequence[int]
) -> list[Candidate]:
    places = ", ".join(map(str, ids))
    more = (
        "NULL"
        if collection == "episodes"
        else (
            "m.type, m.created, m.valid_from, m.valid_until, m.confidence, m.superseded, "
            "m.pinned, m.archived, k.terms, k.groups"
        )
    )
    join = (
        ""
        if collection == "episodes"
        else "JOIN memories m ON m.source = p.source JOIN marks k ON k.passage = p.id"
    )
    rows = connection.execute(
        "SELECT p.id, p.source, p.key, s.name, coalesce(p.role, ''), coalesce(p.speaker, ''), "
        f"p.at, {more} FROM passages p JOIN sources s ON s.id = p.source {join} "
        f"WHERE p.id IN ({places}) ORDER BY p.id"
    )
    if collection == "episodes":
        return [Candidate(*row[:7]) for row in rows]
    return [
        Candidate(*row[:7], Priors(*row[7:-2]), Marks(*row[-2:]))  # type: ignore[call-arg]
        for row in rows
    ]
