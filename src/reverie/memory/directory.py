"""The files of a memory directory: opened and replaced safely, never outside it, never partially; and copied for a dream to work in.

`format.paths` checks names as text; this module checks them on disk. A path is resolved, must lie
inside the real folder, and is then opened component by component without following links, so that
a link that appears between check and use makes the open fail.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Protocol

from reverie.errors import InputError, StorageError
from reverie.files.atomic import TEMPORARY, make_private, replace_in, sync
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.topic import LARGEST_FILE

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
# Without O_NONBLOCK, opening a pipe would wait for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | _NO_LINK

# Every scan checks the same names, and the result depends only on the text.
checked_name = lru_cache(maxsize=16_384)(check_name)


class Directory:
    """One memory directory on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str, most: int | None = None) -> bytes | None:
        """A file's bytes (the first `most` of them), or None if it does not exist."""
        with _explained("read", self.root / name):
            opened = self.open(name)
            if opened is None:
                return None
            with opened:
                return opened.read() if most is None else opened.read(most)

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading; it stays readable if it is replaced meanwhile."""
        parts = self._inside(name)
        with _explained("read", self.root / name):
            try:
                with self._folder(parts[:-1]) as folder:
                    file = os.open(parts[-1], _READ, dir_fd=folder)
            except FileNotFoundError:
                return None
            if not stat.S_ISREG(os.fstat(file).st_mode):
                os.close(file)
                raise InputError(f"{self.root / name} is not a plain file")
            return os.fdopen(file, "rb")

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file atomically and durably: a crash leaves the old file or the new one."""
        parts = self._inside(name)
        with _explained("write", self.root / name), self._folder(parts[:-1], make=True) as folder:
            replace_in(folder, parts[-1], data)

    def remove(self, name: str) -> None:
        """Remove a file durably; do nothing if it does not exist."""
        parts = self._inside(name)
        with (
            _explained("remove", self.root / name),
            suppress(FileNotFoundError),
            self._folder(parts[:-1]) as folder,
        ):
            os.unlink(parts[-1], dir_fd=folder)
            sync(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the writers' lock, which is on the folder itself: it needs no file."""
        with _explained("lock", self.root):
            make_private(self.root)
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
            except BaseException:
                os.close(folder)
                raise
        try:
            yield
        finally:
            os.close(folder)

    def sweep(self, names: Iterable[str]) -> None:
        """Remove temporary files of dead writers beside these files; only under the lock."""
        for parts in {self._inside(name)[:-1] for name in names}:
            with suppress(FileNotFoundError), self._folder(parts) as folder:
                _remove_temporary(folder)

    def _inside(self, name: str) -> tuple[str, ...]:
        """The path components of the real file; InputError if it is outside."""
        verdict = checked_name(name)
        if isinstance(verdict, Refused):
            raise InputError(verdict.reason)
        path = self.root / name
        if not _has_link(self.root, verdict.path.parts):
            return verdict.path.parts
        real = Path(os.path.realpath(path))
        base = Path(os.path.realpath(self.root))
        if not real.is_relative_to(base) or real == base:
            raise InputError(
                f"file name {name!r} is refused (symlink): it leads out of {self.root}"
            )
        if not real.exists():
            raise InputError(f"file name {name!r} is refused (symlink): it leads nowhere")
        return real.relative_to(base).parts

    @contextmanager
    def _folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """Open the folder at `parts` without following a link."""
        if make:
            make_private(self.root)
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if make:
                    _make_folder(part, folder)
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)


def _remove_temporary(folder: int) -> None:
    for name in os.listdir(folder):
        if name.startswith(TEMPORARY):
            os.unlink(name, dir_fd=folder)


def _make_folder(name: str, folder: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
        # Flush the parent, too, or a crash could lose the new folder with its files.
        sync(folder)


def _has_link(root: Path, parts: tuple[str, ...]) -> bool:
    path = str(root)
    for part in parts:
        path = f"{path}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(path).st_mode):
                return True
        except OSError:
            return False
    return False


@contextmanager
def _explained(verb: str, path: Path) -> Iterator[None]:
    """Turn disk errors into errors that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK}:
            raise InputError(
                f"{path} is refused (symlink): it changed while it was opened"
            ) from error
        advice = {
            errno.ENOSPC: "the disk is full; nothing was lost, free some space and try again",
            errno.EROFS: "the disk is read-only; nothing was lost",
            errno.EACCES: "give yourself access to it; nothing was lost",
        }.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"cannot {verb} {path}: {advice}") from error


MEMORY = "memory"
_LARGEST_INDEX = 1024 * 1024
_READ_COPY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A dream's result: the files that can be memories, and refused files with reasons."""

    files: Mapping[str, bytes]
    refused: tuple[tuple[str, str], ...] = ()


class Unread(Protocol):
    """A file that is no memory, or cannot be read."""

    @property
    def file(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Readable(Protocol):
    """The store that is copied."""

    def listing(self) -> Mapping[str, tuple[int, int, int]]: ...

    def current(self, file: str) -> bytes | None: ...

    @property
    def skipped(self) -> Sequence[Unread]: ...


class Scratch:
    """The scratch folder of one dream. Files written outside its memory are reported and ignored."""

    def __init__(self, folder: Path, store: Readable) -> None:
        self._folder = folder
        self._store = store
        self.memory = folder / MEMORY
        # The files when the dream began.
        self.opened: Mapping[str, bytes] = {}

    def snapshot(self) -> dict[str, bytes]:
        """Every memory of the store and its index; StorageError if one is unreadable.

        An unreadable memory is not a deleted one: a dream that does not see it would remove it from
        the index.
        """
        found = {}
        names = (*self._store.listing(), INDEX_FILE)
        self._require_all_read()
        for name in names:
            # A file that was removed, or replaced by a link that leads out, is no longer a memory.
            with suppress(InputError):
                data = self._store.current(name)
                if data is not None:
                    found[name] = data
        return found

    def _require_all_read(self) -> None:
        index = (self._store.current(INDEX_FILE) or b"").decode("utf-8", "replace")
        for skipped in self._store.skipped:
            # The index has no pointer to files that were never memories (odd names, links).
            if not skipped.file.endswith(".md") or f"({skipped.file})" in index:
                raise StorageError(f"cannot read {skipped.file}: {skipped.reason}; try again later")

    def open(self, files: Mapping[str, bytes]) -> Path:
        """Write the copy, after removing those of dead dreams. Only under the dream's lock."""
        self.opened = dict(files)
        try:
            shutil.rmtree(self._folder.parent, ignore_errors=True)
            self.memory.mkdir(parents=True, mode=0o700)
            for name, data in files.items():
                self.write(name, data)
        except OSError as error:
            raise StorageError(f"cannot prepare {self.memory}: {error.strerror}") from error
        return self.memory

    def write(self, name: str, data: bytes | None) -> None:
        path = self.memory / name
        if data is None:
            path.unlink(missing_ok=True)
            return
        if "/" in name:
            make_private(path.parent)
        path.write_bytes(data)

    def read(self) -> ReadBack:
        files: dict[str, bytes] = {}
        refused: list[tuple[str, str]] = [*self._outside()]
        for path in _walk(self.memory):
            name = path.relative_to(self.memory).as_posix()
            found = _content(path, name)
            if isinstance(found, str):
                refused.append((name, found))
            else:
                files[name] = found
        return ReadBack(files, tuple(sorted(refused)))

    def _outside(self) -> Iterator[tuple[str, str]]:
        with suppress(OSError):
            for item in sorted(self._folder.iterdir()):
                if item != self.memory:
                    yield f"../{item.name}", "it was written outside the memory directory"

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _walk(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, in order; links are never followed."""
    try:
        items = sorted(os.scandir(folder), key=lambda item: item.name)
    except OSError:
        return
    for item in items:
        if item.is_dir(follow_symlinks=False):
            yield from _walk(Path(item.path))
        else:
            yield Path(item.path)


def _content(path: Path, name: str) -> bytes | str:
    """A file's bytes, or the reason why it cannot be a memory."""
    verdict = check_name(name)
    if isinstance(verdict, Refused):
        return verdict.reason
    if not name.endswith(".md") or path.name.startswith("."):
        return "it is not a memory: names of memories end with .md"
    try:
        file = os.open(path, _READ_COPY)
    except OSError:
        return "it is a link, or cannot be opened"
    with os.fdopen(file, "rb") as opened:
        return _problem(os.fstat(file), name) or opened.read()


def _problem(seen: os.stat_result, name: str) -> str:
    if not stat.S_ISREG(seen.st_mode):
        return "it is not a plain file"
    if seen.st_nlink > 1:
        return "it is a link to another file"
    largest = _LARGEST_INDEX if name == INDEX_FILE else LARGEST_FILE
    if seen.st_size > largest:
        return f"it has {seen.st_size:,} bytes; at most {largest:,} are kept"
    return ""
