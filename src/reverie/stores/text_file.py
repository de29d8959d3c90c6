"""One text file that is read and written whole, for the owner's eyes only."""

from __future__ import annotations

from pathlib import Path

from reverie.core.request import wire_text
from reverie.ports import Scrubber
from reverie.stores.directory import Directory


class TextFile:
    """A file at a path; a crash leaves the old text or the new one. A scrubber keeps secrets out."""

    def __init__(self, path: Path, scrubber: Scrubber | None = None) -> None:
        self._path = path
        self._scrubber = scrubber
        self._folder = Directory(path.parent)

    @property
    def path(self) -> str:
        return str(self._path)

    def read(self) -> str | None:
        """Its text; None when it is not there."""
        data = self._folder.read(self._path.name)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, text: str) -> None:
        if self._scrubber is not None:
            text = self._scrubber.scrub(text).text
        self._folder.replace(self._path.name, wire_text(text).encode())
