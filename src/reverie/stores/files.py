"""The memory store on disk: files are the truth, every change is one transaction with its history.

A transaction runs under the folder's lock, for milliseconds: finish what a dead writer began,
commit hand edits first, compare versions, write the commit ahead, replace the files, move `main`.
A crash at any point leaves the old files or a pending commit that the next writer completes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import InputError, ReverieError, WriteConflict
from reverie.memory import index as indexes
from reverie.memory import topic as topics
from reverie.memory.index import Index
from reverie.memory.manifest import INDEX_FILE, ManifestEntry
from reverie.memory.revisions import Author, Change, Put, Revision, version
from reverie.memory.topic import LARGEST_FILE, Topic
from reverie.stores.directory import Directory
from reverie.stores.history import GitHistory, Pending
from reverie.stores.scan import Scanner, Skipped

log = logging.getLogger(__name__)

# Foreign files may be larger than ours, but not so large that every commit suffers.
_LARGEST_KEPT = 1024 * 1024

BY_HAND = Author("user")


@dataclass(frozen=True, slots=True)
class Stored:
    """A topic as it is on disk, and the version a write must be based on."""

    topic: Topic
    version: str


def unchanged(index: Index) -> Index:
    return index


class FileStore:
    """One memory directory with its history."""

    def __init__(self, root: Path, history: GitHistory, apart: Iterable[str] = ()) -> None:
        """`apart` names folders at the top that are not memories of this store (team, logs)."""
        self.root = root
        self.history = history
        self._directory = Directory(root)
        self._scanner = Scanner(self._directory, frozenset(apart))

    # --- reading: no locks ---

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first, from the first lines of its file."""
        return self._scanner.entries()

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

    # --- writing: one transaction each ---

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = unchanged,
    ) -> Revision | None:
        """Make the changes and the matching change to the index, all or none; None: nothing to do."""
        for change in changes:
            _check_size(change)
        with self._directory.locked():
            self._recover()
            self._notice({change.file for change in changes} | {INDEX_FILE})
            files = {change.file: self._resolved(change) for change in changes}
            index = indexes.render(edit_index(self.index()))
            if index != (self._directory.read(INDEX_FILE) or b""):
                files[INDEX_FILE] = index
            return self._commit(files, author, summary)

    def write_index(self, index: Index, author: Author, summary: str) -> Revision | None:
        return self.apply((), author, summary, lambda _: index)

    def notice_hand_edits(self) -> Revision | None:
        """Commit what was changed in an editor, everywhere in the directory."""
        with self._directory.locked():
            self._recover()
            return self._notice({*self._on_disk(), *self.history.files()})

    def restore(
        self, files: Mapping[str, bytes | None], author: Author, summary: str
    ) -> Revision | None:
        """Put files back as they were; the caller has planned it against the present."""
        with self._directory.locked():
            self._recover()
            self._notice(files)
            return self._commit(dict(files), author, summary)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the lock for work on the history itself, with everything on disk recorded."""
        with self._directory.locked():
            self._recover()
            self._notice({*self._on_disk(), *self.history.files()})
            yield

    # --- inside the lock ---

    def _commit(
        self, files: dict[str, bytes | None], author: Author, summary: str
    ) -> Revision | None:
        wanted = {name: data for name, data in files.items() if data != self._directory.read(name)}
        if not wanted:
            return None
        pending = self.history.begin(wanted, author, summary)
        try:
            self._place(pending)
        except ReverieError:
            self._take_back(pending)
            raise
        return self.history.finish(pending)

    def _place(self, pending: Pending) -> None:
        for name, data in pending.files.items():
            if data is None:
                self._directory.remove(name)
            else:
                self._directory.replace(name, data)

    def _take_back(self, pending: Pending) -> None:
        """The disk said no half-way: put back what was; if even that fails, recovery will go on."""
        for name, data in pending.before.items():
            if self._directory.read(name) == data:
                continue
            if data is None:
                self._directory.remove(name)
            else:
                self._directory.replace(name, data)
        self.history.abandon()

    def _recover(self) -> None:
        """Complete a change whose writer died. What a person edited meanwhile is merged or kept."""
        pending = self.history.pending()
        if pending is None:
            return
        log.warning("completing a memory write that was interrupted: %s", pending.id)
        for name, wanted in pending.files.items():
            current, before = self._directory.read(name), pending.before[name]
            if current == before:
                final = wanted
            elif current is None or wanted is None or before is None:
                final = current
            else:
                final = self.history.merge(before, current, wanted) or current
            if final is not None and final != current:
                self._directory.replace(name, final)
            elif final is None and current is not None:
                self._directory.remove(name)
        self.history.finish(pending)

    def _notice(self, files: Iterable[str]) -> Revision | None:
        """Commit hand edits before anything of ours touches the file."""
        first = self.history.is_empty
        names = {*files, *self._on_disk()} if first else files
        edits = {}
        for name in names:
            data = self._directory.read(name)
            kept = None if data is not None and len(data) > _LARGEST_KEPT else data
            if kept != self.history.read(name):
                edits[name] = kept
        if not edits:
            return None
        shown = ", ".join(sorted(edits)[:3]) + (" …" if len(edits) > 3 else "")
        summary = f"found {len(edits)} files" if first else f"edited by hand: {shown}"
        return self.history.record(edits, BY_HAND, summary)

    def _on_disk(self) -> set[str]:
        names = set(self._scanner.refresh())
        has_index = self._directory.read(INDEX_FILE) is not None
        return names | ({INDEX_FILE} if has_index else set())

    def _resolved(self, change: Change) -> bytes | None:
        """What a file will hold: the proposed bytes, or a clean merge with what came in between."""
        current = self._directory.read(change.file)
        proposed = change.data if isinstance(change, Put) else None
        now = None if current is None else version(current)
        if now == change.base or current == proposed:
            return proposed
        base = self.history.content(change.base) if change.base else None
        if current is None or base is None or proposed is None:
            raise WriteConflict(change.file, current, proposed)
        merged = self.history.merge(base, current, proposed)
        if merged is None:
            raise WriteConflict(change.file, current, proposed)
        return merged


def _check_size(change: Change) -> None:
    if isinstance(change, Put) and change.file != INDEX_FILE and len(change.data) > LARGEST_FILE:
        raise InputError(
            f"{change.file} would be {len(change.data):,} bytes; a memory holds at most "
            f"{LARGEST_FILE:,}: keep the point and move the detail elsewhere"
        )
