"""Passages by their words: the FTS5 query for a question, within a time budget."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from reverie.recall import relevance
from reverie.recall.documents import Collection
from reverie.recall.queries import Query
from reverie.text import words
from reverie.text.words import COMPOUND_LENGTH, SHORTEST_PART, QueryWord, spoken_words, stem

# Rows one search may score, and rows it may count to know how rare each word is.
ROW_BUDGET = 5_000
SCAN_BUDGET = 100_000
# How many rows groups of words may contribute; meaning finds the rest.
GROUP_BUDGET = 800
MOST_WORDS = 24
# How many terms an unknown word is compared with.
MOST_NEAR = 2_000
_LINKING = ("s", "n", "en", "es", "er")
# A part of a compound is a beginning: it also finds the compounds that begin with it.
_PREFIX_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Table:
    """The full-text table of a collection, and the weight of a match in each column."""

    words: str
    terms: str
    columns: str
    weights: tuple[float, ...]
    # Whether it has a column for groups of words that mean the same.
    cued: bool = False


TABLES: dict[Collection, Table] = {
    "memories": Table(
        "memory_words",
        "memory_terms",
        "name description body cues",
        (3.0, 2.0, 1.0, 0.5, 0.5),
        cued=True,
    ),
    "episodes": Table("episode_words", "episode_terms", "text context", (1.0, 0.45, 0.5)),
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question as an FTS5 expression, and how many rows have it."""

    expression: str
    rows: int


@dataclass(frozen=True, slots=True)
class Matches:
    """Passages by BM25; `ideal` is what a passage with every word of the question would get.

    `total` is how many passages there are.
    """

    scores: dict[int, float]
    ideal: float
    total: int
    approximate: bool


@dataclass(slots=True)
class Counts:
    """How many rows have a term. Counting a common one takes time, so it is done once per change."""

    stamp: int = -1
    known: dict[tuple[str, str], int] = field(default_factory=dict)

    def follow(self, stamp: int) -> Counts:
        """The same counts, emptied when the index changed since."""
        if stamp != self.stamp:
            self.stamp = stamp
            self.known.clear()
        return self

    def of(self, connection: sqlite3.Connection, table: Table, term: str) -> int:
        key = (table.terms, term)
        if key not in self.known:
            row = connection.execute(
                f"SELECT doc FROM {table.terms} WHERE term = ?", (term,)
            ).fetchone()
            self.known[key] = int(row[0]) if row else 0
        return self.known[key]


@dataclass(frozen=True, slots=True)
class Lookup:
    """The file, the table and the counts in which words are looked up."""

    connection: sqlite3.Connection
    table: Table
    counts: Counts

    @property
    def size(self) -> int:
        """How many rows there are."""
        return _rows(self.connection, self.table)

    def rows(self, term: str) -> int:
        return self.counts.of(self.connection, self.table, term)

    def near(self, letter: str, length: int) -> list[str]:
        """Terms that begin with a letter and have about that length."""
        found = self.connection.execute(
            f"SELECT term FROM {self.table.terms} WHERE term >= ? AND term < ? "
            "AND length(term) BETWEEN ? AND ? LIMIT ?",
            (letter, chr(ord(letter) + 1), length - 1, length + 1, MOST_NEAR),
        )
        return [row[0] for row in found]

    def written(self, term: str) -> str:
        """A word with this stem as some memory has it; the stem itself if none has one."""
        words = self.table.words
        rows = self.connection.execute(
            "SELECT coalesce(m.name, ''), coalesce(m.description, ''), p.text FROM passages p "
            "LEFT JOIN memories m ON m.source = p.source WHERE p.id IN "
            f"(SELECT rowid FROM {words} WHERE {words} MATCH ? LIMIT 3)",
            (_quoted(term),),
        )
        for texts in rows:
            for text in texts:
                spoken, language = spoken_words(text)
                found = [word for word in spoken if stem(word, language) == term]
                if found:
                    return found[0]
        return term

    def matches(self, expression: str) -> bool:
        words = self.table.words
        return bool(
            self.connection.execute(
                f"SELECT 1 FROM {words} WHERE {words} MATCH ? LIMIT 1", (expression,)
            ).fetchone()
        )


def search(
    place: Lookup,
    query: Query,
    count: int,
    among: tuple[str, Sequence[object]] | None,
) -> Matches:
    """The best passages by words alone; `among` is an SQL condition on `p` with its values."""
    connection, table = place.connection, place.table
    total = _rows(connection, table)
    found = _lookup(place, query)
    used = [word for word in found if word.rows]
    if table.cued:
        groups = relevance.asked_groups(query.text, place.rows)
        cued = [Word(f"cues : {_quoted(group)}", rows) for group, rows in groups]
        used += within(cued, GROUP_BUDGET)
    asked = _expression(used, total)
    expression = asked.expression
    for phrase in query.phrases:
        stemmed = " ".join(words.terms(phrase))
        expression = _both(expression, f'"{stemmed}"' if stemmed else "")
    ideal = sum(_idf(word.rows, total) for word in found) * 2.2
    if not expression:
        return Matches({}, ideal, total, approximate=False)
    newest = connection.execute("SELECT max(id) FROM passages").fetchone()[0] if asked.floor else 0
    rows = _ranked(connection, table, expression, (count, int(asked.floor * newest)), among)
    scores = {row: -score * asked.weight for row, score in rows}
    return Matches(scores, ideal, total, asked.approximate)


def _ranked(
    connection: sqlite3.Connection,
    table: Table,
    expression: str,
    bounds: tuple[int, int],
    among: tuple[str, Sequence[object]] | None,
) -> list[tuple[int, float]]:
    count, floor = bounds
    weights = ", ".join(map(str, table.weights))
    condition, values = among or ("", ())
    narrowed = f"AND w.rowid IN (SELECT p.id FROM passages p {condition})" if condition else ""
    return connection.execute(
        f"SELECT w.rowid, bm25({table.words}, {weights}) AS score FROM {table.words} w "
        f"WHERE {table.words} MATCH ? AND w.rowid > ? {narrowed} ORDER BY score, w.rowid LIMIT ?",
        (expression, floor, *values, count),
    ).fetchall()


def _lookup(place: Lookup, query: Query) -> list[Word]:
    columns = place.table.columns
    compounds = words.compounding(query.text)
    found = []
    for word in words.query_words(query.text)[:MOST_WORDS]:
        known = {term: rows for term in word.terms if (rows := place.rows(term))}
        pieces = [f"{{{columns}}} : {_quoted(term)}" for term in known]
        if compounds or not known:
            pieces += _compound_pieces(place, word)
        found.append(Word(_either(pieces), sum(known.values()) or len(pieces)))
    return found


def _compound_pieces(place: Lookup, word: QueryWord) -> list[str]:
    """Compounds that begin or end with the word, and the parts that make up the word."""
    term = min(word.terms, key=len)
    if not term.isalpha():
        return []
    columns = place.table.columns
    pieces: list[str] = []
    if len(term) >= _PREFIX_LENGTH:
        pieces.append(f"{{{columns}}} : {_quoted(term)} *")
    if len(term) >= SHORTEST_PART:
        pieces.append(f"tails : {_quoted(term[::-1])} *")
    if len(word.word) >= COMPOUND_LENGTH:
        pieces += [f"{{{columns}}} : {_quoted(part)}" for part in _parts(place, word.word)]
    return [piece for piece in pieces if place.matches(piece)]


def _parts(place: Lookup, word: str) -> tuple[str, ...]:
    """The two words a compound is made of, when both are in the index."""
    for cut in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        tail = words.stem(word[cut:], "german")
        if not place.rows(tail):
            continue
        heads = [word[:cut], *(word[:cut].removesuffix(link) for link in _LINKING)]
        for head in dict.fromkeys(words.stem(head, "german") for head in heads):
            if len(head) >= SHORTEST_PART - 1 and place.rows(head):
                return head, tail
    return ()


def _rows(connection: sqlite3.Connection, table: Table) -> int:
    """The number of rows of a table, from FTS5's own totals (counting would be slow)."""
    found = connection.execute(f"SELECT block FROM {table.words}_data WHERE id = 1").fetchone()
    number = 0
    for byte in (found[0] if found else b"")[:9]:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number


def _idf(rows: int, total: int) -> float:
    """FTS5's own weight of a word."""
    return max(math.log((total - rows + 0.5) / (rows + 0.5)) if rows < total else 0.0, 1e-6)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query for FTS5; `floor` is the share of the oldest rows to skip."""

    expression: str
    floor: float = 0.0
    approximate: bool = True
    # The weight of a match.
    weight: float = 1.0


def _expression(found: Sequence[Word], total: int) -> _Asked:
    """An expression that matches no more rows than there is time for."""
    if sum(word.rows for word in found) <= ROW_BUDGET:
        return _Asked(_either([word.expression for word in found]), approximate=False)
    order = sorted(found, key=lambda word: (word.rows, word.expression))
    ranking = within(order, SCAN_BUDGET) or order[:1]
    rare = within(ranking, ROW_BUDGET)
    needed = [word.expression for word in rare]
    others = ranking[len(rare) :]
    if len(others) > 1:
        first, second = others[:2]
        expected = first.rows * second.rows // max(total, 1)
        if not rare or sum(word.rows for word in rare) + expected <= ROW_BUDGET:
            needed.append(_both(first.expression, second.expression))
            others = others[2:]
    everything = _either([word.expression for word in ranking])
    if not needed:
        # One common word: of the many rows that have it, look only at the newest.
        return _Asked(everything, floor=1 - ROW_BUDGET / others[0].rows)
    if others:
        return _Asked(_both(_either(needed), everything))
    # A needed word is in both halves above and so counts twice; asking once takes half the time.
    return _Asked(_either(needed), weight=2.0)


def within(order: Sequence[Word], budget: int) -> list[Word]:
    """The rarest words that have no more rows than the budget, all together."""
    sums = accumulate(word.rows for word in order)
    return [word for word, spent in zip(order, sums, strict=True) if spent <= budget]


def _either(pieces: Sequence[str]) -> str:
    return f"({' OR '.join(pieces)})" if len(pieces) > 1 else "".join(pieces)


def _both(first: str, second: str) -> str:
    return f"({first} AND {second})" if first and second else first or second


def _quoted(term: str) -> str:
    return f'"{term}"'
