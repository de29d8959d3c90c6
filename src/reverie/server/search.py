"""Recall in PostgreSQL: candidates by words and by meaning, judged and fused like those of files.

Words are the stems of our own stemmer in a `tsvector`; vectors are `halfvec`. Both are scanned
exactly inside a project: at thousands of rows that takes milliseconds and misses nothing. Projects
beyond that have indexes (`large.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import is_index
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.rows import ProjectRow, plain
from reverie.memory.postgres.store import Meaning, lexeme
from reverie.recall import queries, relevance
from reverie.recall.documents import MemoryDoc, snippet, split
from reverie.recall.fuse import GOOD_MATCH, WEIGHTS, Priors, fused, prior
from reverie.recall.question_map import aimed
from reverie.recall.relevance import Figures, Marks, Wanted
from reverie.server.large import DIMENSIONS, large_candidates
from reverie.text import timewords, words
from reverie.text.words import plain_words, said_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import Clock, Embedder, TextKind

POOL = 60
EMBED = "embed"
_MOST_WORDS = 64
_MOST_TERMS = 200


def index_files(
    connection: Connection,
    project: ProjectRow,
    files: Mapping[str, bytes | None],
    known: Collection[str],
) -> None:
    """Index changed files for recall, and have a worker compute their vectors."""
    changed = [name for name in files if not is_index(name)]
    if old := [name for name in changed if name in known]:
        connection.execute(
            "DELETE FROM reverie.passages WHERE project = %s AND file = ANY (%s)",
            (project.project, old),
        )
    rows = [
        (*project.place, *row, project.project)
        for name in changed
        if (data := files[name]) is not None
        for row in _passages(name, data)
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.passages (org, space, project, file, body, words, terms, groups, "
            "at, standing, large) VALUES (%s, %s, %s, %s, %s, array_to_tsvector(%s), %s, %s, %s, %s, "
            "(SELECT large FROM reverie.projects WHERE project = %s))",
            rows,
        )
    connection.execute(
        "SELECT reverie.enqueue(%s, %s, %s)",
        (EMBED, project.project, Jsonb({"space": project.space})),
    )


def meaning_by(embedder: Embedder | None) -> Meaning:
    """A function that gives a text's vector in the column's form, to find similar memories."""

    def meaning(text: str) -> tuple[str, str] | None:
        if embedder is None or not text.strip():
            return None
        return embedder.name, vector_text(embedder.encode([plain(text)], "passage")[0])

    return meaning


def _passages(file: str, data: bytes) -> Iterable[tuple[Any, ...]]:
    doc = MemoryDoc.of(topics.parse(data, file), (0, len(data), 0))
    name, description = plain(doc.name), plain(doc.description)
    cues = plain("\n".join(doc.cues))
    standing = asdict(
        Priors(
            doc.type,
            doc.created,
            doc.valid_from,
            doc.valid_until,
            doc.confidence,
            doc.superseded,
            doc.pinned,
            doc.archived,
        )
    )
    for text in split(plain(doc.body)):
        kept = relevance.marks(name, description, text, cues=cues)
        told = " ".join((*words.fields(name, description, text), kept.groups)).split()
        # The longest lexeme PostgreSQL holds is 2 KB.
        lexemes = sorted({word for word in told if len(word.encode()) < 2_000})
        yield (
            file,
            said_once((name, description, text)),
            lexemes,
            kept.terms,
            kept.groups,
            doc.valid_from or doc.created,
            Jsonb(standing),
        )


def embed_pending(
    connection: Connection, project: str, embedder: Embedder, most: int, table: str = "passages"
) -> int:
    """Compute missing vectors of passages, and return how many; repeating it changes nothing."""
    rows = connection.execute(
        f"SELECT id, body FROM reverie.{table} WHERE project = %s AND model IS DISTINCT FROM %s "
        "ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED".encode(),
        (project, embedder.name, most),
    ).fetchall()
    if not rows:
        return 0
    kind: TextKind = "passage" if table == "passages" else "message"
    vectors = embedder.encode([row["body"] for row in rows], kind)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE reverie.{table} SET model = %s, embedding = %s::halfvec "
            "WHERE project = %s AND id = %s".encode(),
            [
                (embedder.name, vector_text(vector), project, row["id"])
                for row, vector in zip(rows, vectors, strict=True)
            ],
        )
    return len(rows)


def vector_text(vector: Iterable[float]) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in vector) + "]"


class PostgresRecall:
    """Searches one project's memories."""

    def __init__(self, clock: Clock, embedder: Embedder | None) -> None:
        self._clock = clock
        self._embedder = embedder
        self._model = embedder.name if embedder is not None else ""

    def __call__(
        self, connection: Connection, project: ProjectRow, question: str, limit: int
    ) -> dict[str, Any]:
        query = queries.read(question)
        terms = _terms(query.text)
        vector = question_vector(self._embedder, query.text)
        aim = aimed(self._model, vector)
        rows = self._candidates(connection, project, query, terms, aim.vector)
        for row in rows:
            row["usual"] -= aim.common
            row["alike"] = None if row["alike"] is None else row["alike"] - aim.common
        hits = self._judged(query, rows, terms, vector, limit)
        return {"hits": hits, "semantic": self._embedder is not None}

    def _candidates(
        self,
        connection: Connection,
        project: ProjectRow,
        query: queries.Query,
        terms: Sequence[str],
        vector: NDArray[np.float32] | None,
    ) -> list[dict[str, Any]]:
        """The best by words and the best by meaning, with the store's usual similarity."""
        asked = {
            "space": project.space,
            "project": project.project,
            "vector": None if vector is None else vector_text(vector),
            "model": self._model,
            "pool": POOL,
            "types": list(query.types) or None,
            "after": query.after,
            "before": query.before,
            "archived": query.archived,
            **{f"t{n}": lexeme(term) for n, term in enumerate(terms)},
        }
        if project.large and vector is not None and len(vector) == DIMENSIONS:
            return large_candidates(connection, asked, len(terms))
        return connection.execute(_candidates_query(len(terms)).encode(), asked).fetchall()

    def _judged(
        self,
        query: queries.Query,
        rows: Sequence[dict[str, Any]],
        terms: Sequence[str],
        vector: NDArray[np.float32] | None,
        limit: int,
    ) -> list[dict[str, Any]]:
        if not rows:
            return []
        semantic = any(row["alike"] is not None for row in rows)
        calibration = relevance.calibration(self._model if semantic else "")
        counts = dict(zip(terms, rows[0]["counts"], strict=True))
        topic = calibration.topic_of(vector)
        wanted = Wanted(query.text, rows[0]["total"], lambda term: counts.get(term, 0), topic=topic)
        now = self._clock.now()
        former = timewords.about_former(query.text)
        spans = timewords.spans(query.text, now)
        signals: dict[str, list[float]] = {"prior": [], **({"time": []} if spans else {})}
        base = []
        best: tuple[float, Figures] | None = None
        standing = [Priors(**row["standing"]) for row in rows]
        for row, place in zip(rows, standing, strict=True):
            alike = row["alike"] or 0.0
            margin = relevance.margin(alike, row["usual"], row["spread"]) if semantic else 0.0
            figures = wanted.compared(Marks(row["terms"], row["groups"]), alike, margin)
            parts = calibration.parts(figures)
            base.append(calibration.base(figures))
            own = base[-1] + sum(parts.values())
            best = (own, figures) if best is None or own > best[0] else best
            for name, value in parts.items():
                if name != "semantic" or semantic:
                    signals.setdefault(name, []).append(value)
            signals["prior"].append(prior(place, now, 0, former=former))
            if spans:
                signals["time"].append(timewords.nearness(spans, row["at"]))
        scores = fused(signals, WEIGHTS["memories"], len(rows))
        move = calibration.log_odds(best[1]) - best[0] if best else 0.0
        totals = [sum(both) + move for both in zip(base, scores, strict=True)]
        return _hits(query, rows, standing, totals, now, limit)


def question_vector(
    embedder: Embedder | None, text: str, kind: TextKind = "question"
) -> NDArray[np.float32] | None:
    """A question's vector, if there is a model and something to read."""
    if embedder is None or not text.strip():
        return None
    from reverie.recall.vectors import encoded

    made: NDArray[np.float32] = encoded(embedder, [text], kind)[0]
    return made


def _terms(text: str) -> list[str]:
    """Every term that a question is compared by: its words, and the groups they belong to."""
    asked = {term for word in words.query_words(text)[:_MOST_WORDS] for term in word.terms}

    def collect(term: str) -> int:
        asked.add(term)
        return 0

    Wanted(text, 1, collect)
    relevance.asked_groups(text, collect)
    return sorted(asked)[:_MOST_TERMS]


def _hits(
    query: queries.Query,
    rows: Sequence[dict[str, Any]],
    standing: Sequence[Priors],
    totals: Sequence[float],
    now: float,
    limit: int,
) -> list[dict[str, Any]]:
    order = sorted(range(len(rows)), key=lambda i: (-totals[i], rows[i]["id"]))
    best = totals[order[0]]
    said = set(plain_words(query.text))
    hits: dict[str, dict[str, Any]] = {}
    for i in order:
        row = rows[i]
        if len(hits) == limit:
            break
        if row["file"] in hits or unfit(query, row["body"]):
            continue
        score = relevance.chance_beside(totals[i], best)
        hits[row["file"]] = {
            "file": row["file"],
            "score": round(score, 4),
            "sure": score >= GOOD_MATCH,
            "text": snippet(row["body"], said),
            "label": standing[i].label(now),
        }
    return list(hits.values())


def unfit(query: queries.Query, text: str) -> bool:
    """Whether a text lacks a required phrase, or has an excluded word."""
    if not query.phrases and not query.excluded:
        return False
    folded = " ".join(words.fold(text).split())
    if any(" ".join(words.fold(phrase).split()) not in folded for phrase in query.phrases):
        return True
    said = set(plain_words(text)) if query.excluded else set()
    return any((without := plain_words(w)) and said.issuperset(without) for w in query.excluded)


@cache
def _candidates_query(count: int) -> str:
    """One scan of the project by terms (rare ones count more) and by similarity of meaning."""
    numbers = range(count)
    found = "".join(f", (p.words @@ %(t{n})s::tsquery)::integer AS b{n}" for n in numbers)
    sums = "".join(f", sum(b{n}) AS c{n}" for n in numbers)
    weights = "".join(f", ln(1 + total / greatest(c{n}, 1)::float) AS w{n}" for n in numbers)
    score = " + ".join(["0", *(f"b{n} * w{n}" for n in numbers)])
    counts = ", ".join(f"coalesce(u.c{n}, 0)::integer" for n in numbers)
    return f"""
WITH seen AS MATERIALIZED (
    SELECT p.id{found},
        CASE WHEN p.model = %(model)s THEN 1 - (p.embedding <=> %(vector)s::halfvec) END AS alike
    FROM reverie.passages p WHERE p.project = %(project)s
        AND (%(archived)s OR NOT (p.standing ->> 'archived')::boolean)
        AND (%(types)s::text[] IS NULL OR p.standing ->> 'type' = ANY (%(types)s::text[]))
        AND (%(after)s::float IS NULL OR p.at >= %(after)s)
        AND (%(before)s::float IS NULL OR p.at < %(before)s)
), usual AS MATERIALIZED (
    SELECT count(*) AS total, coalesce(avg(alike), 0) AS usual,
        coalesce(stddev_pop(alike), 0) AS spread{sums} FROM seen
), weights AS MATERIALIZED (SELECT total{weights} FROM usual
), scored AS MATERIALIZED (SELECT s.id, s.alike, {score} AS score FROM seen s, weights
), chosen AS (
    (SELECT id, alike FROM scored WHERE score > 0 ORDER BY score DESC, id LIMIT %(pool)s)
    UNION
    (SELECT id, alike FROM scored WHERE alike IS NOT NULL ORDER BY alike DESC, id LIMIT %(pool)s)
)
SELECT p.id, p.file, p.body, p.terms, p.groups, p.at, p.standing, c.alike, u.total, u.usual,
    u.spread, ARRAY[{counts}]::integer[] AS counts
FROM chosen c JOIN reverie.passages p ON p.project = %(project)s AND p.id = c.id, usual u
ORDER BY p.id
"""
