"""A question against one collection: candidates from each signal, fused into one order."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reverie.recall import fuse, lexical
from reverie.recall import fuse as graph
from reverie.recall.documents import Collection
from reverie.recall.fuse import WEIGHTS, Priors, Signals, prior
from reverie.recall.lexical import TABLES, Counts, Lookup, Matches, Query
from reverie.text import timewords
from reverie.text.words import plain_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.recall.vectors import Matrix

# How many candidates each signal brings.
POOL = 150
_GRAPH_SEEDS = 5
_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "myself", "we", "our", "us"})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, seen from when, and what is known about use."""

    query: Query
    now: float
    as_of: float | None = None
    vector: NDArray[np.float32] | None = None
    uses: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that some signal brought, and what it stands for."""

    id: int
    source: int
    key: str
    source_name: str
    role: str
    speaker: str
    at: float | None
    standing: Priors | None = None


@dataclass(slots=True)
class Ranked:
    """Candidates with their signals and fused scores, best first; `size` is the whole collection's."""

    collection: Collection
    size: int
    candidates: list[Candidate]
    signals: Signals
    scores: list[float]
    coverage: list[float]
    likeness: list[float]
    reasons: dict[int, str]
    approximate: bool


def ranked(
    connection: sqlite3.Connection, collection: Collection, asked: Question, matrix: Matrix | None
) -> Ranked:
    """Every candidate for a question in one collection, best first."""
    among = _condition(collection, asked)
    hidden = _hidden(connection, collection, asked.query)
    place = Lookup(connection, TABLES[collection], asked.counts)
    found = lexical.search(place, asked.query, POOL + len(hidden), among)
    found = replace(found, scores=_best(found.scores, hidden))
    likeness, overlooked = _semantic(connection, asked, matrix, among, set(found.scores), hidden)
    ids = sorted({*found.scores, *likeness})
    if among is not None and not asked.query.text.strip():
        ids = _newest(connection, among, hidden)
    candidates = _load(connection, collection, ids)
    signals = _signals(candidates, asked, found, likeness)
    result = Ranked(
        collection=collection,
        size=found.total,
        candidates=candidates,
        signals=signals,
        scores=fuse.fused(signals, WEIGHTS[collection], len(candidates)),
        coverage=[found.scores.get(c.id, 0.0) / (found.ideal or 1.0) for c in candidates],
        likeness=[likeness.get(c.id, 0.0) for c in candidates],
        reasons={},
        approximate=found.approximate or overlooked,
    )
    if collection == "memories" and candidates:
        _join(connection, result, hidden, open_to_others=among is None)
    return _sorted(result)


def _hidden(connection: sqlite3.Connection, collection: Collection, query: Query) -> set[int]:
    """Passages of archived memories: only those who ask for them see them."""
    if collection == "episodes" or query.archived:
        return set()
    rows = connection.execute(
        "SELECT p.id FROM memories m JOIN passages p ON p.source = m.source WHERE m.archived"
    )
    return {row[0] for row in rows}


def _best(scores: Mapping[int, float], hidden: set[int]) -> dict[int, float]:
    """So many as a signal may bring; what is hidden was asked for on top, and takes no place."""
    seen = {passage: score for passage, score in scores.items() if passage not in hidden}
    if len(seen) <= POOL:
        return seen
    return dict(heapq.nlargest(POOL, seen.items(), key=lambda item: (item[1], -item[0])))


def _semantic(
    connection: sqlite3.Connection,
    asked: Question,
    matrix: Matrix | None,
    among: tuple[str, Sequence[object]] | None,
    also: set[int],
    hidden: set[int],
) -> tuple[dict[int, float], bool]:
    if matrix is None or asked.vector is None or not len(matrix):
        return {}, False
    allowed = None
    if among is not None:
        rows = connection.execute(f"SELECT p.id FROM passages p {among[0]}", tuple(among[1]))
        allowed = [row[0] for row in rows]
    nearest = matrix.nearest(asked.vector, POOL + len(hidden), allowed)
    alike = _best(nearest.scores, hidden)
    rest = matrix.scores(asked.vector, also - alike.keys())
    return {**alike, **rest}, nearest.approximate


def _condition(collection: Collection, asked: Question) -> tuple[str, Sequence[object]] | None:
    """The question's options as SQL over `passages p`; None when there are none."""
    query = asked.query
    # A memory may hold from a later day than it was written: what was known is what was written.
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


def _newest(
    connection: sqlite3.Connection, among: tuple[str, Sequence[object]], hidden: set[int]
) -> list[int]:
    """Options without words list what fits them, newest first."""
    rows = connection.execute(
        f"SELECT p.id FROM passages p {among[0]} ORDER BY p.at DESC, p.id LIMIT ?",
        (*among[1], POOL + len(hidden)),
    )
    return [row[0] for row in rows if row[0] not in hidden][:POOL]


def _load(
    connection: sqlite3.Connection, collection: Collection, ids: Sequence[int]
) -> list[Candidate]:
    places = ", ".join(map(str, ids))
    more = (
        "NULL"
        if collection == "episodes"
        else (
            "m.type, m.created, m.valid_from, m.valid_until, m.confidence, m.superseded, "
            "m.pinned, m.archived"
        )
    )
    join = "" if collection == "episodes" else "JOIN memories m ON m.source = p.source"
    rows = connection.execute(
        "SELECT p.id, p.source, p.key, s.name, coalesce(p.role, ''), coalesce(p.speaker, ''), "
        f"p.at, {more} FROM passages p JOIN sources s ON s.id = p.source {join} "
        f"WHERE p.id IN ({places}) ORDER BY p.id"
    )
    judged = collection == "memories"
    return [Candidate(*row[:7], *((Priors(*row[7:]),) if judged else ())) for row in rows]


def _signals(
    candidates: Sequence[Candidate], asked: Question, found: Matches, likeness: Mapping[int, float]
) -> Signals:
    raw = {"lexical": [found.scores.get(c.id, 0.0) for c in candidates]}
    if likeness:
        floor = min(likeness.values())
        raw["semantic"] = [likeness.get(c.id, floor) for c in candidates]
    sessions = [candidate.source for candidate in candidates]
    signals: Signals = {}
    for name, values in raw.items():
        signals[name] = fuse.z_scores(values)
        signals[f"session_{name}"] = fuse.session_scores(sessions, signals[name])
    said = set(plain_words(asked.query.text))
    named = {who: _speaks(who, said) for who in {(c.speaker, c.role) for c in candidates}}
    signals["speaker"] = [named[c.speaker, c.role] for c in candidates]
    spans = timewords.spans(asked.query.text, asked.now)
    if spans:
        signals["time"] = [timewords.nearness(spans, c.at) for c in candidates]
    moment = asked.now if asked.as_of is None else asked.as_of
    former = timewords.about_former(asked.query.text)
    signals["prior"] = [
        prior(c.standing, moment, asked.uses.get(c.key, 0), former=former) if c.standing else 0.0
        for c in candidates
    ]
    return signals


def _speaks(who: tuple[str, str], said: set[str]) -> float:
    """1 when the question names the speaker; a question in the first person names the user."""
    speaker, role = who
    if speaker:
        return float(any(name in said for name in plain_words(speaker)))
    return float(role == "user" and bool(said & _FIRST_PERSON))


def _join(
    connection: sqlite3.Connection, found: Ranked, hidden: set[int], *, open_to_others: bool
) -> None:
    """Memories joined with the best ones by an entity or a link rise; absent ones come in."""
    order = sorted(range(len(found.scores)), key=lambda i: -found.scores[i])[:_GRAPH_SEEDS]
    strengths = {found.candidates[i].source: 1.0 / (rank + 1) for rank, i in enumerate(order)}
    joined = graph.neighbours(connection, strengths)
    if not joined:
        return
    present = {candidate.source for candidate in found.candidates}
    # Only a tie speaks for what comes in: it starts below everything that was found.
    floor = min(found.scores) - 1.0
    for source in sorted(joined.keys() - present) if open_to_others else ():
        _bring_in(connection, found, source, hidden, floor)
    weight = WEIGHTS[found.collection].graph
    found.signals["graph"] = [joined.get(c.source, _APART)[0] for c in found.candidates]
    for i, candidate in enumerate(found.candidates):
        strength, tie = joined.get(candidate.source, _APART)
        found.scores[i] += weight * strength
        if tie:
            found.reasons[candidate.id] = tie


_APART = (0.0, "")


def _bring_in(
    connection: sqlite3.Connection, found: Ranked, source: int, hidden: set[int], floor: float
) -> None:
    row = connection.execute("SELECT min(id) FROM passages WHERE source = ?", (source,)).fetchone()
    shown = row[0] is not None and row[0] not in hidden
    for candidate in _load(connection, found.collection, [row[0]]) if shown else []:
        found.candidates.append(candidate)
        found.scores.append(floor)
        for column in (*found.signals.values(), found.coverage, found.likeness):
            column.append(0.0)


def _sorted(found: Ranked) -> Ranked:
    order = sorted(
        range(len(found.scores)), key=lambda i: (-found.scores[i], found.candidates[i].id)
    )
    return Ranked(
        found.collection,
        found.size,
        [found.candidates[i] for i in order],
        {name: [column[i] for i in order] for name, column in found.signals.items()},
        [found.scores[i] for i in order],
        [found.coverage[i] for i in order],
        [found.likeness[i] for i in order],
        found.reasons,
        found.approximate,
    )
