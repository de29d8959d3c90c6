"""Scan a memory directory without reading unchanged files again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from reverie.errors import ReverieError
from reverie.files.locks import ThreadLock
from reverie.memory.directory import Directory, checked_name
from reverie.memory.format.manifest import INDEX_FILE, ManifestEntry, entry, newest_first
from reverie.memory.format.paths import DEEPEST_NAME, Refused

# A manifest needs only the first 30 lines, which take less than this.
HEAD_BYTES = 16_384

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Signature: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not a memory, and why."""

    file: str
    reason: str


class Scanner:
    """Caches each file's signature (times, size, inode) and manifest entry."""

    def __init__(self, directory: Directory, apart: frozenset[str] = frozenset()) -> None:
        self._directory = directory
        self._apart = apart
        self._seen: dict[str, tuple[Signature, ManifestEntry]] = {}
        self._entries: tuple[ManifestEntry, ...] = ()
        self._sorted = self._seen
        self.skipped: tuple[Skipped, ...] = ()
        # All that recall from a memory in this process share its scanner.
        self._lock = ThreadLock()

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first."""
        with self._lock:
            fresh = self.refresh()
            # Compare with what was sorted, not with the last refresh: writers refresh, too.
            if fresh is not self._sorted:
                self._entries = newest_first(found for _, found in fresh.values())
                self._sorted = fresh
            return self._entries

    def refreshed(
        self, known: dict[str, tuple[Signature, ManifestEntry]]
    ) -> dict[str, tuple[Signature, ManifestEntry]]:
        """Refresh from entries that are known from a catalog."""
        with self._lock:
            self._seen = known
            return self.refresh()

    def refresh(self) -> dict[str, tuple[Signature, ManifestEntry]]:
        """Stat every file, read the head of changed ones, and drop removed ones."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> dict[str, tuple[Signature, ManifestEntry]]:
        survey = _Survey(str(self._directory.root), self._apart, self._seen)
        found = {name: self.look(name, seen) for name, seen in survey.changed}
        skipped = [entry for entry in found.values() if isinstance(entry, Skipped)]
        self.skipped = (*survey.unreadable, *skipped)
        # Returning the same object shows that nothing changed.
        if found or len(survey.same) != len(self._seen):
            fresh = {name: self._seen[name] for name in survey.same}
            for name, seen in survey.changed:
                entry = found[name]
                if isinstance(entry, ManifestEntry):
                    fresh[name] = (seen, entry)
            self._seen = fresh
        return self._seen

    def look(self, name: str, signature: Signature) -> ManifestEntry | Skipped | None:
        """Read one file's entry, or the reason why it is not a memory; None if it is gone."""
        verdict = checked_name(name)
        if isinstance(verdict, Refused):
            return Skipped(name, verdict.reason)
        try:
            data = self._directory.read(name, HEAD_BYTES)
        except ReverieError as error:
            return Skipped(name, str(error))
        if data is None:
            return None
        changed = datetime.fromtimestamp(signature[0] / 1e9, UTC)
        return entry(name, data, changed, whole=len(data) < HEAD_BYTES)


class _Survey:
    """One walk over a directory: unchanged files, changed files, and unreadable folders."""

    def __init__(
        self, root: str, apart: frozenset[str], known: Mapping[str, tuple[Signature, object]]
    ) -> None:
        self._root = root
        self._apart = apart
        self._folders = [""]
        self.same: list[str] = []
        self.changed: list[tuple[str, Signature]] = []
        self.unreadable: list[Skipped] = []
        while self._folders:
            prefix = self._folders.pop()
            try:
                self._walk(prefix, known)
            except FileNotFoundError:
                continue
            except OSError as error:
                reason = f"it cannot be read: {error.strerror}"
                self.unreadable.append(Skipped(prefix or root, reason))

    def _walk(self, prefix: str, known: Mapping[str, tuple[Signature, object]]) -> None:
        # Scan by descriptor: resolving a whole path for each file is slower.
        if prefix:
            folder = os.open(f"{self._root}/{prefix[:-1]}", _FOLDER | os.O_NOFOLLOW)
        else:
            folder = os.open(self._root, _FOLDER)
        try:
            with os.scandir(folder) as listing:
                # Inlined for speed: a method call per file would double the time of a scan.
                for item in listing:
                    path = prefix + item.name
                    before = known.get(path)
                    if before is not None:
                        try:
                            seen = item.stat()
                        except FileNotFoundError:
                            continue
                        except OSError as error:
                            self.unreadable.append(Skipped(path, str(error.strerror)))
                            continue
                        if before[0] == (
                            seen.st_mtime_ns,
                            seen.st_ctime_ns,
                            seen.st_size,
                            seen.st_ino,
                        ):
                            self.same.append(path)
                            continue
                    self._examine(item, path)
        finally:
            os.close(folder)

    def _examine(self, item: os.DirEntry[str], path: str) -> None:
        """Add a new or changed file, or a folder; skip hidden files, indexes and `apart`."""
        if item.name.startswith(".") or item.name == INDEX_FILE:
            return
        if item.name.endswith(".md"):
            # A broken link is reported when it is read; a file that was just removed is not.
            with suppress(OSError):
                seen = _stat(item)
                signature = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)
                self.changed.append((path, signature))
            return
        inside = path.count("/") < DEEPEST_NAME and path not in self._apart
        if inside and item.is_dir(follow_symlinks=False):
            self._folders.append(f"{path}/")


def _stat(item: os.DirEntry[str]) -> os.stat_result:
    try:
        return item.stat()
    except OSError:
        return item.stat(follow_symlinks=False)
