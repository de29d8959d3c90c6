"""Recall in PostgreSQL: candidates by words and by meaning, judged and fused as for files.

Words are the stems of our own stemmer in a `tsvector`; vectors are `halfvec`. Both are scanned
exactly inside a project: at thousands of rows that takes milliseconds and misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import is_index
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.store import ProjectRow
from reverie.recall import lexical, relevance
from reverie.recall.documents import MemoryDoc, snippet, split
from reverie.recall.fuse import GOOD_MATCH, WEIGHTS, Priors, fused, prior
from reverie.recall.relevance import Marks, Wanted
from reverie.text import timewords, words
from reverie.text.words import plain_words, said_once

if TYPE_CHECKING:
    from reverie.ports import Clock, Embedder

POOL = 60
EMBED = "embed"
# Vectors of all memories are scanned up to here; see docs/fleet.md for what comes after it.
MOST_SCANNED = 50_000
_LEAST_SPREAD = 0.02


def index_files(
    connection: Connection, project: ProjectRow, files: Mapping[str, bytes | None]
) -> None:
    """Write what recall searches of changed files, and ask a worker for their vectors."""
    place = (project.org, project.space, project.project)
    changed = [name for name in files if not is_index(name)]
    if not changed:
        return
    connection.execute(
        "DELETE FROM reverie.passages WHERE project = %s AND file = ANY (%s)", (place[2], changed)
    )
    rows = [
        (*place, *row)
        for name in changed
        if (data := files[name]) is not None
        for row in _passages(name, data)
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.passages (org, space, project, file, body, words, terms, groups, "
            "at, standing) VALUES (%s, %s, %s, %s, %s, array_to_tsvector(%s), %s, %s, %s, %s)",
            rows,
        )
    connection.execute(
        "SELECT reverie.enqueue(%s, %s, %s)", (EMBED, place[2], Jsonb({"space": place[1]}))
    )


def _passages(file: str, data: bytes) -> Iterable[tuple[Any, ...]]:
    doc = MemoryDoc.of(topics.parse(data, file), (0, len(data), 0))
    name, description = _plain(doc.name), _plain(doc.description)
    cues = _plain("\n".join(doc.cues))
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
    for text in split(_plain(doc.body)):
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


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def embed_pending(connection: Connection, project: str, embedder: Embedder, most: int) -> int:
    """Give passages without a vector theirs; how many got one. Doing it twice changes nothing."""
    rows = connection.execute(
        "SELECT id, body FROM reverie.passages WHERE project = %s AND model IS DISTINCT FROM %s "
        "ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED",
        (project, embedder.name, most),
    ).fetchall()
    if not rows:
        return 0
    vectors = embedder.encode([row["body"] for row in rows], "passage")
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE reverie.passages SET model = %s, embedding = %s::halfvec "
            "WHERE project = %s AND id = %s",
            [
                (embedder.name, vector_text(vector), project, row["id"])
                for row, vector in zip(rows, vectors, strict=True)
            ],
        )
    return len(rows)


def vector_text(vector: Iterable[float]) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in vector) + "]"


class PostgresRecall:
    """Answers questions about one project's memories."""

    def __init__(self, clock: Clock, embedder: Embedder | None) -> None:
        self._clock = clock
        self._embedder = embedder

    def __call__(
        self, connection: Connection, project: ProjectRow, question: str, limit: int
    ) -> dict[str, Any]:
        query = lexical.read(question)
        rows = self._candidates(connection, project.project, query)
        hits = self._judged(query, rows, connection, project.project)
        return {"hits": hits[:limit], "semantic": self._embedder is not None}

    def _candidates(
        self, connection: Connection, project: str, query: lexical.Query
    ) -> list[dict[str, Any]]:
        """The best by words and the best by meaning, with the store's usual likeness."""
        terms = sorted({term for word in words.query_words(query.text)[:64] for term in word.terms})
        groups = [group for group, _ in relevance.asked_groups(query.text, lambda term: 1)]
        tests = [_lexeme(term) for term in (*terms, *groups)]
        vector, model = self._vector(query.text)
        return connection.execute(
            _CANDIDATES,
            {
                "project": project,
                "tests": tests,
                "vector": vector,
                "model": model,
                "pool": POOL,
                "types": list(query.types) or None,
                "after": query.after,
                "before": query.before,
                "archived": query.archived,
            },
        ).fetchall()

    def _vector(self, text: str) -> tuple[str | None, str]:
        if self._embedder is None or not text.strip():
            return None, ""
        made = self._embedder.encode([text], "question")
        return vector_text(made[0]), self._embedder.name

    def _judged(
        self,
        query: lexical.Query,
        rows: Sequence[dict[str, Any]],
        connection: Connection,
        project: str,
    ) -> list[dict[str, Any]]:
        if not rows:
            return []
        semantic = any(row["alike"] is not None for row in rows)
        calibration = relevance.calibration(
            self._embedder.name if semantic and self._embedder else ""
        )
        total = rows[0]["total"]
        wanted = Wanted(
            query.text,
            total,
            _counted(query.text, total, connection, project),
            whole=query.text,
        )
        now = self._clock.now()
        former = timewords.about_former(query.text)
        spans = timewords.spans(query.text, now)
        signals: dict[str, list[float]] = {"prior": [], **({"time": []} if spans else {})}
        base = []
        for row in rows:
            alike = row["alike"] or 0.0
            margin = (alike - row["usual"]) / max(row["spread"], _LEAST_SPREAD) if semantic else 0.0
            figures = wanted.compared(Marks(row["terms"], row["groups"]), alike, margin)
            base.append(calibration.base(figures))
            for name, value in calibration.parts(figures).items():
                if name != "semantic" or semantic:
                    signals.setdefault(name, []).append(value)
            signals["prior"].append(prior(Priors(**row["standing"]), now, 0, former=former))
            if spans:
                signals["time"].append(timewords.nearness(spans, row["at"]))
        scores = fused(signals, WEIGHTS["memories"], len(rows))
        totals = [sum(both) for both in zip(base, scores, strict=True)]
        return _hits(query, rows, totals, now)


def _counted(text: str, total: int, connection: Connection, project: str) -> Callable[[str], int]:
    """How many passages have a term: asked for all terms of a question at once."""
    asked: set[str] = set()

    def collect(term: str) -> int:
        asked.add(term)
        return 0

    Wanted(text, total, collect, whole=text)
    tests = sorted(asked)
    rows = connection.execute(
        "SELECT q.place, count(*) AS rows FROM reverie.passages p, "
        "unnest(%s::tsquery[]) WITH ORDINALITY q(test, place) "
        "WHERE p.project = %s AND p.words @@ q.test GROUP BY q.place",
        ([_lexeme(term) for term in tests], project),
    ).fetchall()
    known = {tests[row["place"] - 1]: int(row["rows"]) for row in rows}
    return lambda term: known.get(term, 0)


def _lexeme(term: str) -> str:
    """One lexeme as a tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _hits(
    query: lexical.Query, rows: Sequence[dict[str, Any]], totals: Sequence[float], now: float
) -> list[dict[str, Any]]:
    order = sorted(range(len(rows)), key=lambda i: (-totals[i], rows[i]["id"]))
    best = totals[order[0]]
    said = set(plain_words(query.text))
    hits: dict[str, dict[str, Any]] = {}
    for i in order:
        row = rows[i]
        if row["file"] in hits or _unfit(query, row["body"]):
            continue
        score = relevance.chance_beside(totals[i], best)
        hits[row["file"]] = {
            "file": row["file"],
            "score": round(score, 4),
            "sure": score >= GOOD_MATCH,
            "text": snippet(row["body"], said),
            "label": Priors(**row["standing"]).label(now),
        }
    return list(hits.values())


def _unfit(query: lexical.Query, text: str) -> bool:
    folded = " ".join(words.fold(text).split())
    if any(" ".join(words.fold(phrase).split()) not in folded for phrase in query.phrases):
        return True
    said = set(plain_words(text)) if query.excluded else set()
    return any((without := plain_words(w)) and said.issuperset(without) for w in query.excluded)


# One scan of the project: words found, rarer ones counting more, and likeness of meaning.
_CANDIDATES = """
WITH seen AS MATERIALIZED (
    SELECT p.id, p.file, p.body, p.terms, p.groups, p.at, p.standing,
        array(SELECT place FROM unnest(%(tests)s::tsquery[]) WITH ORDINALITY q(test, place)
              WHERE p.words @@ q.test) AS found,
        CASE WHEN p.model = %(model)s THEN 1 - (p.embedding <=> %(vector)s::halfvec) END AS alike
    FROM reverie.passages p WHERE p.project = %(project)s
        AND (%(archived)s OR NOT (p.standing ->> 'archived')::boolean)
        AND (%(types)s::text[] IS NULL OR p.standing ->> 'type' = ANY (%(types)s::text[]))
        AND (%(after)s::double precision IS NULL OR p.at >= %(after)s)
        AND (%(before)s::double precision IS NULL OR p.at < %(before)s)
), usual AS (
    SELECT count(*) AS total, coalesce(avg(alike), 0) AS usual, coalesce(stddev_pop(alike), 0) AS spread FROM seen
), rarity AS (
    SELECT place, ln(1 + (SELECT total FROM usual) / count(*)::double precision) AS weight
    FROM seen, unnest(found) place GROUP BY place
), by_words AS (
    SELECT s.id FROM seen s, unnest(s.found) f JOIN rarity r ON r.place = f
    GROUP BY s.id ORDER BY sum(r.weight) DESC, s.id LIMIT %(pool)s
), by_meaning AS (
    SELECT id FROM seen WHERE alike IS NOT NULL ORDER BY alike DESC, id LIMIT %(pool)s
)
SELECT s.id, s.file, s.body, s.terms, s.groups, s.at, s.standing, s.alike, u.total, u.usual, u.spread
FROM seen s, usual u WHERE s.id IN (SELECT id FROM by_words UNION SELECT id FROM by_meaning)
ORDER BY s.id
"""
