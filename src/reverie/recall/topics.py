"""Memories in the index: added, replaced and removed as their files change."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from reverie.recall import documents as passages
from reverie.recall.documents import MemoryDoc, Refreshed, Signature
from reverie.recall.fuse import ties
from reverie.recall.relevance import marks
from reverie.text import words


def missing(connection: sqlite3.Connection, files: Sequence[str]) -> set[str]:
    """Which of these files are not in the index."""
    sql = "SELECT 1 FROM sources WHERE collection = 'memories' AND name = ?"
    return {file for file in files if connection.execute(sql, (file,)).fetchone() is None}


def known(connection: sqlite3.Connection) -> dict[str, str]:
    """Every indexed file, with the signature it had when it was read."""
    rows = connection.execute("SELECT name, signature FROM sources WHERE collection = 'memories'")
    return dict(rows.fetchall())


def changes(
    connection: sqlite3.Connection, listing: Mapping[str, Signature]
) -> tuple[list[str], list[str]]:
    """Files to read again, and files that are gone."""
    before = known(connection)
    changed = [file for file, seen in listing.items() if before.get(file) != signature_text(seen)]
    return changed, [file for file in before if file not in listing]


def signature_text(signature: Signature) -> str:
    return "/".join(map(str, signature))


def write(connection: sqlite3.Connection, stamp: int, docs: Iterable[MemoryDoc]) -> Refreshed:
    """Add memories, replacing the rows of the same files."""
    added = changed = 0
    for doc in docs:
        digest = _digest(doc)
        row = connection.execute(
            "SELECT id, hash FROM sources WHERE collection = 'memories' AND name = ?", (doc.file,)
        ).fetchone()
        if row is None:
            added += 1
        elif row[1] == digest:
            connection.execute(
                "UPDATE sources SET signature = ? WHERE id = ?",
                (signature_text(doc.signature), row[0]),
            )
            continue
        else:
            changed += 1
            remove(connection, (doc.file,), stamp)
        _insert(connection, doc, digest)
    return Refreshed(added=added, changed=changed)


def remove(connection: sqlite3.Connection, files: Iterable[str], stamp: int) -> int:
    """Remove files with all their terms."""
    count = 0
    for file in files:
        row = connection.execute(
            "SELECT s.id, m.name, m.description FROM sources s JOIN memories m ON m.source = s.id "
            "WHERE s.collection = 'memories' AND s.name = ?",
            (file,),
        ).fetchone()
        if row is None:
            continue
        count += 1
        source, name, description = row
        for passage, text, cues in connection.execute(
            "SELECT p.id, p.text, k.groups FROM passages p JOIN marks k ON k.passage = p.id "
            "WHERE p.source = ?",
            (source,),
        ).fetchall():
            connection.execute(
                "INSERT INTO memory_words"
                "(memory_words, rowid, name, description, body, cues, tails) "
                "VALUES ('delete', ?, ?, ?, ?, ?, ?)",
                (passage, *_columns(name, description, text, cues)),
            )
            connection.execute("DELETE FROM marks WHERE passage = ?", (passage,))
            drop_vector(connection, passage, stamp)
        for table, column in _OWNED:
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (source,))
    return count


_OWNED = (("passages", "source"), ("memories", "source"), ("ties", "source"), ("sources", "id"))


def expect_vector(connection: sqlite3.Connection, passage: int, episode: int) -> None:
    """Mark a passage as waiting for a vector."""
    connection.execute("INSERT OR IGNORE INTO pending VALUES (?, ?)", (passage, episode))


def drop_vector(connection: sqlite3.Connection, passage: int, stamp: int) -> None:
    """Delete the vector of a passage that was removed or changed."""
    connection.execute("DELETE FROM pending WHERE passage = ?", (passage,))
    if connection.execute("DELETE FROM vectors WHERE passage = ?", (passage,)).rowcount:
        connection.execute("INSERT OR IGNORE INTO removed VALUES (?, ?)", (stamp, passage))


def _insert(connection: sqlite3.Connection, doc: MemoryDoc, digest: str) -> None:
    source = connection.execute(
        "INSERT INTO sources(collection, name, signature, hash) VALUES ('memories', ?, ?, ?)",
        (doc.file, signature_text(doc.signature), digest),
    ).lastrowid
    name, description = plain(doc.name), plain(doc.description)
    cues = plain("\n".join(doc.cues))
    connection.execute(
        "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(source, name, description, doc.type, doc.created, doc.valid_from),
            *(doc.valid_until, doc.confidence, doc.superseded, doc.pinned, doc.archived),
        ),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO ties VALUES (?, ?)", [(tie, source) for tie in ties(doc)]
    )
    for position, text in enumerate(passages.split(plain(doc.body))):
        passage = connection.execute(
            "INSERT INTO passages(source, episode, position, key, at, text) VALUES (?, 0, ?, ?, ?, ?)",
            (source, position, doc.file, doc.valid_from or doc.created, text),
        ).lastrowid
        kept = marks(name, description, text, cues=cues)
        connection.execute("INSERT INTO marks VALUES (?, ?, ?)", (passage, kept.terms, kept.groups))
        connection.execute(
            "INSERT INTO memory_words(rowid, name, description, body, cues, tails) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (passage, *_columns(name, description, text, kept.groups)),
        )
        expect_vector(connection, int(passage or 0), 0)


def _columns(name: str, description: str, text: str, cues: str) -> tuple[str, ...]:
    """The terms that one row is indexed under; cues are terms already."""
    *own, tails = words.fields(name, description, text)
    return (*own, cues, tails)


def plain(text: str) -> str:
    """Text that SQLite can store, without lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")


def _digest(doc: MemoryDoc) -> str:
    fields = (doc.name, doc.description, doc.body, doc.type, doc.created, doc.valid_from)
    more = (doc.valid_until, doc.confidence, doc.superseded, doc.pinned, doc.archived)
    tied = (doc.entities, doc.links, doc.cues)
    return hashlib.blake2b(
        repr(fields + more + tied).encode("utf-8", "replace"), digest_size=12
    ).hexdigest()
