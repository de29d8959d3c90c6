"""Memories that are about to be saved together: each is judged beside those before it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.memory.candidates import Candidates
from reverie.memory.manifest import ManifestEntry
from reverie.memory.topic import Topic


class Pile:
    """What is in a pile so far, by name and by words; `here` are the memories there are already."""

    def __init__(self, here: Sequence[ManifestEntry] | None = None) -> None:
        # Whether all that is here already is known; otherwise the store is asked.
        self.is_whole = here is not None
        here = here or ()
        self._entries = {entry.file: entry for entry in here}
        self._names = {entry.file.casefold() for entry in here}
        self._known = Candidates((e.file, e.description or e.name) for e in here if e.listed)
        self._texts = Candidates()

    def add(self, memory: Topic) -> None:
        self._names.add(memory.file.casefold())
        self._texts.add(memory.file, memory.description)

    def has(self, file: str) -> bool:
        return file.casefold() in self._names

    def alike(self, text: str) -> Sequence[tuple[str, str]]:
        """Those in the pile that share the rarest words of a text: (file, description)."""
        return self._texts.find(text)

    def known(self, text: str) -> Sequence[ManifestEntry]:
        """The same of the memories there are already."""
        return [self._entries[file] for file, _ in self._known.find(text)]
