"""Searches one collection: candidates from each signal, fused into one order."""

from __future__ import annotations

import heapq
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from reverie.recall import fuse, lexical, relevance, rerank
from reverie.recall import fuse as graph
from reverie.recall.candidates import Candidate, Part, Question, archived, condition, load, newest
from reverie.recall.documents import Collection
from reverie.recall.fuse import WEIGHTS, Signals, prior
from reverie.recall.lexical import TABLES, Lookup, Matches
from reverie.recall.prompt_kind import kind_of
from reverie.recall.queries import names
from reverie.recall.question_map import aimed
from reverie.recall.relevance import Calibration, Figures, Marks, Wanted
from reverie.text import timewords
from reverie.text.words import plain_words

if TYPE_CHECKING:
    from reverie.recall.vectors import Matrix

_GRAPH_SEEDS = 5
# The least spread, so that among near-identical memories a small difference stays small.
_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "myself", "we", "our", "us"})


@dataclass(frozen=True, slots=True)
class Likeness:
    """The similarity of passages to the question, and what is usual in the store."""

    of: Mapping[int, float] = field(default_factory=dict)
    usual: float = 0.0
    spread: float = 1.0
    approximate: bool = False

    def margin(self, passage: int) -> float:
        """How far a passage stands out from its store."""
        if passage not in self.of:
            return 0.0
        return relevance.margin(self.of[passage], self.usual, self.spread)


@dataclass(slots=True)
class Ranked:
    """Candidates with their signals and fused scores, best first; `size` is the whole collection's.

    `fused` are the scores before the second look, which chances are calibrated for.
    """

    collection: Collection
    size: int
    candidates: list[Candidate]
    signals: Signals
    scores: list[float]
    fused: list[float]
    coverage: list[float]
    likeness: list[float]
    reasons: dict[int, str]
    approximate: bool
    # For memories: the part of the question that each answers best.
    parts: list[int] = field(default_factory=list)

    def best_of_parts(self) -> list[float]:
        """For each memory, the score of the best one for the same part of the question."""
        best: dict[int, float] = {}
        for score, part in zip(self.scores, self.parts, strict=True):
            best[part] = max(score, best.get(part, score))
        return [best[part] for part in self.parts]


def ranked(
    connection: sqlite3.Connection, collection: Collection, asked: Question, matrix: Matrix | None
) -> Ranked:
    """Every candidate for a question in one collection, best first."""
    among = condition(collection, asked)
    hidden = archived(connection, collection, asked.query)
    place = Lookup(connection, TABLES[collection], asked.counts)
    looks = [
        _look(place, part, matrix, among, hidden)
        for part in (_by_parts(asked) if collection == "memories" else [asked])
    ]
    ids = sorted({passage for look in looks for passage in look.ids})
    if among is not None and not asked.query.text.strip():
        ids = newest(connection, among, hidden)
    candidates = load(connection, collection, ids)
    found, likeness = looks[0].found, looks[0].likeness
    parts: list[int] = []
    if collection == "memories":
        signals, base, parts = _log_odds(candidates, asked, place, looks)
    else:
        signals = _signals(candidates, asked, found, likeness.of)
        base = [0.0] * len(candidates)
    signals |= _circumstances(candidates, asked)
    scores = fuse.fused(signals, WEIGHTS[collection], len(candidates))
    result = Ranked(
        collection=collection,
        size=found.total,
        candidates=candidates,
        signals=signals,
        scores=[sum(both) for both in zip(base, scores, strict=True)],
        fused=scores,
        coverage=[found.scores.get(c.id, 0.0) / (found.ideal or 1.0) for c in candidates],
        likeness=[likeness.of.get(c.id, 0.0) for c in candidates],
        reasons={},
        approximate=any(look.found.approximate or look.likeness.approximate for look in looks),
        parts=parts,
    )
    if collection == "memories" and candidates:
        _join(connection, result, hidden, open_to_others=among is None)
    if collection == "episodes" and asked.query.text.strip():
        _look_again(place, result, asked)
    return _sorted(result, asked)


def _look_again(place: Lookup, found: Ranked, asked: Question) -> None:
    """Score messages again, with the signals from reranking the best of them."""
    ids = [candidate.id for candidate in found.candidates]
    words = asked.words if "semantic" in found.signals else None
    static = words is not None and words.name == asked.model
    text = asked.query.text
    found.signals |= rerank.second_look(place, text, ids, found.scores, words, static=static)
    sessions = [candidate.source for candidate in found.candidates]
    said = rerank.session_words(place, text, set(sessions))
    found.signals["session_words"] = [said[session] for session in sessions]
    weights = fuse.SECOND_LOOK if static else fuse.SECOND_LOOK_STRONG
    weights = weights if words is not None else fuse.SECOND_LOOK_AT_WORDS
    found.scores = fuse.fused(found.signals, weights, len(ids))


def _by_parts(asked: Question) -> list[Question]:
    """One question per sentence of a long message, each with the vector to compare memories with."""
    parts = asked.parts or (Part(asked.query.text, asked.vector),)
    found = []
    for part in parts:
        query = replace(asked.query, text=part.text)
        aim = aimed(asked.model, part.vector)
        found.append(replace(asked, query=query, vector=aim.vector, common=aim.common))
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    """The candidates of one part of a question."""

    asked: Question
    found: Matches
    likeness: Likeness

    @property
    def ids(self) -> set[int]:
        return {*self.found.scores, *self.likeness.of}


def _look(
    place: Lookup,
    asked: Question,
    matrix: Matrix | None,
    among: tuple[str, Sequence[object]] | None,
    hidden: set[int],
) -> _Look:
    found = lexical.search(place, asked.query, asked.pool + len(hidden), among)
    found = replace(found, scores=_best(found.scores, hidden, asked.pool))
    alike = _semantic(place.connection, asked, matrix, among, set(found.scores), hidden)
    return _Look(asked, found, alike)


def _best(scores: Mapping[int, float], hidden: set[int], pool: int) -> dict[int, float]:
    """As many as a signal may contribute; hidden passages were requested in addition and take no place."""
    seen = {passage: score for passage, score in scores.items() if passage not in hidden}
    if len(seen) <= pool:
        return seen
    return dict(heapq.nlargest(pool, seen.items(), key=lambda item: (item[1], -item[0])))


def _semantic(
    connection: sqlite3.Connection,
    asked: Question,
    matrix: Matrix | None,
    among: tuple[str, Sequence[object]] | None,
    also: set[int],
    hidden: set[int],
) -> Likeness:
    if matrix is None or asked.vector is None or not len(matrix):
        return Likeness()
    allowed = None
    if among is not None:
        rows = connection.execute(f"SELECT p.id FROM passages p {among[0]}", tuple(among[1]))
        allowed = [row[0] for row in rows]
    nearest = matrix.nearest(asked.vector, asked.pool + len(hidden), allowed)
    alike = _best(nearest.scores, hidden, asked.pool)
    alike |= matrix.scores(asked.vector, also - alike.keys())
    of = {passage: score - asked.common for passage, score in alike.items()}
    return Likeness(of, nearest.usual - asked.common, nearest.spread, nearest.approximate)


# The evidence for a memory: in total, by signal, and its base; the part of the question, and its
# features.
_Judged: TypeAlias = tuple[float, dict[str, float], float, int, Figures]
_NUMBER = re.compile(r"\b\d+\b")


def _log_odds(
    candidates: Sequence[Candidate], asked: Question, place: Lookup, looks: Sequence[_Look]
) -> tuple[Signals, list[float], list[int]]:
    """The evidence for each memory, and for any at all, in log odds, by the part that fits best."""
    semantic = any(look.likeness.of for look in looks)
    calibration = relevance.calibration(asked.model if semantic else "")
    kind, topic = kind_of(asked.query.text), calibration.topic_of(asked.vector)
    known = names(asked.query.text) if asked.parts else ()
    wanted = [
        Wanted(part, look.found.total, place.rows, None if part in known else kind, topic)
        for look in looks
        for part in [look.asked.query.text]
    ]
    best: list[_Judged] = []
    both = list(enumerate(zip(looks, wanted, strict=True)))
    for candidate in candidates:
        judged = []
        kept = candidate.marks or Marks("", "")
        for number, (look, part) in both:
            cosine = look.likeness.of.get(candidate.id, 0.0)
            margin = look.likeness.margin(candidate.id) if calibration.margin else 0.0
            figures = part.compared(kept, cosine, margin)
            signals, base = calibration.parts(figures), calibration.base(figures)
            judged.append((base + sum(signals.values()), signals, base, number, figures))
        best.append(max(judged, key=itemgetter(0)) if len(judged) > 1 else judged[0])
    _demote_other_numbers(candidates, looks, best)
    told = ("lexical", "concepts", *(("semantic",) if semantic else ()))
    columns = {name: [part[name] for _, part, *_ in best] for name in told}
    parts = [one[3] for one in best]
    moves = _moves(calibration, best, wanted)
    return columns, [one[2] + moves[one[3]] for one in best], parts


def _moves(
    calibration: Calibration, judged: Sequence[_Judged], wanted: Sequence[Wanted]
) -> dict[int, float]:
    """For each part of a question, the shift that gives its best memory the calibrated chance."""
    best: dict[int, _Judged] = {}
    for one in judged:
        if one[3] not in best or one[0] > best[one[3]][0]:
            best[one[3]] = one
    return {
        part: calibration.log_odds(one[4], keywords=wanted[part].keywords) - one[0]
        for part, one in best.items()
    }


def _demote_other_numbers(
    candidates: Sequence[Candidate], looks: Sequence[_Look], judged: list[_Judged]
) -> None:
    """If the best memory has the numbers of a question ("leg 2"), do not show one with other numbers."""
    for part, look in enumerate(looks):
        numbers = set(_NUMBER.findall(look.asked.query.text))
        of_part = [i for i, one in enumerate(judged) if one[3] == part] if numbers else []
        if not of_part:
            continue
        kept = {i: (candidates[i].marks or Marks("", "")).terms.split() for i in of_part}
        if numbers.issubset(kept[max(of_part, key=lambda i: judged[i][0])]):
            for i in of_part:
                total, signals, base, _, figures = judged[i]
                if not numbers.issubset(kept[i]):
                    back = relevance.NEARLY
                    judged[i] = (total - back, signals, base - back, part, figures)


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
    named = {who: names_speaker(who, said) for who in {(c.speaker, c.role) for c in candidates}}
    signals["speaker"] = [named[c.speaker, c.role] for c in candidates]
    return signals


def _circumstances(candidates: Sequence[Candidate], asked: Question) -> Signals:
    """Signals that do not depend on the question's words: its time, and each memory's status."""
    signals: Signals = {}
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


def names_speaker(who: tuple[str, str], said: set[str]) -> float:
    """1 when the question names the speaker; a question in the first person names the user."""
    speaker, role = who
    if speaker:
        return float(any(name in said for name in plain_words(speaker)))
    return float(role == "user" and bool(said & _FIRST_PERSON))


def _join(
    connection: sqlite3.Connection, found: Ranked, hidden: set[int], *, open_to_others: bool
) -> None:
    """Raise memories connected with the best ones by an entity or a link, and add missing ones."""
    order = sorted(range(len(found.scores)), key=lambda i: -found.scores[i])[:_GRAPH_SEEDS]
    strengths = {found.candidates[i].source: 1.0 / (rank + 1) for rank, i in enumerate(order)}
    joined = graph.neighbours(connection, strengths)
    if not joined:
        return
    present = {candidate.source for candidate in found.candidates}
    # Added memories are supported by a tie only, so they start below everything that was found.
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
    for candidate in load(connection, found.collection, [row[0]]) if shown else []:
        found.candidates.append(candidate)
        found.scores.append(floor)
        found.parts.append(0)
        for column in (*found.signals.values(), found.fused, found.coverage, found.likeness):
            column.append(0.0)


def _in_turn(found: Ranked, order: Sequence[int]) -> list[int]:
    """For several questions in one: the best memory worth showing for each, then the second best of each."""
    best, places = found.best_of_parts(), Counter[int]()
    turn: dict[int, int] = {}
    for i in order:
        if relevance.chance_beside(found.scores[i], best[i]) >= fuse.GOOD_MATCH:
            # The whole message comes after its questions.
            turn[i] = places[found.parts[i]] + (found.parts[i] == 0)
            places[found.parts[i]] += 1
    return sorted(order, key=lambda i: turn.get(i, len(order)))


def _sorted(found: Ranked, asked: Question) -> Ranked:
    order = sorted(
        range(len(found.scores)), key=lambda i: (-found.scores[i], found.candidates[i].id)
    )
    # Sentences of a long message also state things, so most of them have no memory that answers.
    asks_several = len(asked.parts) > 1 and asked.parts[0].text == asked.query.text
    if asks_several and found.collection == "memories":
        order = _in_turn(found, order)
    return Ranked(
        found.collection,
        found.size,
        [found.candidates[i] for i in order],
        {name: [column[i] for i in order] for name, column in found.signals.items()},
        [found.scores[i] for i in order],
        [found.fused[i] for i in order],
        [found.coverage[i] for i in order],
        [found.likeness[i] for i in order],
        found.reasons,
        found.approximate,
        [found.parts[i] for i in order] if found.parts else [],
    )
