"""Small JSON files: written atomically, and read as None when they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reverie.core.codec import dump
from reverie.errors import StorageError
from reverie.files import atomic
from reverie.files.folders import make_private


def read_json(path: Path) -> Any:
    """The parsed content; None if the file is missing or not valid JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically, with mode 0600."""
    try:
        make_private(path.parent)
        atomic.replace(path, dump(value) + b"\n", mode=0o600)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
