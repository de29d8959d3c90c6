"""Reranks messages: the best ones word by word, and sessions by everything the user said in them.

The first pass compares a question with each message as a whole. For the best ones, every word of
the question is compared with every word of the message and of the one before it (late interaction),
and the most similar counts. Messages that only ask, or say next to nothing, rarely answer; those
that reply to a question, and offer the kind of answer asked for (a day, a person), do so more
often.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reverie.recall import answer_kind
from reverie.recall.fuse import Signals, z_scores
from reverie.recall.lexical import ROW_BUDGET, Lookup, Word, within
from reverie.text.words import query_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import WordVectors

# How many of the best are reranked.
TOP = 50
_MOST_WORDS = 24
# How much of a message is compared.
_LONGEST = 400
# A message that states more than this, in characters, gains nothing from it.
_TELLS_ENOUGH = 1_000
_COMPARED = frozenset({"interaction", "second_opinion"})
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
# The weight of a word that a session's user repeated.
_SATURATION = 1.2


def second_look(
    place: Lookup,
    question: str,
    ids: Sequence[int],
    scores: Sequence[float],
    words: WordVectors | None,
    *,
    static: bool,
) -> Signals:
    """More signals for the best messages; all others get the lowest value of each.

    `static`: `words` is the model that found them, so its similarity is known already.
    """
    best = sorted(range(len(ids)), key=lambda i: -scores[i])[:TOP]
    texts = _texts(place, [ids[i] for i in best])
    own = [texts[ids[i]][0] for i in best]
    before = [texts[ids[i]][1] for i in best]
    wanted = answer_kind.wanted(question)
    found = {
        "substance": [_substance(text) for text in own],
        "statement": [float("?" not in text) for text in own],
        "fits": [float(bool(wanted and answer_kind.offers(wanted, text))) for text in own],
        "reply": [float("?" in text) for text in before],
        "told_before": [_substance(text) for text in before],
    }
    if words is not None:
        read = [" ".join(part[:_LONGEST] for part in texts[ids[i]]) for i in best]
        found["interaction"] = interaction(words, _rarities(place, question), read)
        if not static:
            found["second_opinion"] = _likeness(words, question, read)
    # Among few messages, most long ones are about something else.
    many = len(best) / TOP
    return {
        name: _spread(z_scores(values), best, len(ids), 1.0 if name in _COMPARED else many)
        for name, values in found.items()
    }


def _likeness(words: WordVectors, question: str, texts: Sequence[str]) -> list[float]:
    import numpy as np

    rows = words.encode([question, *texts], "question")
    rows /= np.sqrt(np.vecdot(rows, rows))[:, None].clip(1e-9)
    found: list[float] = np.vecdot(rows[1:], rows[0]).tolist()
    return found


def interaction(
    words: WordVectors, weights: Mapping[str, float], texts: Sequence[str]
) -> list[float]:
    """The similarity of each question word to the closest word of each text, weighted by rarity."""
    import numpy as np

    asked, pieces = words.word_vectors(list(weights))
    shares = np.repeat(
        [w / max(n, 1) for w, n in zip(weights.values(), pieces, strict=True)], pieces
    )
    said, counts = words.word_vectors(texts)
    if not len(asked) or not len(said) or not shares.sum():
        return [0.0] * len(texts)
    alike = _products(said, asked)
    filled = [i for i, count in enumerate(counts) if count]
    starts = np.cumsum([0, *(counts[i] for i in filled)])[:-1]
    found = np.zeros(len(texts))
    found[filled] = np.maximum.reduceat(alike, starts, axis=0) @ (shares / shares.sum())
    values: list[float] = found.tolist()
    return values


def _products(said: NDArray[np.float32], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply the rows one question word at a time, so that no BLAS threads wait for each other."""
    import numpy as np

    return np.stack([np.vecdot(said, row) for row in asked], axis=1)


def _rarities(place: Lookup, question: str) -> dict[str, float]:
    """The words of a question, and how rare each is."""
    size = max(place.size, 1)
    return {
        word.word: math.log((size + 1) / (max(map(place.rows, word.terms)) + 0.5))
        for word in query_words(question)[:_MOST_WORDS]
    }


def _texts(place: Lookup, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Messages with their speakers, each with the message before it in its session."""
    rows = place.connection.execute(
        "SELECT p.id, p.speaker, p.text, coalesce(b.speaker, ''), coalesce(b.text, '') "
        "FROM passages p LEFT JOIN passages b ON b.source = p.source AND b.position = p.position - 1 "
        f"WHERE p.id IN ({', '.join(map(str, ids))})"
    )
    return {
        passage: (_spoken(speaker, text), _spoken(former, before))
        for passage, speaker, text, former, before in rows
    }


def _spoken(speaker: str | None, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def _substance(text: str) -> float:
    """How much a message states: the length of its sentences that are not questions, up to a limit."""
    told = sum(len(part.strip()) for part in _SENTENCE.findall(text) if "?" not in part)
    return math.log1p(min(told, _TELLS_ENOUGH))


def _spread(
    values: Sequence[float], places: Sequence[int], count: int, weight: float
) -> list[float]:
    column = [weight * min(values, default=0.0)] * count
    for place, value in zip(places, values, strict=True):
        column[place] = weight * value
    return column


def session_words(place: Lookup, question: str, sessions: set[int]) -> dict[int, float]:
    """BM25 over all that the user said in each session; each message with a word counts once."""
    found = []
    for asked in query_words(question)[:_MOST_WORDS]:
        known = {term: rows for term in asked.terms if (rows := place.rows(term))}
        if known:
            either = " OR ".join(f'text : "{term}"' for term in known)
            found.append(Word(either, sum(known.values())))
    total = place.connection.execute(
        "SELECT count(*) FROM sources WHERE collection = 'episodes'"
    ).fetchone()[0]
    scores = dict.fromkeys(sessions, 0.0)
    for word in within(sorted(found, key=lambda word: word.rows), ROW_BUDGET):
        having = place.connection.execute(
            "SELECT p.source, count(*) FROM episode_words w JOIN passages p ON p.id = w.rowid "
            "WHERE episode_words MATCH ? AND p.role = 'user' GROUP BY p.source",
            (word.expression,),
        ).fetchall()
        rarity = math.log(1 + (total - len(having) + 0.5) / (len(having) + 0.5))
        for source, count in having:
            if source in scores:
                scores[source] += rarity * count * (_SATURATION + 1) / (count + _SATURATION)
    return scores
