"""An advisory lock between processes, held for milliseconds. Readers never take it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reverie.errors import StorageError


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for, hold and release the lock on `path`; the kernel releases it if the process dies."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"cannot take the lock {path}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
