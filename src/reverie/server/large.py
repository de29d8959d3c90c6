"""Projects of more than 50,000 passages: neighbours from an HNSW index, words from an inverted one.

The vector index holds the rows of all large projects. An ordinary search in it stops after some
neighbours and filters them afterwards, which leaves two of ten; the iterative scan continues until
enough of this project's rows are found. The frequency of words and the usual similarity are
estimated from a sample, not counted as for files.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

from psycopg.types.json import Jsonb

from reverie.memory.format.manifest import rarity
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.rows import ProjectRow

INDEX = "index"
# Up to this size a project is scanned, which misses nothing.
MOST_SCANNED = 50_000
# The size of the vectors in the index; others are compared exactly, whatever the number of rows.
DIMENSIONS = 256
_SAMPLE = 500
# A word in more memories than this finds no candidates; it still counts for those found otherwise.
_COMMON = 0.05
_PORTION = 1_000


class Job(Protocol):
    """A job of a worker."""

    @property
    def project(self) -> ProjectRow: ...

    def entered(self) -> AbstractContextManager[Connection]: ...

    def note(self, connection: Connection) -> bool: ...


def ask_if_large(
    connection: Connection, detail: Mapping[str, Any], most: int = MOST_SCANNED
) -> None:
    """Have a worker index a project that has outgrown scanning."""
    found = connection.execute(
        "SELECT p.space FROM reverie.projects p WHERE p.project = %s AND NOT p.large AND (SELECT "
        "count(*) FROM (SELECT 1 FROM reverie.passages WHERE project = %s LIMIT %s) s) > %s",
        (detail["project"], detail["project"], most + 1, most),
    ).fetchone()
    if found is not None:
        connection.execute(
            "SELECT reverie.enqueue_once(%s, %s, %s, '', now())",
            (INDEX, detail["project"], Jsonb({"space": str(found["space"])})),
        )


def index_project(job: Job) -> None:
    """Add a project's rows to the indexes, a portion at a time, and then use the indexes."""
    project = job.project.project
    rows = _PORTION
    while rows == _PORTION:
        with job.entered() as connection:
            rows = _indexed(connection, project)
    with job.entered() as connection:
        # Writers wait for this; whatever they add afterwards is indexed at once.
        connection.execute(
            "UPDATE reverie.projects SET large = true WHERE project = %s", (project,)
        )
        while _indexed(connection, project):
            continue
        # Later rows are not counted: only the relative frequency of words matters.
        connection.execute(
            "UPDATE reverie.projects SET passages = (SELECT count(*) FROM reverie.passages "
            "WHERE project = %s) WHERE project = %s",
            (project, project),
        )
        job.note(connection)


def _indexed(connection: Connection, project: str) -> int:
    return connection.execute(
        "UPDATE reverie.passages SET large = true WHERE project = %s AND id IN (SELECT id FROM "
        "reverie.passages WHERE project = %s AND NOT large ORDER BY id LIMIT %s)",
        (project, project, _PORTION),
    ).rowcount


def large_candidates(
    connection: Connection, asked: Mapping[str, Any], count: int
) -> list[dict[str, Any]]:
    """The best by words and the best by meaning, like the scan of a small project."""
    connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    connection.execute("SET LOCAL hnsw.ef_search = 120")
    # Whether an index pays depends on the number of rows wanted and on the words, so plan each
    # query.
    connection.execute("SET LOCAL plan_cache_mode = auto")
    sample = connection.execute(_sample_query(count).encode(), {**asked, "sample": _SAMPLE})
    seen = sample.fetchone()
    if seen is None or not seen["total"]:
        return []
    counts = [seen[f"c{n}"] for n in range(count)]
    terms = [asked[f"t{n}"] for n in range(count)]
    rare = [n for n, rows in enumerate(counts) if rows <= max(1.0, _COMMON * seen["total"])]
    figures = {
        "any_of": " | ".join(terms[n] for n in rare),
        "terms": terms,
        "weights": [rarity(max(1.0, rows), seen["total"]) for rows in counts],
        "counts": [round(rows) for rows in counts],
        **{name: seen[name] for name in ("total", "usual", "spread")},
    }
    return connection.execute(_LARGE.encode(), {**asked, **figures}).fetchall()


_FILTERS = """p.project = %(project)s AND p.large
        AND (%(archived)s OR NOT (p.standing ->> 'archived')::boolean)
        AND (%(types)s::text[] IS NULL OR p.standing ->> 'type' = ANY (%(types)s::text[]))
        AND (%(after)s::float IS NULL OR p.at >= %(after)s)
        AND (%(before)s::float IS NULL OR p.at < %(before)s)"""
_NEAR = f"(p.embedding::halfvec({DIMENSIONS}) <=> %(vector)s::halfvec({DIMENSIONS}))"


@cache
def _sample_query(count: int) -> str:
    """The number of rows, how many have each word, and their similarity, estimated from a sample."""
    counts = "".join(
        f", count(*) FILTER (WHERE words @@ %(t{n})s::tsquery) * a.step::float AS c{n}"
        for n in range(count)
    )
    return f"""
WITH ends AS MATERIALIZED (
    SELECT min(id) AS first, max(id) AS last FROM reverie.passages WHERE project = %(project)s
), a AS MATERIALIZED (
    SELECT passages AS total, greatest(1.0, passages::float / %(sample)s) AS step
    FROM reverie.projects WHERE project = %(project)s
)
SELECT a.total, coalesce(avg(alike), 0) AS usual, coalesce(stddev_pop(alike), 0) AS spread{counts}
FROM a, ends LEFT JOIN LATERAL (
    SELECT p.words, CASE WHEN p.model = %(model)s THEN 1 - {_NEAR} END AS alike
    FROM generate_series(ends.first, ends.last, greatest(1, (ends.last - ends.first) / %(sample)s)) g
    CROSS JOIN LATERAL (SELECT * FROM reverie.passages o WHERE o.project = %(project)s
        AND o.id >= g ORDER BY o.id LIMIT 1) p
) s ON true GROUP BY a.total, a.step
"""


_LARGE = f"""
WITH near AS MATERIALIZED (
    SELECT p.id FROM reverie.passages p
    WHERE {_FILTERS} AND vector_dims(p.embedding) = {DIMENSIONS} AND p.model = %(model)s
    ORDER BY {_NEAR} LIMIT %(pool)s
), chosen AS (
    SELECT w.id FROM reverie.worded(%(space)s, %(project)s, %(any_of)s::tsquery, %(terms)s::tsquery[],
        %(weights)s::float[], %(archived)s, %(types)s::text[], %(after)s, %(before)s, %(pool)s) w
    UNION SELECT id FROM near
)
SELECT p.id, p.file, p.body, p.terms, p.groups, p.at, p.standing,
    CASE WHEN p.model = %(model)s THEN 1 - {_NEAR} END AS alike, %(total)s::bigint AS total,
    %(usual)s::float AS usual, %(spread)s::float AS spread, %(counts)s::integer[] AS counts
FROM chosen c JOIN reverie.passages p ON p.project = %(project)s AND p.id = c.id ORDER BY p.id
"""
