"""The SQLite file with the agents' mail: private, shared by processes, replaced when damaged.

    <home>/mail.sqlite      letters   one row a letter, with the lease of the reader that holds it
                            boxes     every recipient; a session that listens has a lease here

A damaged file is kept under its name, unchanged, and `mail-2.sqlite` replaces it with every row that
could still be read. SQLite deletes journals by name, so a file in use must not be renamed.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from reverie.errors import InputError, StorageError
from reverie.files import atomic
from reverie.files.locks import exclusive
from reverie.logs import logger
from reverie.subagents.letters import LARGEST_LETTER, Letter, Malformed, parse

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
# Non-blocking: opening a pipe must not wait for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | _NO_LINK
_SECRET_BYTES = 32


@contextmanager
def opened(folder: str | Path, within: int | None = None) -> Iterator[int]:
    file = os.open(folder, _FOLDER, dir_fd=within)
    try:
        yield file
    finally:
        os.close(file)


def write(name: str, data: bytes, folder: int) -> None:
    atomic.create(folder, name, data)


def content(name: str, folder: int, most: int) -> bytes | Malformed:
    """The bytes of a file that this user owns, is regular, private and not too large."""
    file = os.open(name, _READ, dir_fd=folder)
    try:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            return Malformed("it is not a plain file")
        if seen.st_uid != os.geteuid():
            return Malformed(f"it belongs to another user ({seen.st_uid})")
        if seen.st_mode & 0o022:
            return Malformed("others may write to it")
        if seen.st_size > most:
            return Malformed(f"it is too large ({seen.st_size:,} bytes)")
        with os.fdopen(os.dup(file), "rb") as plain:
            return plain.read(most)
    finally:
        os.close(file)


def secret(folder: Path, name: str) -> bytes:
    """A secret kept in the folder, created if needed; a temporary one where it cannot be kept."""
    fresh = secrets.token_bytes(_SECRET_BYTES)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opened(folder) as file:
            with suppress(FileExistsError):
                write(name, fresh, file)
            kept = content(name, file, _SECRET_BYTES)
    except OSError:
        return fresh
    return kept if isinstance(kept, bytes) and len(kept) == _SECRET_BYTES else fresh


log = logger(__name__)

BUSY_SECONDS = 10.0
_VERSION = 1
_LOCK = ".mail-lock"
# Retries when the file is replaced while in use; more would mean a failing disk.
_ATTEMPTS = 3

_LEASE = """\
token TEXT, pid INTEGER, host TEXT, started TEXT, since REAL,
    CHECK (token IS NULL OR (typeof(pid) = 'integer' AND pid > 0 AND typeof(host) = 'text'
        AND typeof(started) = 'text' AND typeof(since) = 'real'))"""
_SCHEMA = f"""\
CREATE TABLE letters (
    number INTEGER PRIMARY KEY,
    team TEXT NOT NULL,
    recipient TEXT NOT NULL,
    sender TEXT NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    refused TEXT,
    {_LEASE},
    UNIQUE (team, recipient, sender, id)
);
CREATE INDEX letters_by_box ON letters (team, recipient, number);
CREATE INDEX letters_held ON letters (team, recipient, token) WHERE token IS NOT NULL;
CREATE TABLE boxes (team TEXT, name TEXT, {_LEASE}, PRIMARY KEY (team, name)) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
"""
_OLD_FILE = re.compile(r"[0-9]{12}\.[^.]+\.[^.]+\.json")
_COLUMNS = {"letters": 12, "boxes": 7}

T = TypeVar("T")
Row = tuple[object, ...]


class _Damaged(sqlite3.DatabaseError):
    """The file is a database, but not one of ours."""


class MailDatabase:
    """One connection to a person's mail; `note` is called when a damaged file was replaced."""

    def __init__(self, folder: Path, note: Callable[[str], None] = log.warning) -> None:
        self.folder = folder
        self._note = note
        self._lock = threading.RLock()
        self._opened: sqlite3.Connection | None = None
        self._path = folder / "mail.sqlite"
        self._inode = 0
        # Boxes of this process, to be added to a file that replaces this one.
        self._boxes: dict[Row, Row] = {}

    @property
    def exists(self) -> bool:
        """Whether there is a file, or there was one with a mailbox of this process."""
        return bool(self._boxes) or self._newest().exists()

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._run(work)

    def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run `work` in one write transaction, and again if the file was replaced meanwhile.

        A durable write survives a power failure; any other survives the end of every process.
        """

        def transact(connection: sqlite3.Connection) -> T:
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                return work(connection)

        return self._run(transact)

    def keep_box(self, row: Row) -> None:
        self._boxes[row[:2]] = row

    def drop_box(self, row: Row) -> None:
        self._boxes.pop(row[:2], None)

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                with suppress(sqlite3.Error):
                    self._opened.close()
            self._opened = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file in use, with SQLite's files beside it."""
        return _with_journals(self._newest())

    def rewrite(self, clean: Callable[[bytes], tuple[bytes, int]]) -> tuple[int, int]:
        """Apply `clean` to every letter; how many changed, and of how many."""

        def change(connection: sqlite3.Connection) -> tuple[int, int]:
            rows = connection.execute("SELECT number, body FROM letters").fetchall()
            made = [(number, clean(body)) for number, body in rows if isinstance(body, bytes)]
            changed = [(body, number) for number, (body, count) in made if count]
            connection.executemany("UPDATE letters SET body = ? WHERE number = ?", changed)
            return len(changed), len(rows)

        counts = self.write(change)
        self.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        return counts

    def damaged(self) -> tuple[Path, ...]:
        """Files that were replaced, oldest first."""
        return tuple(_files(self.folder)[:-1])

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, self._explained():
            for _ in range(_ATTEMPTS):
                try:
                    done = work(self._connection())
                except sqlite3.DatabaseError as error:
                    if not _is_damaged(error):
                        raise
                    self._replace(error)
                    continue
                if self._path == self._newest():
                    return done
        raise StorageError(f"cannot use {self._path}: it is damaged again and again")

    def _newest(self) -> Path:
        return _files(self.folder)[-1]

    def _connection(self) -> sqlite3.Connection:
        newest = self._newest()
        if self._opened is not None and (newest, _inode(newest)) == (self._path, self._inode):
            return self._opened
        self.close()
        self._path = newest
        if not newest.exists():
            self._make(newest)
        self._opened = _open(newest)
        self._inode = _inode(newest)
        if self._boxes:
            self._opened.executemany(
                "INSERT OR IGNORE INTO boxes VALUES (?, ?, ?, ?, ?, ?, ?)", self._boxes.values()
            )
        return self._opened

    def _make(self, path: Path, rows_of: Path | None = None) -> int | None:
        """Create a file under a temporary name, then rename it; its letters, None if it exists."""
        with exclusive(self.folder / _LOCK):
            if path.exists():
                return None
            draft = path.with_name(f".{path.name}")
            # SQLite would replay a leftover journal into the new file.
            for leftover in (*_with_journals(draft), *_with_journals(path)):
                leftover.unlink(missing_ok=True)
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.execute("PRAGMA auto_vacuum=FULL")
                connection.executescript(_SCHEMA)
                letters = 0 if rows_of is None else _copy(rows_of, connection)
                connection.execute("PRAGMA journal_mode=WAL")
            with opened(self.folder) as folder:
                draft.rename(path)
                os.fsync(folder)
            return letters

    def _replace(self, error: sqlite3.DatabaseError) -> None:
        damaged = self._path
        self.close()
        if damaged != self._newest():
            return
        following = self.folder / _name(_number(damaged.name) + 1)
        letters = self._make(following, damaged)
        if letters is not None:
            self._note(
                f"{damaged} is damaged ({error}); {following.name} takes over with the "
                f"{letters:,} letters that could be read"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = {
                sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
                sqlite3.SQLITE_BUSY: "another process is using it; try again",
            }.get(_code(error) or 0, str(error))
            raise StorageError(f"cannot use {self._path}: {advice}") from error
        except OSError as error:
            raise StorageError(f"cannot use {self._path}: {error.strerror or error}") from error


def _files(folder: Path) -> list[Path]:
    """The files, oldest first; the first name when there is none yet."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        numbers = sorted(filter(None, (_number(entry.name) for entry in entries)))
        return [folder / _name(number) for number in numbers or (1,)]
    return [folder / _name(1)]


def _name(number: int) -> str:
    return "mail.sqlite" if number == 1 else f"mail-{number}.sqlite"


def _number(name: str) -> int:
    """The number in a file's name; 0 for any other file."""
    found = re.fullmatch(r"mail(?:-([1-9][0-9]*))?\.sqlite", name)
    return 0 if found is None else int(found[1] or 1)


def _with_journals(path: Path) -> tuple[Path, ...]:
    return tuple(Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal"))


def _open(path: Path) -> sqlite3.Connection:
    _require_private(path)
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise StorageError(f"{path} was written by a newer version of Reverie: update this one")
        if version != _VERSION:
            raise _Damaged("it is not a database of letters")
        # Overwrite acknowledged letters on disk.
        connection.execute("PRAGMA secure_delete=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _copy(damaged: Path, new: sqlite3.Connection) -> int:
    """Copy every row that can still be read, leases included; the number of letters."""
    copied = dict.fromkeys(_COLUMNS, 0)
    new.execute("BEGIN")
    for table, columns in _COLUMNS.items():
        places = ", ".join("?" * columns)
        with suppress(sqlite3.Error), closing(sqlite3.connect(damaged)) as old:
            for row in old.execute(f"SELECT * FROM {table}"):
                new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)
                copied[table] += 1
    new.execute("COMMIT")
    return copied["letters"]


def _require_private(path: Path) -> None:
    seen = path.lstat()
    private = stat.S_ISREG(seen.st_mode) and not stat.S_IMODE(seen.st_mode) & 0o077
    if not private or seen.st_uid != os.geteuid():
        raise InputError(f"{path} is not a file of yours alone: own it and give it mode 0600")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _is_damaged(error: sqlite3.Error) -> bool:
    missing = _code(error) == sqlite3.SQLITE_ERROR and "no such" in str(error)
    damaged = _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
    return damaged or missing or isinstance(error, _Damaged)


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary code; errors of Python's own have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


# --- mailbox files of earlier versions ---


def old_letters(team: Path) -> dict[Path, Letter | Malformed]:
    """The letters in unread and claimed files, in order."""
    found = (*team.glob("*/inbox/unread/*"), *team.glob("*/inbox/claimed/*/*"))
    letters = (path for path in found if _OLD_FILE.fullmatch(path.name))
    return {path: _old_letter(path) for path in sorted(letters, key=lambda path: path.name)}


def _old_letter(path: Path) -> Letter | Malformed:
    try:
        with opened(path.parent) as folder:
            data = content(path.name, folder, LARGEST_LETTER)
    except OSError as error:
        return Malformed(str(error))
    return data if isinstance(data, Malformed) else parse(data)
