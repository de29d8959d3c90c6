"""The memory store: the files on disk are authoritative, and every change is a transaction.

A transaction holds the folder's lock for milliseconds: complete the change of a dead writer, commit
hand edits, compare versions, write the commit ahead, replace the files, move `main`. A crash at any
point leaves the old files or a pending commit that the next writer completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from reverie.errors import InputError, ReverieError, WriteConflict
from reverie.logs import logger
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import (
    INDEX_FILE,
)
from reverie.memory.format.revisions import FOUND, Author, Change, Put, Revision, version
from reverie.memory.format.topic import LARGEST_FILE
from reverie.memory.git_trees import explained
from reverie.memory.history import GitHistory, Pending
from reverie.memory.reading import FileReader
from reverie.ports import History

log = logger(__name__)

# The largest file of other programs that is committed.
_LARGEST_KEPT = 1024 * 1024

BY_HAND = Author("user")

# How many files one call of `record_on` commits.
RECORD = 1_000


def unchanged(index: Index) -> Index:
    return index


def nothing() -> None:
    """Do nothing: the default `before_write`."""


class FileStore(FileReader):
    """One memory directory with its history."""

    def __init__(
        self,
        root: Path,
        history: GitHistory,
        apart: Iterable[str] = (),
        before_write: Callable[[], None] = nothing,
        catalog: Path | None = None,
    ) -> None:
        """`before_write` is called before each transaction; the rest is as in `FileReader`."""
        super().__init__(root, apart, catalog)
        self.history = history
        self._prepare_write = before_write
        # Files of a large directory from before the first write that are not committed yet.
        self._unrecorded: list[str] | None = None

    # --- transactions ---

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = unchanged,
    ) -> Revision | None:
        """Apply the changes and the edit of the index, all or none; None if nothing changed."""
        for change in changes:
            check_size(change)
        self._prepare_write()
        with self._alone():
            self._notice({change.file for change in changes} | {INDEX_FILE})
            files = {change.file: self._resolved(change) for change in changes}
            index = indexes.render(edit_index(self.index()))
            if index != (self._directory.read(INDEX_FILE) or b""):
                files[INDEX_FILE] = index
            made = self._commit(files, author, summary)
        self.history.pack_if_due()
        return made

    def notice_hand_edits(self) -> Revision | None:
        """Commit hand edits in the whole directory."""
        with self._alone():
            return self._notice((), {*self._on_disk(), *self.history.files()})

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Restore files; `plan` is called under the lock and sees the current files."""
        with self.exclusively():
            return self._commit(dict(plan()), author, summary)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the lock for work on the history, after committing everything on disk."""
        with self._alone():
            self._notice((), {*self._on_disk(), *self.history.files()})
            yield

    def record_on(self) -> bool:
        """Commit some files from before the first write; True: there are more."""
        if not self.large or self.history.is_empty:
            return False
        if self._unrecorded is None:
            self._unrecorded = sorted(self._on_disk() - self.history.files().keys())
        part, self._unrecorded = self._unrecorded[:RECORD], self._unrecorded[RECORD:]
        if part:
            with self._alone():
                self._notice((), part)
            self.history.pack_if_due()
        return bool(self._unrecorded)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock, after repairing what a dead writer left."""
        with self._directory.locked(), explained(self.history.git_dir):
            self.history.mend()
            self._recover()
            yield

    # --- inside the lock ---

    def _commit(
        self, files: dict[str, bytes | None], author: Author, summary: str
    ) -> Revision | None:
        wanted = {name: data for name, data in files.items() if data != self._directory.read(name)}
        if not wanted:
            return None
        unchanged_folders = self._before_write(wanted)
        pending = self.history.begin(wanted, author, summary)
        with ExitStack() as stack:
            # Keep replaced files open: an editor may save between our last read and the rename,
            # or still be writing.
            displaced: dict[str, BinaryIO | None] = {}
            try:
                for name, data in pending.files.items():
                    displaced[name] = self._directory.open(name)
                    stack.callback(_close, displaced[name])
                    self._put(name, data)
            except ReverieError:
                self._take_back(pending, displaced)
                raise
            made = self.history.finish(pending)
            self._wrote(pending.files, unchanged_folders)
            self._keep_late_edits(pending, displaced)
        return made

    def _before_write(self, names: Iterable[str]) -> Iterable[str]:
        if self._watcher is not None and self._watcher.catalog.exists:
            with self._tolerant():
                return self._watcher.before_write(names)
        return ()

    def _wrote(self, names: Iterable[str], unchanged_folders: Iterable[str]) -> None:
        if self._watcher is not None and self._watcher.catalog.exists:
            with self._tolerant():
                self._watcher.wrote(names, unchanged_folders)

    def _put(self, name: str, data: bytes | None) -> None:
        if data is None:
            self._directory.remove(name)
        else:
            self._directory.replace(name, data)

    def _take_back(self, pending: Pending, displaced: Mapping[str, BinaryIO | None]) -> None:
        """A write failed: restore the old files; if that fails, too, the next writer recovers."""
        for name, file in displaced.items():
            if self._directory.read(name) == pending.files[name]:
                old = None if file is None else file.read()
                self._put(name, old or pending.before[name])
        self.history.abandon()

    def _keep_late_edits(self, pending: Pending, displaced: Mapping[str, BinaryIO | None]) -> None:
        """Merge or keep what the user saved during the write, as if it came after it."""
        edits: dict[str, bytes | None] = {}
        for name, file in displaced.items():
            late = None if file is None else file.read()
            # Editors that save in place truncate the file first: ignore an empty one.
            if late and late != pending.before[name]:
                edits[name] = self._settled(pending, name, late)
        if edits:
            self._commit(edits, BY_HAND, f"edited by hand meanwhile: {', '.join(edits)}")

    def _recover(self) -> None:
        """Complete a change whose writer died; the user's edits since then are merged or kept."""
        pending = self.history.pending()
        if pending is None:
            return
        log.warning("completing a memory write that was interrupted: %s", pending.id)
        self._directory.sweep(pending.files)
        for name in pending.files:
            current = self._directory.read(name)
            final = self._settled(pending, name, current)
            if final != current:
                self._put(name, final)
        self.history.finish(pending)

    def _settled(self, pending: Pending, name: str, current: bytes | None) -> bytes | None:
        """The final content of a file: ours, merged with the user's edit, or theirs on conflict."""
        before, wanted = pending.before[name], pending.files[name]
        if current == before:
            return wanted
        if current is None or wanted is None or before is None:
            return current
        merged = self.history.merge(before, current, wanted)
        return current if merged is None else merged

    def _notice(self, touched: Iterable[str], others: Iterable[str] = ()) -> Revision | None:
        """Commit hand edits before a write touches the files; of other files, those not too large.

        The first write commits all existing files; in a large directory only those it touches, and
        `record_on` commits the rest, so that no writer waits for it.
        """
        first = self.history.is_empty
        ours = set(touched)
        every = self._on_disk() if first and not (ours and self.large) else ()
        edits = {}
        found = {}
        for name in {*ours, *others, *every}:
            data = self._directory.read(name) if name in ours else self._acceptable(name)
            before = self.history.read(name)
            huge = data is not None and len(data) > _LARGEST_KEPT
            if data == before or (huge and name not in ours):
                continue
            if first or (before is None and self.large):
                found[name] = data
            else:
                edits[name] = data
        made = self._record_found(found)
        if edits:
            shown = ", ".join(sorted(edits)[:3]) + (" …" if len(edits) > 3 else "")
            made = self.history.record(edits, BY_HAND, f"edited by hand: {shown}")
        return made

    def _record_found(self, files: Mapping[str, bytes | None]) -> Revision | None:
        """Commit files from before the first write, marked so that an undo does not delete them."""
        if not files:
            return None
        number = f"{len(files)} file{'' if len(files) == 1 else 's'}"
        return self.history.record(files, BY_HAND, f"{FOUND}{number}")

    def _acceptable(self, name: str) -> bytes | None:
        """A file's bytes; None if it became a folder or a link that leads out."""
        try:
            return self._directory.read(name)
        except InputError:
            return None

    def _on_disk(self) -> set[str]:
        self._scan_all()
        names = set(self._scanner.refresh())
        has_index = self._directory.read(INDEX_FILE) is not None
        return names | ({INDEX_FILE} if has_index else set())

    def _resolved(self, change: Change) -> bytes | None:
        return resolved(change, self._directory.read(change.file), self.history)


def resolved(change: Change, current: bytes | None, history: History) -> bytes | None:
    """The new content of a file: the proposed one, or its merge with changes since the base."""
    proposed = change.data if isinstance(change, Put) else None
    now = None if current is None else version(current)
    if now == change.base or current == proposed:
        return proposed
    base = history.content(change.base) if change.base else None
    if current is None or base is None or proposed is None:
        raise WriteConflict(change.file, current, proposed)
    merged = history.merge(base, current, proposed)
    if merged is None:
        raise WriteConflict(change.file, current, proposed)
    return merged


def _close(file: BinaryIO | None) -> None:
    if file is not None:
        file.close()


def check_size(change: Change) -> None:
    """Refuse a memory that is too large."""
    if isinstance(change, Put) and change.file != INDEX_FILE and len(change.data) > LARGEST_FILE:
        raise InputError(
            f"{change.file} would be {len(change.data):,} bytes; a memory holds at most "
            f"{LARGEST_FILE:,}: keep the point and move the detail elsewhere"
        )
