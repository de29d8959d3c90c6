"""Update the catalog of a large memory directory, with a bounded amount of work per call."""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from reverie.memory.catalog import LARGE, READ_AT_ONCE, Catalog
from reverie.memory.format.manifest import INDEX_FILE, ManifestEntry
from reverie.memory.format.paths import DEEPEST_NAME
from reverie.memory.scan import Scanner, Signature

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
