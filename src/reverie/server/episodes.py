"""Past conversations in PostgreSQL: each message with its neighbours' words, and their search.

Signals and weights are the same as for files; there is no reranking word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from reverie.core.messages import Message
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.rows import ProjectRow, plain
from reverie.memory.postgres.store import lexeme
from reverie.recall import fuse, queries
from reverie.recall.candidates import Candidate
from reverie.recall.documents import snippet, split
from reverie.recall.episodes import REACH
from reverie.recall.search import names_speaker
from reverie.server.search import EMBED, question_vector, unfit, vector_text
from reverie.text import timewords, words
from reverie.text.words import plain_words

if TYPE_CHECKING:
    from reverie.ports import Clock, Embedder

POOL = 150
_SPOKEN = ("user", "assistant")
_MOST_TERMS = 64
# The weight of a neighbour's word, compared with one of the message itself.
_LENT = 0.3
_LENT_TERMS = 200


def index_messages(
    connection: Connection, project: ProjectRow, session: str, messages: Sequence[Message]
) -> None:
    """Index new messages for search, and have a worker compute their vectors."""
    spoken = [one for one in messages if one.origin in _SPOKEN and one.text.strip()]
    if not spoken:
        return
    before = connection.execute(
        "SELECT body FROM reverie.episodes WHERE project = %s AND session = %s "
        "ORDER BY id DESC LIMIT %s",
        (project.project, session, REACH),
    ).fetchall()
    pieces: list[tuple[Message | None, str]] = [(None, row["body"]) for row in reversed(before)]
    pieces += [(one, piece) for one in spoken for piece in split(plain(one.text))]
    terms = [_lexemes(text) for _, text in pieces]
    place = (project.org, project.space, project.project)
    rows = []
    for n, (message, text) in enumerate(pieces):
        if message is not None:
            near = [*terms[max(0, n - REACH) : n], *terms[n + 1 : n + 1 + REACH]]
            lent = sorted({term for own in near for term in own[:_LENT_TERMS]})
            told = (message.id, message.role, message.at, text, terms[n], lent)
            rows.append((*place, session, *told))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.episodes (org, space, project, session, message, role, at, body, "
            "words, around) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s), "
            "array_to_tsvector(%s))",
            rows,
        )
    connection.execute(
        "SELECT reverie.enqueue(%s, %s, %s)", (EMBED, place[2], Jsonb({"space": place[1]}))
    )


def _lexemes(text: str) -> list[str]:
    return list(dict.fromkeys(t for t in words.terms(text) if 0 < len(t.encode()) < 2_000))


@dataclass(frozen=True, slots=True)
class EpisodeSearch:
    """Searches one project's conversations."""

    clock: Clock
    embedder: Embedder | None

    def __call__(
        self, connection: Connection, project: ProjectRow, question: str, limit: int
    ) -> list[dict[str, Any]]:
        query = queries.read(question)
        terms = _lexemes(query.text)[:_MOST_TERMS]
        vector = question_vector(self.embedder, query.text, "question to messages")
        rows = connection.execute(
            _candidates_query(len(terms)).encode(),
            {
                "project": project.project,
                "vector": None if vector is None else vector_text(vector),
                "model": self.embedder.name if self.embedder else "",
                "pool": POOL,
                "role": query.role,
                "session": query.session,
                "after": query.after,
                "before": query.before,
                **{f"t{n}": lexeme(term) for n, term in enumerate(terms)},
            },
        ).fetchall()
        found = [row for row in rows if not unfit(query, row["body"])]
        return self._ordered(query, found)[:limit]

    def _ordered(
        self, query: queries.Query, rows: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        if not rows:
            return []
        sessions = {name: n for n, name in enumerate({row["session"] for row in rows})}
        said = set(plain_words(query.text))
        candidates = [
            Candidate(
                row["id"], sessions[row["session"]], row["message"], "", row["role"], "", row["at"]
            )
            for row in rows
        ]
        signals = _signals(candidates, rows, said)
        if spans := timewords.spans(query.text, self.clock.now()):
            signals["time"] = [timewords.nearness(spans, row["at"]) for row in rows]
        scores = fuse.fused(signals, fuse.WEIGHTS["episodes"], len(rows))
        hits: dict[str, dict[str, Any]] = {}
        for i in sorted(range(len(rows)), key=lambda i: (-scores[i], rows[i]["id"])):
            row = rows[i]
            told = {name: row[name] for name in ("session", "message", "role", "at")}
            told |= {"text": snippet(row["body"], said), "score": round(scores[i], 4)}
            hits.setdefault(f"{row['session']}#{row['message']}", told)
        return list(hits.values())


def _signals(
    candidates: Sequence[Candidate], rows: Sequence[dict[str, Any]], said: set[str]
) -> fuse.Signals:
    raw = {"lexical": [float(row["score"]) for row in rows]}
    known = [row["alike"] for row in rows if row["alike"] is not None]
    if known:
        floor = min(known)
        raw["semantic"] = [floor if row["alike"] is None else row["alike"] for row in rows]
    sessions = [candidate.source for candidate in candidates]
    signals: fuse.Signals = {}
    for name, values in raw.items():
        signals[name] = fuse.z_scores(values)
        signals[f"session_{name}"] = fuse.session_scores(sessions, signals[name])
    signals["speaker"] = [names_speaker(("", candidate.role), said) for candidate in candidates]
    return signals


@cache
def _candidates_query(count: int) -> str:
    """One scan of the project's messages by words (rare ones count more) and by meaning."""
    numbers = range(count)
    found = "".join(
        f", CASE WHEN e.words @@ %(t{n})s::tsquery THEN 1.0 "
        f"WHEN e.around @@ %(t{n})s::tsquery THEN {_LENT} ELSE 0.0 END AS b{n}"
        for n in numbers
    )
    sums = "".join(f", count(*) FILTER (WHERE b{n} = 1.0) AS c{n}" for n in numbers)
    score = " + ".join(
        ["0.0", *(f"s.b{n} * ln(1 + u.total / greatest(u.c{n}, 1)::float)" for n in numbers)]
    )
    return f"""
WITH seen AS MATERIALIZED (
    SELECT e.id{found},
        CASE WHEN e.model = %(model)s THEN 1 - (e.embedding <=> %(vector)s::halfvec) END AS alike
    FROM reverie.episodes e WHERE e.project = %(project)s
        AND (%(role)s::text IS NULL OR e.role = %(role)s)
        AND (%(session)s::text IS NULL OR starts_with(e.session, %(session)s))
        AND (%(after)s::float IS NULL OR e.at >= %(after)s)
        AND (%(before)s::float IS NULL OR e.at < %(before)s)
), usual AS MATERIALIZED (SELECT count(*) AS total{sums} FROM seen
), scored AS MATERIALIZED (SELECT s.id, s.alike, {score} AS score FROM seen s, usual u
), chosen AS (
    (SELECT id, alike, score FROM scored WHERE score > 0 ORDER BY score DESC, id LIMIT %(pool)s)
    UNION
    (SELECT id, alike, score FROM scored WHERE alike IS NOT NULL ORDER BY alike DESC, id LIMIT %(pool)s)
)
SELECT e.id, e.session, e.message, e.role, e.at, e.body, c.alike, c.score
FROM chosen c JOIN reverie.episodes e ON e.project = %(project)s AND e.id = c.id ORDER BY e.id
"""
