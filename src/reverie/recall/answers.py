"""From ranked candidates to what is shown: one hit for each memory or message, with its reasons."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reverie.recall import documents as passages
from reverie.recall import relevance
from reverie.recall.candidates import Candidate, Question
from reverie.recall.documents import Hit, LeftOut, Results, SessionHit
from reverie.recall.fuse import (
    ANY_MODEL,
    CALIBRATIONS,
    SECOND_LOOK,
    SESSION_WEIGHTS,
    SESSION_WEIGHTS_OF_WORDS,
    WEIGHTS,
    Signals,
    fused,
    limited,
    rivals,
    z_scores,
)
from reverie.recall.queries import Query
from reverie.recall.search import Ranked
from reverie.text.words import fold, plain_words, said_once

# How many of the omitted candidates are reported with a reason.
_REPORTED = 20


def answer(
    connection: sqlite3.Connection, found: Sequence[Ranked], asked: Question, limit: int
) -> Results:
    """The best of one collection in its own order; the best of several by their chance of being a good match."""
    hits: list[Hit] = []
    left_out: list[LeftOut] = []
    for ranked in found:
        chosen, rest = _hits(connection, ranked, asked, limit)
        hits += chosen
        left_out += rest
    if len(found) > 1:
        hits.sort(key=lambda hit: -hit.score)
    left_out += [LeftOut(hit.key, hit.score, f"not among the best {limit}") for hit in hits[limit:]]
    return Results(
        hits=tuple(hits[:limit]),
        left_out=tuple(sorted(left_out, key=lambda item: -item.score)[:_REPORTED]),
        sessions=tuple(s for ranked in found for s in _sessions(ranked)),
        approximate=any(ranked.approximate for ranked in found),
        used_semantic=any("semantic" in ranked.signals for ranked in found),
    )


def _hits(
    connection: sqlite3.Connection, ranked: Ranked, asked: Question, limit: int
) -> tuple[list[Hit], list[LeftOut]]:
    hits: list[Hit] = []
    left_out: list[LeftOut] = []
    seen: set[tuple[str, str]] = set()
    wanted = set(plain_words(asked.query.text))
    model = asked.model if "semantic" in ranked.signals else ""
    calibration = CALIBRATIONS.get(model, ANY_MODEL)
    others = rivals(len(ranked.candidates), ranked.size)
    best = ranked.best_of_parts() if ranked.collection == "memories" else []
    for i, candidate in enumerate(ranked.candidates):
        if (candidate.source_name, candidate.key) in seen:
            continue
        score = (
            relevance.chance_beside(ranked.scores[i], best[i])
            if ranked.collection == "memories"
            else calibration.chance(ranked.fused[i], others, ranked.coverage[i], ranked.likeness[i])
        )
        if len(hits) >= limit:
            if len(left_out) >= _REPORTED:
                break
            left_out.append(LeftOut(candidate.key, score, f"not among the best {limit}"))
            continue
        texts = _texts(connection, candidate)
        unfit = _unfit("\n".join(texts), asked.query)
        if unfit:
            left_out.append(LeftOut(candidate.key, score, unfit))
            continue
        seen.add((candidate.source_name, candidate.key))
        hits.append(
            _hit(ranked, i, score, passages.snippet(said_once(texts, " · "), wanted), asked)
        )
    return hits, left_out


def _texts(connection: sqlite3.Connection, candidate: Candidate) -> tuple[str, ...]:
    """A memory's title, description and passage, which often say the same; a message's text."""
    row = connection.execute(
        "SELECT coalesce(m.name, ''), coalesce(m.description, ''), p.text "
        "FROM passages p LEFT JOIN memories m ON m.source = p.source WHERE p.id = ?",
        (candidate.id,),
    ).fetchone()
    return tuple(map(str, row or ()))


def _unfit(text: str, query: Query) -> str:
    """Why a text does not fit the phrases and exclusions of a query; empty when it does."""
    folded = " ".join(fold(text).split())
    for phrase in query.phrases:
        if " ".join(fold(phrase).split()) not in folded:
            return f"does not contain “{phrase}”"
    said = set(plain_words(text)) if query.excluded else set()
    for word in query.excluded:
        unwanted = plain_words(word)
        if unwanted and said.issuperset(unwanted):
            return f"contains “{word}”"
    return ""


def _hit(ranked: Ranked, i: int, score: float, snippet: str, asked: Question) -> Hit:
    candidate = ranked.candidates[i]
    episode = ranked.collection == "episodes"
    weights = SECOND_LOOK if episode else WEIGHTS[ranked.collection]
    signals = {
        name: round(getattr(weights, name) * column[i], 4)
        for name, column in ranked.signals.items()
        if column[i] and getattr(weights, name)
    }
    return Hit(
        key=candidate.key,
        collection=ranked.collection,
        score=round(score, 4),
        signals=signals,
        snippet=snippet,
        why=_why(signals, ranked.reasons.get(candidate.id, ""), candidate, asked),
        session=candidate.source_name if episode else "",
        role=candidate.role,
        at=candidate.at,
        label=_label(candidate, asked),
    )


_WORDS = {
    "lexical": "shares words",
    "concepts": "is about the same in other words",
    "semantic": "is alike in meaning",
    "interaction": "has words like those of the question",
    "session_lexical": "its session shares words",
    "session_semantic": "its session is alike",
    "speaker": "the question names who said it",
    "time": "from the time asked about",
}


def _why(signals: dict[str, float], tie: str, candidate: Candidate, asked: Question) -> str:
    """The reasons in words, strongest first, then the caveats."""
    strong = sorted((name for name in signals if signals[name] > 0), key=lambda n: -signals[n])
    reasons = [_WORDS[name] for name in strong if name in _WORDS]
    if tie:
        kind, _, name = tie.partition(":")
        reasons.append(f"shares {name}" if kind == "entity" else f"linked through {name}")
    label = _label(candidate, asked)
    return "; ".join([*reasons[:3], *([label] if label else [])]) or "fits the options"


def _label(candidate: Candidate, asked: Question) -> str:
    return candidate.standing.label(asked.as_of or asked.now) if candidate.standing else ""


def _sessions(ranked: Ranked) -> list[SessionHit]:
    """Sessions, best first, by what their user said and by the best message of each signal."""
    if ranked.collection != "episodes":
        return []
    places: dict[str, list[int]] = {}
    for i, candidate in enumerate(ranked.candidates):
        places.setdefault(candidate.source_name, []).append(i)
    weights = SESSION_WEIGHTS if "semantic" in ranked.signals else SESSION_WEIGHTS_OF_WORDS
    best: Signals = {
        name: [max(column[i] for i in group) for group in places.values()]
        for name, column in ranked.signals.items()
        if getattr(weights, name)
    }
    if "lexical" in best:
        best["lexical"] = [limited(value) for value in best["lexical"]]
    if "session_words" in best:
        best["session_words"] = z_scores(best["session_words"])
    totals = fused(best, weights, len(places))
    hits = [
        SessionHit(session, total, ranked.candidates[group[0]].key)
        for (session, group), total in zip(places.items(), totals, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.session))
