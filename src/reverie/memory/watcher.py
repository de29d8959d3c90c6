"""Changes in a memory directory: scan it without reading unchanged files again, and update the catalog of a large one."""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from reverie.errors import ReverieError
from reverie.files.locks import ThreadLock
from reverie.memory.catalog import LARGE, READ_AT_ONCE, Catalog
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


Times = tuple[int, int]

# Times of a file system are coarse: a change in the same tick as our check would be missed.
_SETTLED_NS = 1_000_000_000
_UNSETTLED: Times = (0, 0)
_FULL_BATCH = 2_000


class FolderWatcher:
    """Checks folders, and some or all files, and records changes in the catalog."""

    def __init__(
        self, root: Path, apart: frozenset[str], scanner: Scanner, catalog: Catalog
    ) -> None:
        self._root = root
        self._apart = apart
        self._scanner = scanner
        self.catalog = catalog
        # Unread files of folders with too many new ones to read at once, and the folders' times.
        self._waiting: dict[str, tuple[Times, list[str]]] = {}

    @property
    def waits(self) -> bool:
        """Whether there are files that were not read yet."""
        return any(names for _, names in self._waiting.values())

    def look(self) -> None:
        """Check all folders and some of the files for changes; reads a bounded number of files."""
        for path, times in (self.catalog.folders() or {"": _UNSETTLED}).items():
            now = self._times(path)
            if now != times and (path not in self._waiting or now != self._waiting[path][0]):
                self._rescan(path)
        self._sweep()
        self.read_on()

    def read_on(self, most: int = READ_AT_ONCE) -> bool:
        """Read files that were not read yet; True: there are more."""
        for path, (times, names) in list(self._waiting.items()):
            part, rest = names[:most], names[most:]
            # Record a folder's times only when all its files were read.
            recent = time.time_ns() - times[0] < _SETTLED_NS
            done: dict[str, Times | None] = {} if rest else {path: _UNSETTLED if recent else times}
            self._note_read(part, done)
            if rest:
                self._waiting[path] = times, rest
            else:
                del self._waiting[path]
            break
        return self.waits

    def named(self, words: Sequence[str], most: int) -> list[ManifestEntry]:
        """Unread files whose names contain the most of these words."""
        scores: dict[str, int] = {}
        for _, names in self._waiting.values():
            for word in words:
                for name in names:
                    if word in name:
                        scores[name] = scores.get(name, 0) + 1
        best = heapq.nsmallest(most, scores, key=lambda name: (-scores[name], name))
        return self.entries(best)

    def entries(self, names: Iterable[str]) -> list[ManifestEntry]:
        """Read the current entries of files without recording them."""
        return [entry for _, entry in self._read(names).values()]

    def full(self) -> None:
        """Check every file now."""
        folders = {path: self._settled(path) for path in (*self.catalog.folders(), "")}
        known = self.catalog.seen()
        found = self._scanner.refreshed(known)
        changed = [name for name, seen in found.items() if known.get(name) is not seen]
        for start in range(0, len(changed), _FULL_BATCH):
            part = changed[start : start + _FULL_BATCH]
            self.catalog.note(read={name: found[name] for name in part})
        self._waiting.clear()
        self.catalog.note(
            gone=[name for name in known if name not in found],
            folders=folders | dict.fromkeys(_folders_of(found) - folders.keys(), _UNSETTLED),
        )

    # --- writes of this process ---

    def before_write(self, names: Iterable[str]) -> dict[str, Times]:
        """Those of the folders about to be written that no other program has changed."""
        known = self.catalog.folders()
        folders = {name.rpartition("/")[0] for name in names}
        return {path: known[path] for path in folders if known.get(path) == self._times(path)}

    def wrote(self, names: Iterable[str], unchanged: Iterable[str]) -> None:
        """Record written files, and new times of folders that only this process changed."""
        times = {path: self._times(path) for path in unchanged}
        memories = [name for name in names if name != INDEX_FILE]
        self._note_read(memories, times)

    # --- checking ---

    def _note_read(
        self, names: Iterable[str], folders: dict[str, Times | None] | None = None
    ) -> None:
        wanted = list(names)
        read = self._read(wanted)
        gone = [name for name in wanted if name not in read]
        self.catalog.note(read, gone, folders=folders or {})

    def _read(self, names: Iterable[str]) -> dict[str, tuple[Signature, ManifestEntry]]:
        read: dict[str, tuple[Signature, ManifestEntry]] = {}
        for name in names:
            signature = self._signature(name)
            found = None if signature is None else self._scanner.look(name, signature)
            if signature is not None and isinstance(found, ManifestEntry):
                read[name] = signature, found
        return read

    def _rescan(self, path: str) -> None:
        """Compare a changed folder by names and inodes, which needs no stat per file."""
        now, times = self._times(path), self._settled(path)
        known = self.catalog.names_in(path)
        if times is None or now is None:
            self.catalog.note(gone=known, folders={path: None})
            return
        found, inside = self._listed(path)
        other = [name for name, inode in found.items() if known.get(name) != inode]
        gone = [name for name in known if name not in found]
        folders: dict[str, Times | None] = {path: times}
        if len(other) <= READ_AT_ONCE:
            self.catalog.note(gone=gone, folders=folders)
            self._note_read(other)
        else:
            self.catalog.note(gone=gone, folders={path: _UNSETTLED})
            self._waiting[path] = now, other
        noted = self.catalog.folders()
        for folder in inside:
            if folder not in noted:
                self._rescan(folder)

    def _listed(self, path: str) -> tuple[dict[str, int], list[str]]:
        """The memories of one folder with their inodes, and its subfolders."""
        prefix = f"{path}/" if path else ""
        found: dict[str, int] = {}
        folders: list[str] = []
        with os.scandir(self._root / path) as items:
            for item in items:
                name = prefix + item.name
                if item.name.startswith(".") or item.name == INDEX_FILE:
                    continue
                if item.name.endswith(".md"):
                    found[name] = item.inode()
                elif (
                    name not in self._apart
                    and name.count("/") < DEEPEST_NAME
                    and item.is_dir(follow_symlinks=False)
                ):
                    folders.append(name)
        return found, folders

    def _sweep(self) -> None:
        """Compare the times of some files: a change in place does not change the folder's times."""
        known = self.catalog.next_to_sweep()
        changed = [name for name, seen in known.items() if self._signature(name) != seen]
        if changed:
            self._note_read(changed)

    def _signature(self, name: str) -> Signature | None:
        try:
            # A string, not a Path, for speed: a prompt waits for hundreds of these calls.
            seen = os.stat(f"{self._root}/{name}")  # noqa: PTH116
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino

    def _times(self, path: str) -> Times | None:
        try:
            seen = (self._root / path).lstat() if path else self._root.stat()
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_ctime_ns

    def _settled(self, path: str) -> Times | None:
        """A folder's times to record before a scan; unsettled if they are too recent to rely on."""
        times = self._times(path)
        recent = times is not None and time.time_ns() - times[0] < _SETTLED_NS
        return _UNSETTLED if recent else times


def holds_many(root: Path) -> bool:
    """Whether a folder and its subfolders contain more than `LARGE` memories."""
    count = 0
    waiting = [root]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as items:
                for item in items:
                    if item.name.endswith(".md"):
                        count += 1
                    elif not item.name.startswith(".") and item.is_dir(follow_symlinks=False):
                        waiting.append(Path(item.path))
                    if count > LARGE:
                        return True
        except OSError:
            continue
    return False


def _folders_of(names: Iterable[str]) -> set[str]:
    return {name.rpartition("/")[0] for name in names}
