"""The SQLite file behind recall: its schema, and its repair. It may be deleted at any time."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from reverie.files.atomic import make_private
from reverie.files.locks import ThreadLock
from reverie.text import thesaurus, words

log = logging.getLogger(__name__)

FORMAT = f"6/{words.VERSION}/{thesaurus.VERSION}"
BUSY_SECONDS = 2.0
_CACHE_KIB = 16_384
# Every letter, digit and mark is part of a term: we make the terms, FTS5 only separates them.
_TOKENS = "tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* M* Co'\""

_SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sources(
    id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT, name TEXT, signature TEXT, hash TEXT,
    UNIQUE(collection, name));
CREATE TABLE memories(
    source INTEGER PRIMARY KEY, name TEXT, description TEXT, type TEXT, created REAL,
    valid_from REAL, valid_until REAL, confidence REAL, superseded INTEGER, pinned INTEGER,
    archived INTEGER);
CREATE INDEX memories_archived ON memories(source) WHERE archived;
CREATE TABLE passages(
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER, episode INTEGER, position INTEGER,
    key TEXT, role TEXT, speaker TEXT, at REAL, text TEXT);
CREATE TABLE marks(passage INTEGER PRIMARY KEY, terms TEXT, groups TEXT);
CREATE INDEX passages_in_order ON passages(source, position);
CREATE INDEX passages_in_time ON passages(episode, at);
CREATE TABLE ties(tie TEXT, source INTEGER, PRIMARY KEY(tie, source)) WITHOUT ROWID;
CREATE INDEX ties_of_source ON ties(source);
CREATE VIRTUAL TABLE memory_words USING fts5(
    name, description, body, cues, tails, content='', {_TOKENS});
CREATE VIRTUAL TABLE episode_words USING fts5(text, context, tails, content='', {_TOKENS});
CREATE VIRTUAL TABLE memory_terms USING fts5vocab(memory_words, row);
CREATE VIRTUAL TABLE episode_terms USING fts5vocab(episode_words, row);
CREATE TABLE vectors(
    passage INTEGER PRIMARY KEY, episode INTEGER, stamp INTEGER, scale REAL, data BLOB);
CREATE INDEX vectors_in_time ON vectors(stamp);
CREATE TABLE pending(passage INTEGER PRIMARY KEY, episode INTEGER);
CREATE TABLE removed(stamp INTEGER, passage INTEGER, PRIMARY KEY(stamp, passage)) WITHOUT ROWID;
"""


class Shadow:
    """One connection to the index file. A broken, outdated or missing file is replaced silently."""

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.lock = ThreadLock()
        self._busy = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        _SHADOWS.add(self)

    def connection(self) -> sqlite3.Connection:
        """The open file; opened again when it was deleted or replaced meanwhile."""
        if self._connection is not None and self._inode == self._inode_now():
            return self._connection
        self.close()
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not is_broken(error):
                raise
            self.discard(error)
            self._connection = self._open()
        self._inode = self._inode_now()
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def abandon(self) -> None:
        """Leave the connection to the parent process after a fork; it must not be closed here."""
        if self._connection is not None:
            _OF_PARENT.append(self._connection)
        self._connection = None

    def discard(self, reason: object) -> None:
        """Remove the file; everything in it can be rebuilt."""
        log.warning("building the recall index %s again: %s", self.path, reason)
        self.close()
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, exclusive among writers; readers still see the previous state."""
        connection = self.connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            # A full disk may have ended the transaction already.
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _inode_now(self) -> int:
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _open(self) -> sqlite3.Connection:
        make_private(self.path.parent)
        connection = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
            self._ensure_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _ensure_schema(self, connection: sqlite3.Connection) -> None:
        if _format(connection) == FORMAT:
            return
        connection.execute("BEGIN IMMEDIATE")
        found = _format(connection)
        if found is None and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            write_meta(connection, "format", FORMAT)
            found = FORMAT
        connection.execute("COMMIT")
        if found != FORMAT:
            raise sqlite3.DatabaseError(f"its format is {found!r}, not {FORMAT!r}")


_SHADOWS: WeakSet[Shadow] = WeakSet()
_OF_PARENT: list[sqlite3.Connection] = []


def _abandon_all() -> None:
    for shadow in tuple(_SHADOWS):
        shadow.abandon()


os.register_at_fork(after_in_child=_abandon_all)


def is_broken(error: sqlite3.Error) -> bool:
    """Whether an error means that the file itself is unusable, not merely busy or full."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    return primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or (
        primary == sqlite3.SQLITE_ERROR and "no such" in str(error)
    )


def read_meta(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def write_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def next_stamp(connection: sqlite3.Connection) -> int:
    """A number that only grows, so that later changes have larger numbers."""
    stamp = int(read_meta(connection, "stamp") or 0) + 1
    write_meta(connection, "stamp", str(stamp))
    return stamp


def _format(connection: sqlite3.Connection) -> str | None:
    try:
        return read_meta(connection, "format")
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise
