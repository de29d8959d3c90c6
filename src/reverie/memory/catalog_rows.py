"""The rows of the catalog: how it stores a memory, and the words a memory is found by."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import cast

from reverie.memory.format.manifest import (
    ManifestEntry,
    content_words,
)
from reverie.memory.format.taxonomy import parse_type

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
    db: sqlite3.Connection,
    name: str,
    signature: Signature,
    entry: ManifestEntry,
    change: int,
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
    db.execute(
        "UPDATE files SET state = 'gone', change = ?, title = '', description = '' WHERE name = ?",
        (change, _plain(name)),
    )


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
