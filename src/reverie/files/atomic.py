"""Private files and folders: replaced atomically and durably, without following symbolic links.

New content is written beside the file under a name no other writer has, flushed, and renamed over
it; then the folder is flushed. A crash leaves the old file or the new one. A link at the file's
name is replaced, not followed; callers that mean its target resolve it first.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reverie.errors import StorageError

# Prefix of temporary files; one whose writer has died can be deleted.
TEMPORARY = ".reverie-tmp-"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def replace(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content. It keeps its mode and owner; a new file gets mode 0600."""
    with opened(path.parent) as folder:
        replace_in(folder, path.name, data, mode=mode)


def replace_in(folder: int, name: str, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file in an open folder, so that a change of the folder's path has no effect."""
    like = _status(name, folder) if mode is None else None
    with draft(folder, data, mode=mode or 0o600, like=like) as temporary:
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    sync(folder)


def create(folder: int, name: str, data: bytes) -> None:
    """Create a file and flush it; FileExistsError if it already exists."""
    file = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        _write(file, data)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(file)


@contextmanager
def draft(
    folder: int,
    data: bytes,
    *,
    name: str | None = None,
    mode: int = 0o600,
    like: os.stat_result | None = None,
    mtime: int | None = None,
) -> Iterator[str]:
    """Yield the name of a flushed temporary file to link or rename; delete it if it is left over.

    `mode` is subject to the umask; `like` gives the owner and mode of an existing file instead.
    """
    temporary = name or TEMPORARY + os.urandom(6).hex()
    file = os.open(temporary, _NEW, mode, dir_fd=folder)
    try:
        try:
            if like is not None:
                with suppress(OSError):
                    os.fchown(file, like.st_uid, like.st_gid)
                os.fchmod(file, stat.S_IMODE(like.st_mode))
            _write(file, data, mtime)
        finally:
            os.close(file)
        yield temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """Open a folder for calls that take `dir_fd`."""
    file = os.open(folder, _FOLDER)
    try:
        yield file
    finally:
        os.close(file)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(file)
    finally:
        os.close(file)


def sync(file: int) -> None:
    """Flush an open file or folder to the disk itself; macOS needs more than fsync for that."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with suppress(OSError):  # Not every file system has it.
            fcntl.fcntl(file, full)
            return
    os.fsync(file)


def _write(file: int, data: bytes, mtime: int | None = None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    if mtime is not None:
        os.utime(file, ns=(mtime, mtime))
    sync(file)


def _status(name: str, folder: int) -> os.stat_result | None:
    """Status of the regular file of this name, or None."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


_READABLE = 60


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, each with mode 0700."""
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def project_folder(home: Path, root: Path) -> Path:
    """Where Reverie keeps a project's data: under the home, never inside the project."""
    return home / "projects" / slug(root)


def slug(root: Path) -> str:
    """A readable folder name that is unique to this root."""
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", str(root)).strip("-")[-_READABLE:]
    digest = hashlib.blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{readable}-{digest.hexdigest()}".lstrip("-.")


def owned_by_us(status: os.stat_result, user: int | None = None) -> bool:
    """Whether the file belongs to this user or to root; other users' files are not trusted."""
    return status.st_uid in (0, os.geteuid() if user is None else user)


def read_json(path: Path) -> Any:
    """The parsed content; None if the file is missing or not valid JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically, with mode 0600."""
    # Settings are read through this module at each start and write nothing.
    from reverie.core.messages import dump  # noqa: PLC0415

    try:
        make_private(path.parent)
        replace(path, dump(value) + b"\n", mode=0o600)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
