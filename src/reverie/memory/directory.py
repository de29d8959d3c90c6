"""Open and replace files of a memory directory safely: never outside it, never partially.

`format.paths` checks names as text; this module checks them on disk. A path is resolved, must lie
inside the real folder, and is then opened component by component without following links, so that
a link that appears between check and use makes the open fail.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from reverie.errors import InputError, StorageError
from reverie.files.atomic import TEMPORARY, make_private, replace_in, sync
from reverie.memory.format.paths import Refused, check_name

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
