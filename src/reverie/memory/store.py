"""The memory store on disk: files are the truth, every change is one transaction with its history.

A transaction runs under the folder's lock, for milliseconds: finish what a dead writer began,
commit hand edits first, compare versions, write the commit ahead, replace the files, move `main`.
A crash at any point leaves the old files or a pending commit that the next writer completes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from reverie.errors import InputError, ReverieError, WriteConflict
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
from reverie.memory.format.revisions import FOUND, Author, Change, Put, Revision, version
from reverie.memory.format.topic import LARGEST_FILE, Topic
from reverie.memory.git_trees import explained
from reverie.memory.history import GitHistory, Pending
from reverie.memory.scan import Scanner, Skipped
from reverie.memory.watcher import FolderWatcher, holds_many

log = logger(__name__)

# Foreign files may be larger than ours, but not so large that every commit suffers.
_LARGEST_KEPT = 1024 * 1024

BY_HAND = Author("user")

# Files that one step of catching up reads, and those that one puts into the history.
CATCH_UP = 500
RECORD = 1_000

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stored:
    """A topic as it is on disk, and the version a write must be based on."""

    topic: Topic
    version: str


def unchanged(index: Index) -> Index:
    return index


def nothing() -> None:
    """Before most writes there is nothing to do."""


class FileStore:
    """One memory directory with its history."""

    def __init__(
        self,
        root: Path,
        history: GitHistory,
        apart: Iterable[str] = (),
        before_write: Callable[[], None] = nothing,
        catalog: Path | None = None,
    ) -> None:
        """`apart` names folders at the top that are not memories of this store (team, logs).

        `catalog` is where what is known of a large directory is kept, so that it need not be looked
        through each time; without one, every look is at every file.
        """
        self.root = root
        self.history = history
        self._prepare_write = before_write
        self._directory = Directory(root)
        self._scanner = Scanner(self._directory, frozenset(apart))
        self._lookout: FolderWatcher | None = None
        if catalog is not None:
            self._lookout = FolderWatcher(root, frozenset(apart), self._scanner, Catalog(catalog))
        self._many: tuple[int, bool] = (0, False)
        # Files of a large directory that were there before us and are in no commit yet.
        self._unrecorded: list[str] | None = None
        self._candidates: tuple[tuple[ManifestEntry, ...], Candidates] = ((), Candidates())

    # --- reading: no locks ---

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first, from the first lines of its file."""
        self._scan_all()
        return self._scanner.entries()

    def listing(self) -> dict[str, tuple[int, int, int]]:
        """Every memory with what a stat says of it: who knows it need not read it again."""
        self._scan_all()
        found = self._scanner.refresh().items()
        # A new inode has a new change time, so three numbers say what four do.
        return {name: (mtime, size, ctime) for name, ((mtime, ctime, size, _), _) in found}

    # --- reading a part: what a large directory can answer without being looked through ---

    @property
    def large(self) -> bool:
        """Whether there are so many memories that a call looks at a part of them only."""
        if self._lookout is None:
            return False
        if self._lookout.catalog.exists:
            return True
        try:
            changed = self.root.stat().st_mtime_ns
        except OSError:
            return False
        if self._many[0] != changed:
            self._many = (changed, holds_many(self.root))
        return self._many[1]

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories that share the rarest words of a text: those among which its like must be."""
        return self._asked(
            lambda catalog: [*self._named(text), *catalog.alike(text)][:MOST_CANDIDATES],
            lambda: self._alike(text),
        )

    def has(self, file: str) -> bool:
        """Whether there is a memory of this name, in whatever case."""
        wanted = file.casefold()
        return self._asked(
            lambda catalog: catalog.has(file),
            lambda: any(entry.file.casefold() == wanted for entry in self.entries()),
        )

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        """The entries of these files, then those of the newest ones, each once."""

        def of_catalog(catalog: Catalog) -> list[ManifestEntry]:
            found = [*catalog.entries(files), *(catalog.newest(newest) if newest else ())]
            known = {entry.file for entry in found}
            if self._lookout is not None and self._lookout.waits:
                found += self._lookout.entries(file for file in files if file not in known)
            return list({entry.file: entry for entry in found}.values())

        def of_all() -> list[ManifestEntry]:
            entries = {entry.file: entry for entry in self.entries()}
            chosen = [entries[file] for file in files if file in entries]
            return list(dict.fromkeys((*chosen, *list(entries.values())[:newest])))

        # Asked for what a look or a search just named: the files are read afterwards anyway.
        return self._asked(of_catalog, of_all, look=not files)

    def changes(self, since: str, most: int) -> Changes | None:
        """What changed since an earlier answer; None: `listing` tells, it is no large directory."""

        def of_catalog(catalog: Catalog) -> Changes | None:
            waits = self._lookout is not None and self._lookout.waits
            return replace(catalog.changes(since, most), unread=waits)

        return self._asked(of_catalog, lambda: None)

    def read_on(self) -> bool:
        """Catch up with a large directory a little; True: there is more to read."""
        more = False
        if self.large and self._lookout is not None:
            with self._tolerant():
                more = self._lookout.read_on(CATCH_UP)
        return more

    def record_on(self) -> bool:
        """Put some files that were there before our first write into the history; True: there are more."""
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

    def _named(self, text: str) -> list[ManifestEntry]:
        """Of files that were not read yet those whose names share words with a text."""
        if self._lookout is None or not self._lookout.waits:
            return []
        return self._lookout.named(content_words(text), MOST_CANDIDATES // 2)

    def _alike(self, text: str) -> list[ManifestEntry]:
        entries = self.entries()
        if self._candidates[0] is not entries:
            texts = ((entry.file, entry.description or entry.name) for entry in entries)
            self._candidates = entries, Candidates(texts)
        found = {file for file, _ in self._candidates[1].find(text)}
        return [entry for entry in entries if entry.file in found]

    def _asked(
        self, work: Callable[[Catalog], _T], otherwise: Callable[[], _T], *, look: bool = True
    ) -> _T:
        """What a catalog answers that was brought up to date; one that cannot be used is left out."""
        if self.large and self._lookout is not None:
            with self._tolerant():
                if look:
                    self._lookout.look()
                return work(self._lookout.catalog)
        return otherwise()

    def _scan_all(self) -> None:
        if self.large and self._lookout is not None:
            with self._tolerant():
                self._lookout.full()

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """The catalog is a shadow: when it fails, the files themselves are looked at."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            log.warning("the catalog of %s could not be used: %s", self.root, error)

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
        """Commit what was changed in an editor, everywhere in the directory."""
        with self._alone():
            return self._notice((), {*self._on_disk(), *self.history.files()})

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Put files back; the plan is made under the lock, against what is on disk then."""
        with self.exclusively():
            return self._commit(dict(plan()), author, summary)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the lock for work on the history itself, with everything on disk recorded."""
        with self._alone():
            self._notice((), {*self._on_disk(), *self.history.files()})
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Under the lock, after what a dead writer left was put right."""
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
        undisturbed = self._before_write(wanted)
        pending = self.history.begin(wanted, author, summary)
        with ExitStack() as stack:
            # What stood under a name stays open: a save that came between our last look and the
            # rename, or is not over yet, is still seen.
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
            self._wrote(pending.files, undisturbed)
            self._keep_late_edits(pending, displaced)
        return made

    def _before_write(self, names: Iterable[str]) -> Iterable[str]:
        if self._lookout is not None and self._lookout.catalog.exists:
            with self._tolerant():
                return self._lookout.before_write(names)
        return ()

    def _wrote(self, names: Iterable[str], undisturbed: Iterable[str]) -> None:
        if self._lookout is not None and self._lookout.catalog.exists:
            with self._tolerant():
                self._lookout.wrote(names, undisturbed)

    def _put(self, name: str, data: bytes | None) -> None:
        if data is None:
            self._directory.remove(name)
        else:
            self._directory.replace(name, data)

    def _take_back(self, pending: Pending, displaced: Mapping[str, BinaryIO | None]) -> None:
        """The disk said no half-way: put back what was; if even that fails, recovery will go on."""
        for name, file in displaced.items():
            if self._directory.read(name) == pending.files[name]:
                was = None if file is None else file.read()
                self._put(name, was or pending.before[name])
        self.history.abandon()

    def _keep_late_edits(self, pending: Pending, displaced: Mapping[str, BinaryIO | None]) -> None:
        """What a person saved while we wrote is merged or kept, as if they had come after us."""
        edits: dict[str, bytes | None] = {}
        for name, file in displaced.items():
            late = None if file is None else file.read()
            # Editors that save in place empty the file first: that alone says nothing.
            if late and late != pending.before[name]:
                edits[name] = self._settled(pending, name, late)
        if edits:
            self._commit(edits, BY_HAND, f"edited by hand meanwhile: {', '.join(edits)}")

    def _recover(self) -> None:
        """Complete a change whose writer died. What a person edited meanwhile is merged or kept."""
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
        """What a file shall hold: ours; with a person's edit merged in; or theirs, if that fails."""
        before, wanted = pending.before[name], pending.files[name]
        if current == before:
            return wanted
        if current is None or wanted is None or before is None:
            return current
        merged = self.history.merge(before, current, wanted)
        return current if merged is None else merged

    def _notice(self, touched: Iterable[str], others: Iterable[str] = ()) -> Revision | None:
        """Commit hand edits before anything of ours touches the file; of others, what is not huge.

        The first write records all that was there; of a large directory only what it touches, and
        `record_on` records the rest, so that no writer waits for it.
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
        """What was there before us; taking it back would delete it, so it is told apart from edits."""
        if not files:
            return None
        number = f"{len(files)} file{'' if len(files) == 1 else 's'}"
        return self.history.record(files, BY_HAND, f"{FOUND}{number}")

    def _acceptable(self, name: str) -> bytes | None:
        """A memory that became a link leading out, or a folder, is no memory any more."""
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


def _close(file: BinaryIO | None) -> None:
    if file is not None:
        file.close()


def _check_size(change: Change) -> None:
    if isinstance(change, Put) and change.file != INDEX_FILE and len(change.data) > LARGEST_FILE:
        raise InputError(
            f"{change.file} would be {len(change.data):,} bytes; a memory holds at most "
            f"{LARGEST_FILE:,}: keep the point and move the detail elsewhere"
        )
