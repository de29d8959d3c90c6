"""Advisory locks between processes; the kernel releases them if the process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.settings.folders import make_private


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for, hold and release the lock on `path`: for milliseconds. Readers never take it."""
    file = _opened(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@contextmanager
def sole(path: Path, otherwise: str) -> Iterator[None]:
    """Hold the lock for as long as one likes; when somebody has it, InputError says `otherwise`."""
    file = _opened(path)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(otherwise) from error
        yield
    finally:
        os.close(file)


def is_held(path: Path) -> bool:
    """Does a living process hold the lock? Nothing is made, and it is taken for an instant only."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _opened(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"cannot take the lock {path}: {error.strerror}") from error
