"""Reading a memory directory, without locks: its files, or the catalog of a large one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from reverie.logs import logger
from reverie.memory.catalog import Catalog
from reverie.memory.directory import Directory
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import (
    INDEX_FILE,
    MOST_CANDIDATES,
    Candidates,
    Changes,
    ManifestEntry,
    content_words,
)
from reverie.memory.format.revisions import version
from reverie.memory.format.topic import Topic
from reverie.memory.watcher import FolderWatcher, Scanner, Skipped, holds_many

log = logger(__name__)

# How many files one call of `read_on` reads.
CATCH_UP = 500

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stored:
    """A topic on disk, and the version that a write must be based on."""

    topic: Topic
    version: str


class FileReader:
    """The memories of one directory, as they are on disk now."""

    def __init__(self, root: Path, apart: Iterable[str] = (), catalog: Path | None = None) -> None:
        """`apart` are top-level folders that are not part of this directory (team, logs).

        `catalog` is the catalog file of a large directory; without one, every call scans all files.
        """
        self.root = root
        self._directory = Directory(root)
        self._scanner = Scanner(self._directory, frozenset(apart))
        self._watcher: FolderWatcher | None = None
        if catalog is not None:
            self._watcher = FolderWatcher(root, frozenset(apart), self._scanner, Catalog(catalog))
        self._many: tuple[int, bool] = (0, False)
        self._candidates: tuple[tuple[ManifestEntry, ...], Candidates] = ((), Candidates())

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first, from the first lines of its file."""
        self._scan_all()
        return self._scanner.entries()

    def listing(self) -> dict[str, tuple[int, int, int]]:
        """Every memory with its signature, by which callers recognise unchanged files."""
        self._scan_all()
        found = self._scanner.refresh().items()
        # A new inode has a new change time, so the inode is not needed.
        return {name: (mtime, size, ctime) for name, ((mtime, ctime, size, _), _) in found}

    # --- partial reading: queries that need no scan of a large directory ---

    @property
    def large(self) -> bool:
        """Whether there are too many memories to read all of them in one call."""
        if self._watcher is None:
            return False
        if self._watcher.catalog.exists:
            return True
        try:
            changed = self.root.stat().st_mtime_ns
        except OSError:
            return False
        if self._many[0] != changed:
            self._many = (changed, holds_many(self.root))
        return self._many[1]

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories that share the rarest words of a text: candidates for similar ones."""
        return self._query(
            lambda catalog: [*self._named(text), *catalog.alike(text)][:MOST_CANDIDATES],
            lambda: self._alike(text),
        )

    def has(self, file: str) -> bool:
        """Whether there is a memory of this name, ignoring case."""
        wanted = file.casefold()
        return self._query(
            lambda catalog: catalog.has(file),
            lambda: any(entry.file.casefold() == wanted for entry in self.entries()),
        )

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        """The entries of these files, then those of the newest files, each once."""

        def from_catalog(catalog: Catalog) -> list[ManifestEntry]:
            found = [*catalog.entries(files), *(catalog.newest(newest) if newest else ())]
            known = {entry.file for entry in found}
            if self._watcher is not None and self._watcher.waits:
                found += self._watcher.entries(file for file in files if file not in known)
            return list({entry.file: entry for entry in found}.values())

        def from_scan() -> list[ManifestEntry]:
            entries = {entry.file: entry for entry in self.entries()}
            chosen = [entries[file] for file in files if file in entries]
            return list(dict.fromkeys((*chosen, *list(entries.values())[:newest])))

        # A check or search just returned these names, and the files are read afterwards anyway.
        return self._query(from_catalog, from_scan, look=not files)

    def changes(self, since: str, most: int) -> Changes | None:
        """Changes since an earlier answer; None if the directory is not large: use `listing`."""

        def from_catalog(catalog: Catalog) -> Changes | None:
            waits = self._watcher is not None and self._watcher.waits
            return replace(catalog.changes(since, most), unread=waits)

        return self._query(from_catalog, lambda: None)

    def read_on(self) -> bool:
        """Read some new files of a large directory into the catalog; True: there are more."""
        more = False
        if self.large and self._watcher is not None:
            with self._tolerant():
                more = self._watcher.read_on(CATCH_UP)
        return more

    def _named(self, text: str) -> list[ManifestEntry]:
        """Files that were not read yet and whose names share words with a text."""
        if self._watcher is None or not self._watcher.waits:
            return []
        return self._watcher.named(content_words(text), MOST_CANDIDATES // 2)

    def _alike(self, text: str) -> list[ManifestEntry]:
        entries = self.entries()
        if self._candidates[0] is not entries:
            texts = ((entry.file, entry.description or entry.name) for entry in entries)
            self._candidates = entries, Candidates(texts)
        found = {file for file, _ in self._candidates[1].find(text)}
        return [entry for entry in entries if entry.file in found]

    def _query(
        self, work: Callable[[Catalog], _T], otherwise: Callable[[], _T], *, look: bool = True
    ) -> _T:
        """Query the updated catalog; without a usable one, call `otherwise`."""
        if self.large and self._watcher is not None:
            with self._tolerant():
                if look:
                    self._watcher.look()
                return work(self._watcher.catalog)
        return otherwise()

    def _scan_all(self) -> None:
        if self.large and self._watcher is not None:
            with self._tolerant():
                self._watcher.full()

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Log errors of the catalog; the caller then uses the files themselves."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            log.warning("the catalog of %s could not be used: %s", self.root, error)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user; files that are not a copy need none."""
        return ()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files of the last scan that are not memories, and why."""
        return self._scanner.skipped

    def read(self, file: str) -> Stored | None:
        data = self._directory.read(file)
        return None if data is None else Stored(topics.parse(data, file), version(data))

    def current(self, file: str) -> bytes | None:
        return self._directory.read(file)

    def index(self) -> Index:
        return indexes.parse(self._directory.read(INDEX_FILE) or b"")
