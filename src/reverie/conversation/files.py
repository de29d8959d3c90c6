"""Private files of a session: one text file, and a folder of stored tool results."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from reverie.core.request import wire_text
from reverie.errors import StorageError
from reverie.files import atomic
from reverie.files.folders import make_private
from reverie.memory.directory import Directory
from reverie.ports import Scrubber


class TextFile:
    """A text file that is replaced atomically, without secrets if there is a scrubber."""

    def __init__(self, path: Path, scrubber: Scrubber | None = None) -> None:
        self._path = path
        self._scrubber = scrubber
        self._folder = Directory(path.parent)

    @property
    def path(self) -> str:
        return str(self._path)

    def read(self) -> str | None:
        """Its text; None when there is no file."""
        data = self._folder.read(self._path.name)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, text: str) -> None:
        if self._scrubber is not None:
            text = self._scrubber.scrub(text).text
        self._folder.replace(self._path.name, wire_text(text).encode())


_LONGEST_STEM = 100
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")
_ENDING = re.compile(r"\.[a-z]{1,8}\Z")


class FolderBlobs:
    """Texts under untrusted names. A stored text is never overwritten, and holds no secrets."""

    def __init__(self, folder: Path, scrubber: Scrubber | None = None) -> None:
        self.folder = folder
        self._scrubber = scrubber

    def put(self, name: str, text: str) -> str:
        """Store a text and return its path; another text under the same name gets a new name."""
        if self._scrubber is not None:
            text = self._scrubber.scrub(text).text
        data = wire_text(text).encode()
        path = self.folder / safe_name(name)
        try:
            make_private(self.folder)
            if _taken(path, data):
                path = path.with_stem(f"{path.stem}-{_digest(data)}")
            if not _holds(path, data):
                atomic.replace(path, data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"cannot keep a tool result in {path}: {reason}; make room or give access"
            ) from error
        return str(path)


def safe_name(name: str) -> str:
    """A safe file name for an untrusted name; different names stay different."""
    ending = _ENDING.search(name)
    stem = name[: ending.start()] if ending else name
    plain = _STRANGE.sub("_", stem)[:_LONGEST_STEM]
    if plain != stem or not plain:
        plain = f"{plain}-{_digest(stem.encode('utf-8', 'surrogatepass'))}"
    return plain + (ending[0] if ending else "")


def _taken(path: Path, data: bytes) -> bool:
    """Whether the path exists with other content."""
    return os.path.lexists(path) and not _holds(path, data)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=6).hexdigest()
