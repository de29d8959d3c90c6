"""Messages in the index, each with its neighbours' terms, so that a question also finds its reply."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reverie.recall import documents as passages
from reverie.recall.documents import Episode, Refreshed, Signature
from reverie.recall.topics import drop_vector, expect_vector, plain, signature_text
from reverie.text import words

# How many messages before and after contribute their words.
REACH = 2
# Only the beginning of a neighbour counts: a page of output would drown the message itself.
_LENT_TERMS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A message, or a piece of a long one, at its place in the session."""

    id: int
    position: int
    speaker: str
    text: str

    @property
    def spoken(self) -> str:
        """The text, with the speaker's name where it is known."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    @property
    def terms(self) -> tuple[str, ...]:
        return _terms(self.spoken)


@lru_cache(maxsize=8 * REACH)
def _terms(spoken: str) -> tuple[str, ...]:
    """Cached, because a message's terms are needed for itself and for each of its neighbours."""
    return tuple(words.terms(spoken))


def known(connection: sqlite3.Connection) -> dict[str, str]:
    """Every indexed session, with the signature its transcript had when it was read."""
    rows = connection.execute("SELECT name, signature FROM sources WHERE collection = 'episodes'")
    return dict(rows.fetchall())


def departs(connection: sqlite3.Connection, session: str, messages: Iterable[Episode]) -> bool:
    """Whether messages already read from a transcript were since removed or changed."""
    rows = connection.execute(
        "SELECT p.key, p.text FROM passages p JOIN sources s ON s.id = p.source "
        "WHERE s.collection = 'episodes' AND s.name = ? ORDER BY p.position",
        (session,),
    )
    indexed: dict[str, list[str]] = {}
    for key, text in rows:
        indexed.setdefault(key, []).append(text)
    told: dict[str, Episode] = {}
    for message in messages:
        told.setdefault(message.id, message)
    return any(
        key not in told or passages.split(plain(told[key].text)) != pieces
        for key, pieces in indexed.items()
    )


def append(
    connection: sqlite3.Connection,
    session: str,
    messages: Iterable[Episode],
    signature: Signature,
    stamp: int,
) -> Refreshed:
    """Add the messages of a session that are not in the index yet, in order."""
    source = _source(connection, session, signature)
    seen = {
        row[0] for row in connection.execute("SELECT key FROM passages WHERE source = ?", (source,))
    }
    fresh: dict[str, Episode] = {}
    for message in messages:
        if message.id not in seen and message.text.strip():
            fresh.setdefault(message.id, message)
    if not fresh:
        return Refreshed()
    tail = _rows(connection, source)[-2 * REACH :]
    # The last messages get new neighbours, so their words are removed here and added again below.
    for row in tail[-REACH:]:
        _unindex(connection, tail, row)
        drop_vector(connection, row.id, stamp)
    start = tail[-1].position + 1 if tail else 0
    rows = tail + _insert(connection, source, list(fresh.values()), start)
    for row in rows[max(0, len(tail) - REACH) :]:
        _index(connection, rows, row)
    return Refreshed(added=len(fresh))


def remove(connection: sqlite3.Connection, sessions: Iterable[str], stamp: int) -> int:
    """Remove sessions with all their terms."""
    return sum(_remove(connection, session, stamp) for session in sessions)


def _remove(connection: sqlite3.Connection, session: str, stamp: int) -> int:
    found = connection.execute(
        "SELECT id FROM sources WHERE collection = 'episodes' AND name = ?", (session,)
    ).fetchone()
    if found is None:
        return 0
    rows = _rows(connection, found[0])
    for row in rows:
        _unindex(connection, rows, row)
        drop_vector(connection, row.id, stamp)
    connection.execute("DELETE FROM passages WHERE source = ?", found)
    connection.execute("DELETE FROM sources WHERE id = ?", found)
    return len(rows)


def _source(connection: sqlite3.Connection, session: str, signature: Signature) -> int:
    connection.execute(
        "INSERT INTO sources(collection, name, signature) VALUES ('episodes', ?, ?) "
        "ON CONFLICT(collection, name) DO UPDATE SET signature = excluded.signature",
        (session, signature_text(signature)),
    )
    row = connection.execute(
        "SELECT id FROM sources WHERE collection = 'episodes' AND name = ?", (session,)
    ).fetchone()
    return int(row[0])


def _rows(connection: sqlite3.Connection, source: int) -> list[Row]:
    found = connection.execute(
        "SELECT id, position, speaker, text FROM passages WHERE source = ? ORDER BY position",
        (source,),
    )
    return [Row(*row) for row in found]


def _insert(
    connection: sqlite3.Connection, source: int, messages: Sequence[Episode], start: int
) -> list[Row]:
    rows: list[Row] = []
    for message in messages:
        speaker = plain(message.speaker)
        for piece in passages.split(plain(message.text)):
            position = start + len(rows)
            passage = connection.execute(
                "INSERT INTO passages(source, episode, position, key, role, speaker, at, text) "
                "VALUES (?, 1, ?, ?, ?, ?, ?, ?)",
                (source, position, message.id, message.role, speaker, message.at, piece),
            ).lastrowid
            rows.append(Row(int(passage or 0), position, speaker, piece))
    return rows


def _index(connection: sqlite3.Connection, rows: Sequence[Row], row: Row) -> None:
    connection.execute(
        "INSERT INTO episode_words(rowid, text, context, tails) VALUES (?, ?, ?, ?)",
        (row.id, *_columns(rows, row)),
    )
    expect_vector(connection, row.id, 1)


def _unindex(connection: sqlite3.Connection, rows: Sequence[Row], row: Row) -> None:
    connection.execute(
        "INSERT INTO episode_words(episode_words, rowid, text, context, tails) "
        "VALUES ('delete', ?, ?, ?, ?)",
        (row.id, *_columns(rows, row)),
    )


def _columns(rows: Sequence[Row], row: Row) -> tuple[str, str, str]:
    place = row.position - rows[0].position
    near = [*rows[max(0, place - REACH) : place], *rows[place + 1 : place + 1 + REACH]]
    context = [term for other in near for term in other.terms[:_LENT_TERMS]]
    return " ".join(row.terms), " ".join(context), words.fields(row.text)[-1]
