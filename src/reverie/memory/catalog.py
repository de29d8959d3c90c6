"""A SQLite catalog of a large memory directory, so that a call need not look at every memory.

It is derived from the files and may be deleted at any time. It learns of changes in four ways:

- Reverie's own writer records what it wrote, under the folder's lock;
- if a folder's times differ from the recorded ones, another program changed it: its names and inodes
  are compared. That finds files that were made, removed, renamed, or saved by renaming over them;
- each check also compares the times of some files, in turn. That finds files that were changed in
  place, after at most (number of files ÷ SWEEP) checks;
- a full scan compares every file at once: `list`, `doctor`, `index`, dreams, and the daemon when it
  has nothing else to do.

Nothing relies on it for the content of a file: what is shown, compared or replaced is read from the
file itself. If a change is not noticed yet, the memory is only not found by its new words.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from reverie.files.atomic import make_private
from reverie.logs import logger
from reverie.memory.format.manifest import (
    MOST_CANDIDATES,
    Changes,
    ManifestEntry,
    content_words,
    rarity,
)
from reverie.memory.format.taxonomy import parse_type
from reverie.text.words import VERSION

log = logger(__name__)

Signature = tuple[int, int, int, int]
SELECT = (
    "SELECT name, mtime, ctime, size, inode, type, title, description, flags, problem, "
    "superseded_by, valid_from, valid_until FROM files"
)
_PINNED = 1
_SUPERSEDED = 2
_ARCHIVED = 4


def entry_of(row: tuple[object, ...]) -> ManifestEntry:
    flags = cast("int", row[8] or 0)
    name = str(row[0])
    return ManifestEntry(
        file=name,
        type=parse_type(str(row[5])) if row[5] else None,
        mtime=datetime.fromtimestamp(cast("int", row[1]) / 1e9, UTC),
        description=_text(row[7]),
        name=_text(row[6]) or name,
        pinned=bool(flags & _PINNED),
        superseded=bool(flags & _SUPERSEDED),
        archived=bool(flags & _ARCHIVED),
        problem=None if row[9] is None else str(row[9]),
        superseded_by=_text(row[10]),
        valid_from=cast("str | None", row[11]),
        valid_until=cast("str | None", row[12]),
    )


def words_of(row: tuple[object, ...]) -> set[str]:
    return set(_content(str(row[0]), _text(row[6]), _text(row[7])))


def _content(name: str, title: str, description: str) -> tuple[str, ...]:
    """The words a memory is found by: title and description, or else the file name."""
    text = f"{title} {description}".strip()
    return content_words(text or name.removesuffix(".md").replace("_", " ").replace("/", " "))


def put(
    db: sqlite3.Connection, name: str, signature: Signature, entry: ManifestEntry, change: int
) -> None:
    """Record a file that was read."""
    _forget_words(db, name)
    mtime, ctime, size, inode = signature
    plain = _plain(name)
    title = "" if entry.name == entry.file else _plain(entry.name)
    flags = _PINNED * entry.pinned + _SUPERSEDED * entry.superseded + _ARCHIVED * entry.archived
    row = {
        "name": plain, "folder": plain.rpartition("/")[0], "folded": plain.casefold(),
        "inode": inode, "mtime": mtime, "ctime": ctime, "size": size, "change": change,
        "state": "read", "type": entry.type, "title": title,
        "description": _plain(entry.description), "flags": flags, "problem": entry.problem,
        "superseded_by": _plain(entry.superseded_by), "valid_from": entry.valid_from,
        "valid_until": entry.valid_until,
    }  # fmt: skip
    columns = ", ".join(row)
    updates = ", ".join(f"{column} = excluded.{column}" for column in row if column != "name")
    id_ = db.execute(
        f"INSERT INTO files({columns}) VALUES ({', '.join('?' * len(row))}) "
        f"ON CONFLICT(name) DO UPDATE SET {updates} RETURNING id",
        tuple(row.values()),
    ).fetchone()[0]
    text = " ".join(_content(plain, title, entry.description))
    db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (id_, text))


def drop(db: sqlite3.Connection, name: str, change: int) -> None:
    """Record a file that was removed; its name stays, so that `changes` reports it."""
    _forget_words(db, name)
    sql = "UPDATE files SET state = 'gone', change = ?, title = '', description = '' WHERE name = ?"
    db.execute(sql, (change, _plain(name)))


def _forget_words(db: sqlite3.Connection, name: str) -> None:
    row = db.execute(
        "SELECT id, title, description FROM files WHERE name = ? AND state != 'gone'",
        (_plain(name),),
    ).fetchone()
    if row is not None:
        text = " ".join(_content(_plain(name), _text(row[1]), _text(row[2])))
        db.execute("INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", (row[0], text))


def _plain(text: str) -> str:
    """Text that SQLite can store, without lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")


def _text(value: object) -> str:
    return "" if value is None else str(value)


# Up to this many memories, each call scans all of them, and there is no catalog.
LARGE = 2_000
# How many files' times one check compares, and how many files it reads at most.
SWEEP = 256
READ_AT_ONCE = 256
BUSY_SECONDS = 2.0
# Rows one search may go through.
_BUDGET = 5_000
_CLOSER = 200

_FORMAT = f"2/{VERSION}"
_TOKENS = "tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* M* Co'\""
_SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files(
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, folder TEXT, folded TEXT,
    inode INTEGER, mtime INTEGER, ctime INTEGER, size INTEGER, change INTEGER, state TEXT,
    type TEXT, title TEXT, description TEXT, flags INTEGER, problem TEXT,
    superseded_by TEXT, valid_from TEXT, valid_until TEXT);
CREATE INDEX files_in_order ON files(change);
CREATE INDEX files_folded ON files(folded);
CREATE INDEX files_by_age ON files(mtime) WHERE state = 'read';
CREATE INDEX files_in_folder ON files(folder);
CREATE TABLE folders(path TEXT PRIMARY KEY, mtime INTEGER, ctime INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content='', {_TOKENS});
CREATE VIRTUAL TABLE terms USING fts5vocab(words, row);
"""


class Catalog:
    """The catalog of one memory directory, in a SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._opened: sqlite3.Connection | None = None
        self._inode = 0

    @property
    def exists(self) -> bool:
        return self.path.is_file()

    # --- queries ---

    def entries(self, files: Sequence[str]) -> list[ManifestEntry]:
        """The entries of those of these files that were read."""
        with self._reading() as db:
            sql = f"{SELECT} WHERE name = ? AND state = 'read'"
            found = (db.execute(sql, (file,)).fetchone() for file in files)
            return [entry_of(row) for row in found if row is not None]

    def newest(self, most: int) -> list[ManifestEntry]:
        with self._reading() as db:
            sql = f"{SELECT} WHERE state = 'read' ORDER BY mtime DESC LIMIT ?"
            rows = db.execute(sql, (most,)).fetchall()
        return [entry_of(row) for row in rows]

    def seen(self) -> dict[str, tuple[Signature, ManifestEntry]]:
        """All entries with their signatures, for a scanner."""
        with self._reading() as db:
            rows = db.execute(f"{SELECT} WHERE state = 'read'").fetchall()
        return {row[0]: ((row[1], row[2], row[3], row[4]), entry_of(row)) for row in rows}

    def has(self, file: str) -> bool:
        """Whether there is a file of this name, ignoring case."""
        with self._reading() as db:
            sql = "SELECT 1 FROM files WHERE folded = ? AND state != 'gone'"
            return db.execute(sql, (file.casefold(),)).fetchone() is not None

    def alike(self, text: str) -> list[ManifestEntry]:
        """Memories whose title, description or file name share the rarest words of a text."""
        wanted = content_words(text)
        with self._reading() as db:
            count = "SELECT doc FROM terms WHERE term = ?"
            rows = {word: (db.execute(count, (word,)).fetchone() or (0,))[0] for word in wanted}
            words = sorted((word for word in wanted if rows[word]), key=lambda word: rows[word])
            ids = _matching(db, words, rows)
            listed = ", ".join(map(str, ids))
            found = db.execute(f"{SELECT} WHERE id IN ({listed}) AND state != 'gone'").fetchall()
        total = max(rows.values(), default=1)
        shared = {
            row[0]: sum(rarity(rows[word], total) for word in set(words) & words_of(row))
            for row in found
        }
        best = sorted(found, key=lambda row: (-shared[row[0]], row[0]))[:MOST_CANDIDATES]
        return [entry_of(row) for row in best]

    def changes(self, since: str, most: int) -> Changes:
        """Changes after the position of an earlier answer; all files if `since` is not one."""
        with self._reading() as db:
            generation = _meta(db, "generation")
            known, _, number = since.partition("/")
            afresh = known != generation or not number.isdigit()
            after = 0 if afresh else int(number)
            rows = db.execute(
                "SELECT name, mtime, size, ctime, change, state FROM files "
                "WHERE change > ? ORDER BY change LIMIT ?",
                (after, most + 1),
            ).fetchall()
        more, rows = len(rows) > most, rows[:most]
        return Changes(
            f"{generation}/{rows[-1][4] if rows else after}",
            {row[0]: (row[1], row[2], row[3]) for row in rows if row[5] == "read"},
            tuple(row[0] for row in rows if row[5] == "gone"),
            more,
            afresh,
        )

    # --- reading and updating the records ---

    def folders(self) -> dict[str, tuple[int, int]]:
        with self._reading() as db:
            rows = db.execute("SELECT path, mtime, ctime FROM folders").fetchall()
        return {path: (mtime, ctime) for path, mtime, ctime in rows}

    def names_in(self, folder: str) -> dict[str, int]:
        """The known files of one folder, with their inodes."""
        with self._reading() as db:
            sql = "SELECT name, inode FROM files WHERE folder = ? AND state != 'gone'"
            return dict(db.execute(sql, (folder,)).fetchall())

    def next_to_sweep(self, most: int = SWEEP) -> dict[str, Signature]:
        """The next files whose times to compare; each call continues where the last one ended."""
        with self._writing() as db:
            at = int(_meta(db, "swept") or 0)
            sql = (
                "SELECT id, name, mtime, ctime, size, inode FROM files "
                "WHERE id > ? AND state = 'read' ORDER BY id LIMIT ?"
            )
            rows = db.execute(sql, (at, most)).fetchall()
            if len(rows) < most:
                rows += db.execute(sql, (0, most - len(rows))).fetchall()
            _set_meta(db, "swept", str(rows[-1][0] if rows else 0))
        return {row[1]: (row[2], row[3], row[4], row[5]) for row in rows}

    def note(
        self,
        read: Mapping[str, tuple[Signature, ManifestEntry]] = {},
        gone: Iterable[str] = (),
        folders: Mapping[str, tuple[int, int] | None] = {},
    ) -> None:
        """Record files that were read or removed, and the times of folders."""
        with self._writing() as db:
            change = int(_meta(db, "change") or 0)
            for name, (signature, entry) in read.items():
                change += 1
                put(db, name, signature, entry, change)
            for name in gone:
                change += 1
                drop(db, name, change)
            _set_meta(db, "change", str(change))
            for path, times in folders.items():
                if times is None:
                    db.execute("DELETE FROM folders WHERE path = ?", (path,))
                else:
                    db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", (path, *times))

    def delete(self) -> None:
        """Delete the catalog; it is rebuilt from the memories."""
        with self._lock:
            self.close()
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    # --- the file ---

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                with suppress(sqlite3.Error):
                    self._opened.close()
            self._opened = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._connection()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db

    def _connection(self) -> sqlite3.Connection:
        inode = self._inode_now()
        if self._opened is None or inode != self._inode or not inode:
            self.close()
            self._opened = self._open()
            self._inode = self._inode_now()
        return self._opened

    def _inode_now(self) -> int:
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _open(self) -> sqlite3.Connection:
        make_private(self.path.parent)
        for again in (True, False):
            db = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                for setting in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
                    db.execute(f"PRAGMA {setting}")
                _ensure_schema(db)
                return db
            except sqlite3.DatabaseError as error:
                db.close()
                busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
                if busy or not again:
                    raise
                log.warning("rebuilding the catalog %s: %s", self.path, error)
                self.delete()
        raise AssertionError("not reached")


def _matching(db: sqlite3.Connection, words: Sequence[str], rows: Mapping[str, int]) -> list[int]:
    """Files with a rare word; if all words are common, files with several of them."""
    rare: list[str] = []
    room = _BUDGET
    for word in words:
        room -= rows[word]
        if room < 0:
            break
        rare.append(word)
    either = " OR ".join(f'"{word}"' for word in rare)
    found = _matched(db, either, "rank") if rare else []
    for several in (4, 3, 2):
        if len(found) < MOST_CANDIDATES and len(words) >= several:
            found += _matched(db, " AND ".join(f'"{w}"' for w in words[:several]), "rowid DESC")
    return list(dict.fromkeys(found))


def _matched(db: sqlite3.Connection, expression: str, order: str) -> list[int]:
    sql = f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY {order} LIMIT ?"
    return [row[0] for row in db.execute(sql, (expression, _CLOSER)).fetchall()]


def _meta(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def _set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _ensure_schema(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.OperationalError):
        if _meta(db, "format") == _FORMAT:
            return
    db.execute("BEGIN IMMEDIATE")
    exists = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
    if exists is None:
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        _set_meta(db, "format", _FORMAT)
        # Tells a rebuilt catalog from its predecessor.
        _set_meta(db, "generation", os.urandom(8).hex())
    found = _meta(db, "format")
    db.execute("COMMIT")
    if found != _FORMAT:
        raise sqlite3.DatabaseError(f"its format is {found!r}, not {_FORMAT!r}")
