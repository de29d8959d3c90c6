"""Looking through a memory directory without reading again what did not change."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from reverie.errors import ReverieError
from reverie.memory.manifest import INDEX_FILE, ManifestEntry, entry, newest_first
from reverie.memory.paths import DEEPEST_NAME, Refused, check_name
from reverie.stores.directory import Directory

# The first 30 lines are all that a manifest needs; this is far more than they ever take.
HEAD_BYTES = 16_384

Signature: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not a memory, and why."""

    file: str
    reason: str


class Scanner:
    """Remembers what each file looked like (time, size, inode) and what it said."""

    def __init__(self, directory: Directory, apart: frozenset[str] = frozenset()) -> None:
        self._directory = directory
        self._apart = apart
        self._seen: dict[str, tuple[Signature, ManifestEntry]] = {}
        self.skipped: tuple[Skipped, ...] = ()

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first."""
        return newest_first(found for _, found in self.refresh().values())

    def refresh(self) -> dict[str, tuple[Signature, ManifestEntry]]:
        """Stat every file; read the head of those that changed. Files that went away are dropped."""
        fresh: dict[str, tuple[Signature, ManifestEntry]] = {}
        skipped: list[Skipped] = []
        old = self._seen
        for name, signature in _files(str(self._directory.root), self._apart):
            known = old.get(name)
            if known is not None and known[0] == signature:
                fresh[name] = known
                continue
            found = self._look(name, signature)
            if isinstance(found, Skipped):
                skipped.append(found)
            elif found is not None:
                fresh[name] = (signature, found)
        self._seen = fresh
        self.skipped = tuple(skipped)
        return fresh

    def _look(self, name: str, signature: Signature) -> ManifestEntry | Skipped | None:
        verdict = check_name(name)
        if isinstance(verdict, Refused):
            return Skipped(name, verdict.reason)
        try:
            data = self._directory.read(name, HEAD_BYTES)
        except ReverieError as error:
            return Skipped(name, str(error))
        if data is None:
            return None
        return entry(name, data, datetime.fromtimestamp(signature[0] / 1e9, UTC))


def _files(root: str, apart: frozenset[str]) -> list[tuple[str, Signature]]:
    """Markdown files below a folder, hidden ones, indexes and the folders kept apart left out."""
    found: list[tuple[str, Signature]] = []
    folders = [(root, "", 0)]
    while folders:
        path, prefix, depth = folders.pop()
        if depth > DEEPEST_NAME or (depth == 1 and prefix[:-1] in apart):
            continue
        try:
            listing = os.scandir(path)
        except OSError:
            continue
        with listing:
            # The inner loop of every scan: a method call a file would double its time.
            for item in listing:
                name = item.name
                if name[-3:] == ".md" and name != INDEX_FILE and name[0] != ".":
                    seen = _stat(item)
                    found.append((prefix + name, (seen.st_mtime_ns, seen.st_size, seen.st_ino)))
                elif name[0] != "." and item.is_dir(follow_symlinks=False):
                    folders.append((item.path, f"{prefix}{name}/", depth + 1))
    return found


def _stat(item: os.DirEntry[str]) -> os.stat_result:
    try:
        return item.stat()
    except OSError:
        # A link that leads nowhere: it is reported when it is read.
        return item.stat(follow_symlinks=False)
