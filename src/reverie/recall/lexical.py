"""The query language for people: `type:feedback after:2026-01 is:archived "exact phrase" -word`.

Nothing a person types is an error: what does not read as an option is just words.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile

from reverie.recall import relevance
from reverie.recall.documents import Collection
from reverie.text import words
from reverie.text.timewords import Span, date_span
from reverie.text.words import COMPOUND_LENGTH, SHORTEST_PART, QueryWord

_TOKEN = re.compile(
    r"(?P<minus>(?<!\S)-(?=[\w\"]))?(?:"
    r"(?P<key>(?<![^\s-])(?:type|after|before|session|role|is)):(?P<value>\"[^\"]*\"|\S+)"
    r"|\"(?P<phrase>[^\"]*)\""
    r"|(?P<word>[^\s\"]+))"
)
# A message of more words is searched by its sentences, so many of them.
SHORT = 40
MOST_PARTS = 6
MOST_NAMES = 8
_TOO_FEW = 5
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")
# Between two questions: a question mark, or "and" before a word that asks.
_AND = re.compile(
    r"(?<=[?？])\s+(?:also,? |and )?|[,;:]?\s+(?:and|und|et|y|as well as)\s+"
    r"(?=(?:who|whom|whose|what|when|where|which|why|how|is|are|do|does|can|may|until when|"
    r"wer|wann|wo|was|welche\w*|wie|qui|quand|où|quel\w*|qui[eé]n|cu[aá]ndo|d[oó]nde)\b)",
    re.IGNORECASE,
)
_SMALLEST = 3
# What a sentence names as known: two or three words behind an article or a possessive.
_KNOWN = re.compile(
    r"\b(?P<article>the|our|my|their|der|die|das|den|dem|unser\w*|le|la|les|notre|el|los|las|nuestr[oa])"
    r"\s+(?P<words>[\w-]+(?:[ ][\w-]+){1,3})",
    re.IGNORECASE,
)
_FOLLOW_UP = 8
_EXCLUDED = 3
_QUESTION = re.compile(
    r"[?？]$|^(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|"
    r"should|will|would|has|have|had)\b(?=.*\s\w+\s)",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"^(?:and|or|but|also|then|what about|how about|und|oder|et|ou|y|o|en)\b.*[?？]$|"
    r"^(?:who|whom|when|where|why|how(?: \w+)?|by whom|which(?: one)?|are|is|does|what)\b"
    r".*\b(?:it|that|these|those|they|them|this|he|she|her|him|one|else)\b.*[?？]$|"
    r"^(?:by |for |in |on |at |with |since )?\w+(?: \w+)?[?？]$",
    re.IGNORECASE,
)
TYPES = frozenset({"user", "feedback", "project", "reference"})


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its options taken out."""

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None
    session: str | None = None
    role: str | None = None
    archived: bool = False

    @property
    def filtered(self) -> bool:
        options = (self.after, self.before, self.session, self.role)
        return bool(self.types) or self.archived or any(option is not None for option in options)


def parts(text: str) -> tuple[str, ...]:
    """What a long message asks about, a sentence or two at a time; a short one is one part.

    One that asks several things is that part and each of them.
    """
    if len(text.split()) <= SHORT:
        several = [part.strip() for part in _AND.split(text) if len(part.split()) >= _SMALLEST]
        return (text, *several[:MOST_PARTS]) if len(several) > 1 else (text,)
    found: list[str] = []
    for sentence in _SENTENCES.split(text):
        if found and min(len(found[-1].split()), len(sentence.split())) < _TOO_FEW:
            found[-1] = f"{found[-1]} {sentence}"
        elif sentence.strip():
            found.append(sentence.strip())
    if len(found) <= MOST_PARTS:
        return (*found, *names(text)) or (text,)
    # What is asked counts most; then how it begins and how it ends.
    asked = [place for place, part in enumerate(found) if part.endswith(("?", "？"))]
    outside = [end for n in range(len(found)) for end in (n, len(found) - 1 - n)]
    kept = list(dict.fromkeys((*asked[-MOST_PARTS:], *outside)))[:MOST_PARTS]
    return (*(found[place] for place in sorted(kept)), *names(text))


def names(text: str) -> tuple[str, ...]:
    """Things that a message speaks of as known, such as "the staging database"; each is asked about."""
    found: dict[str, None] = {}
    for known in _KNOWN.finditer(text):
        named = list(takewhile(_carries, known["words"].split()))
        if len(named) > 1:
            found[" ".join((known["article"].lower(), *named[:3]))] = None
    return tuple(found)[:MOST_NAMES]


def _carries(word: str) -> bool:
    return not any(word.lower() in stop for stop in words.STOP_WORDS.values())


def read(text: str) -> Query:
    """A question as it stands; anything else, and whatever has an option, in the query language."""
    found = parse(text)
    # `-x` in a question is the option of a command; `-release` leaves a word out.
    excludes = any(len(word) >= _EXCLUDED for word in found.excluded)
    if found.filtered or excludes or not _QUESTION.search(text.strip()):
        return found
    return plain(text)


def follow_up(text: str) -> bool:
    """Whether a message is only understood with the one before it: "and on Sundays?"."""
    return len(text.split()) <= _FOLLOW_UP and _LEANS.search(text.strip()) is not None


def plain(text: str) -> Query:
    """A message as a question: quotes and dashes in it are not options."""
    return Query(text)


def parse(text: str) -> Query:
    """Options, phrases and excluded words, in any order; the rest is what is asked."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    options: dict[str, str] = {}
    types: list[str] = []
    for match in _TOKEN.finditer(text):
        value = (match["value"] or "").strip('"')
        if match["key"] and not match["minus"] and _reads(match["key"], value):
            if match["key"] == "type":
                types.append(value.lower())
            else:
                options[match["key"]] = value
        elif match["minus"] and (match["phrase"] or match["word"]):
            excluded.append(match["phrase"] or match["word"])
        elif match["phrase"] is None:
            words.append(match[0])
        elif match["phrase"].strip():
            phrases.append(match["phrase"])
    after, before = _day(options.get("after")), _day(options.get("before"))
    return Query(
        text=" ".join((*words, *phrases)),
        phrases=tuple(phrases),
        excluded=tuple(excluded),
        types=tuple(types),
        after=after.start if after else None,
        before=before.start if before else None,
        session=options.get("session"),
        role=options.get("role"),
        archived="is" in options,
    )


def _reads(key: str, value: str) -> bool:
    if key == "type":
        return value.lower() in TYPES
    if key == "is":
        return value.lower() == "archived"
    return _day(value) is not None if key in {"after", "before"} else bool(value)


def _day(value: str | None) -> Span | None:
    return date_span(value) if value else None


# Rows one search may score, and rows it may count to know how rare each word is.
ROW_BUDGET = 5_000
SCAN_BUDGET = 100_000
# Rows that groups of words may bring: meaning finds the rest.
GROUP_BUDGET = 800
MOST_WORDS = 24
# Terms that a word no memory has is compared with.
MOST_NEAR = 2_000
_LINKING = ("s", "n", "en", "es", "er")
# A part of a compound is a beginning: it also finds the compounds that begin with it.
_PREFIX_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Table:
    """The full-text table of a collection, and what a match in each of its columns counts."""

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
    """A word of the question as it can be looked up: an expression, and how many rows have it."""

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
    """How many rows have a term. Counting a common one takes time: it is done once a change."""

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
    """Where words are looked up: the file, the table, and what is known of its terms."""

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
    """Compounds that begin or end with the word, and the parts it is itself made of."""
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
    """How many rows a table has: the first number of FTS5's own totals (counting would be slow)."""
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
    """What FTS5 is asked; `floor` is the share of the oldest rows it skips."""

    expression: str
    floor: float = 0.0
    approximate: bool = True
    # What a match counts.
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
        # One common word: of the many rows that have it, a share is looked at, the newest.
        return _Asked(everything, floor=1 - ROW_BUDGET / others[0].rows)
    if others:
        return _Asked(_both(_either(needed), everything))
    # A needed word stands in both halves above and so counts twice; asking once takes half the time.
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
