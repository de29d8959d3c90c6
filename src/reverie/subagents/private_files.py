"""Private files and folders: links are not followed, and files that others may write are refused."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reverie.files import atomic
from reverie.subagents.letters import Malformed

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
