"""Plain files, read whole and replaced whole: a crash or a rival leaves the old file or the new."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.file_reads import FileRead
from reverie.errors import InputError, StorageError

LARGEST = 64_000_000

_TEMPORARY = ".reverie-tmp-"


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A file's content, and the state it was in."""

    data: bytes
    status: os.stat_result

    @property
    def read(self) -> FileRead:
        return FileRead.of(self.data, self.status.st_mtime_ns)


def load(path: Path) -> OnDisk | None:
    """A plain file; None when there is none. Folders, pipes and giants are refused."""
    with _explained("read", path):
        try:
            # A pipe must not make us wait for somebody to write into it.
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(opened)
            _check_readable(path, status)
            with os.fdopen(opened, "rb", closefd=False) as file:
                return OnDisk(file.read(LARGEST), status)
        finally:
            os.close(opened)


def save(path: Path, data: bytes, before: OnDisk | None) -> FileRead:
    """Replace the file that was seen as `before`, or create one where there was none."""
    with _explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f"{_TEMPORARY}{os.urandom(6).hex()}"
        try:
            _write_new(temporary, data, before)
            with _sole(path.parent):
                _check_unchanged(path, before)
                _put(temporary, path, fresh=before is None)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return FileRead.of(data, path.stat().st_mtime_ns)


@contextmanager
def _sole(folder: Path) -> Iterator[None]:
    """One writer of ours at a time in a folder, between its last look and its change."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Where there are no locks, the last look must do.
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _put(temporary: Path, path: Path, *, fresh: bool) -> None:
    """Into its place; a new file never over one that somebody created meanwhile."""
    if fresh:
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise InputError(f"{path} was created meanwhile; read it, then repeat") from error
        except OSError:
            # No hard links here.
            temporary.replace(path)
        else:
            temporary.unlink()
        return
    temporary.replace(path)


def _write_new(path: Path, data: bytes, before: OnDisk | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # A new file gets what the person's umask allows, an old one keeps its owner and its mode.
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        if before is not None:
            with suppress(OSError):
                os.fchown(file.fileno(), before.status.st_uid, before.status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(before.status.st_mode))
        file.flush()
        os.fsync(file.fileno())


def _check_unchanged(path: Path, before: OnDisk | None) -> None:
    """At the last moment: whoever wrote meanwhile must not be overwritten."""
    try:
        now = path.stat()
    except FileNotFoundError:
        now = None
    if (now and _identity(now)) != (before and _identity(before.status)):
        raise InputError(f"{path} changed while it was being written; read it again, then repeat")
    if now is not None and not os.access(path, os.W_OK):
        raise StorageError(f"{path} is write-protected; nothing was written")


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _check_readable(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is a device or a pipe, not a plain file")
    if status.st_size > LARGEST:
        raise InputError(
            f"{path} is too large to read whole ({status.st_size:,} bytes, the most is "
            f"{LARGEST:,}); use Grep, or a shell command such as sed -n '1,200p'"
        )


@contextmanager
def _explained(verb: str, path: Path) -> Iterator[None]:
    """Errors of the disk, in words."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {verb} {path}: {error.strerror or error}") from error
