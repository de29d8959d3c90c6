"""Which revision last changed each line of a memory, and a history that is not a git directory: diff, blame and merge.

A large directory spreads its files over subfolders. To git a file is new in the commit that did so,
so the commits before it are blamed separately.

Git itself compares, merges and blames, in a temporary repository, so that the answers are those of
a memory in files.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import count, islice

import pygit2

from reverie.errors import InputError
from reverie.memory.format.revisions import Revision, only_id, version
from reverie.memory.git_trees import (
    commit_of,
    is_spread,
    merged,
    part_of,
    plain_path,
    tree_diff,
    tree_of,
)


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a file and the revision that last changed it."""

    number: int
    text: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class Blame:
    """Blames the files of one repository."""

    repo: pygit2.Repository
    read_at: Callable[[pygit2.Oid, str], bytes | None]
    revision: Callable[[pygit2.Commit], Revision]

    def lines(self, file: str, newest: pygit2.Oid) -> list[BlamedLine]:
        # Count lines as git does: `splitlines` would also split at a form feed.
        text = (self.read_at(newest, file) or b"").decode("utf-8", "replace")
        revisions = self._blamed(file, newest)
        return [
            BlamedLine(number, line.rstrip("\r"), revisions[number])
            for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
            if number in revisions
        ]

    def _blamed(self, file: str, newest: pygit2.Oid) -> dict[int, Revision]:
        """The revision of each line, by its number."""
        first = self._first_spread(newest)
        spread = is_spread(commit_of(self.repo, newest).tree)
        path = f"{part_of(file)}/{file}" if spread else file
        found: dict[int, Revision] = {}
        moved: dict[int, int] = {}
        # Stop at the commit that spread the files: git would see moved files as new.
        for hunk in self.repo.blame(path, newest_commit=newest, oldest_commit=first):
            start = hunk.final_start_line_number
            numbers = range(start, start + hunk.lines_in_hunk)
            if hunk.final_commit_id == first:
                moved |= dict(zip(numbers, count(hunk.orig_start_line_number), strict=False))
            revision = self.revision(commit_of(self.repo, hunk.final_commit_id))
            found |= dict.fromkeys(numbers, revision)
        return found if first is None else found | self._blamed_before(file, first, moved)

    def _blamed_before(
        self, file: str, spreading: pygit2.Oid, moved: Mapping[int, int]
    ) -> dict[int, Revision]:
        """Revisions of lines from before the files were spread, by current line number."""
        parent = commit_of(self.repo, spreading).parent_ids[0]
        before, after = self.read_at(parent, file), self.read_at(spreading, file)
        if before is None or after is None:
            return {}
        older = self._blamed(file, parent)
        same: dict[int, int] = {}
        matcher = SequenceMatcher(None, before.split(b"\n"), after.split(b"\n"), autojunk=False)
        for old, new, size in matcher.get_matching_blocks():
            same |= {new + n + 1: old + n + 1 for n in range(size)}
        return {
            number: older[same[then]]
            for number, then in moved.items()
            if then in same and same[then] in older
        }

    def _first_spread(self, newest: pygit2.Oid) -> pygit2.Oid | None:
        """The first commit with spread files, if the newest has them and an older one does not."""
        commit = commit_of(self.repo, newest)
        if not is_spread(commit.tree):
            return None
        while commit.parent_ids:
            parent = commit_of(self.repo, commit.parent_ids[0])
            if not is_spread(parent.tree):
                return commit.id
            commit = parent
        return None


_PART_OF_ID = re.compile(r"[0-9a-fA-F]{1,40}")
_FROM_HEAD = re.compile(r"HEAD(?:~(?P<back>\d*)|(?P<hats>\^*))")


class DerivedHistory:
    """Derives diff, blame, merge and lookups from four primitives that a subclass implements."""

    # --- primitives ---

    def log(self, file: str | None = None) -> Iterator[Revision]:
        """Revisions, newest first; with a file, only those that changed it."""
        raise NotImplementedError

    def files(self, revision: str | None = None) -> dict[str, str]:
        """Every file of a revision (default: the newest), with its version."""
        raise NotImplementedError

    def content(self, wanted: str) -> bytes | None:
        """Content by its version, from anywhere in the history."""
        raise NotImplementedError

    def parents(self, revision: str) -> tuple[str, ...]:
        """The revisions that a revision follows."""
        raise NotImplementedError

    # --- what follows from them ---

    @property
    def is_empty(self) -> bool:
        return next(self.log(), None) is None

    @property
    def exists(self) -> bool:
        return not self.is_empty

    def pack_if_due(self) -> bool:
        return False

    def unfinished(self) -> tuple[str, ...]:
        return ()

    def read(self, file: str, revision: str | None = None) -> bytes | None:
        """A file's content in a revision (default: the newest)."""
        known = None if revision is None else self.revision(revision).id
        found = self.files(known).get(file)
        return None if found is None else self.content(found)

    def version(self, file: str) -> str | None:
        return self.files().get(file)

    def parent(self, revision: Revision) -> str | None:
        return next(iter(self.parents(revision.id)), None)

    def revision(self, wanted: str) -> Revision:
        """A revision by its id, a prefix of it, or `HEAD~2`."""
        from_head = _FROM_HEAD.fullmatch(wanted)
        if from_head is not None:
            back = from_head["back"]
            steps = len(from_head["hats"] or "") if back is None else int(back or "1")
            found = next(islice(self.log(), steps, None), None)
            if found is not None:
                return found
        if self.is_empty:
            raise InputError("this memory has no history yet")
        if _PART_OF_ID.fullmatch(wanted):
            revisions = {found.id: found for found in self.log()}
            return revisions[only_id(wanted, revisions)]
        raise InputError(f"no revision {wanted!r}; `reverie log` lists them")

    def as_of(self, moment: datetime) -> Revision | None:
        """The newest revision of this memory at a given time."""
        limit = moment.astimezone(UTC).timestamp()
        return next((found for found in self.log() if found.at <= limit), None)

    def diff(self, old: str | None, new: str | None = None, file: str | None = None) -> str:
        """The patch between two revisions; `old` None: from the beginning."""
        before = {} if old is None else self.files(self.revision(old).id)
        after = self.files(None if new is None else self.revision(new).id)
        if not before and not after and self.is_empty:
            raise InputError("this memory has no history yet")
        names = {
            name
            for name in {*before, *after}
            if before.get(name) != after.get(name) and file in (None, name)
        }
        sides: list[Mapping[str, bytes | None]] = [
            {name: self.content(side[name]) for name in names if name in side}
            for side in (before, after)
        ]
        with _scratch() as repo:
            trees = [repo[tree_of(repo, None, side)].peel(pygit2.Tree) for side in sides]
            patches = [patch for patch in tree_diff(repo, *trees) if patch is not None]
            patches.sort(key=lambda patch: plain_path(patch.delta.new_file.path))
            return "".join(patch.text or "" for patch in patches)

    def blame(self, file: str) -> list[BlamedLine]:
        """The revision that last changed each line."""
        current = self.read(file)
        if current is None:
            raise InputError(f"{file} is not in the history of this memory")
        written = [
            (revision, self.read(file, revision.id)) for revision in reversed(list(self.log(file)))
        ]
        lines = current.decode("utf-8", "replace").removesuffix("\n").split("\n")
        with _scratch() as repo:
            revisions = _blamed(repo, written)
        return [
            BlamedLine(number, line.rstrip("\r"), revisions[number])
            for number, line in enumerate(lines, 1)
            if number in revisions
        ]

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """A three-way merge of one file; None when the two sides conflict."""
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        with _scratch() as repo:
            return merged(repo, base, ours, theirs)


def _blamed(
    repo: pygit2.Repository, written: Sequence[tuple[Revision, bytes | None]]
) -> dict[int, Revision]:
    """The revision of each line of a file, by its number; the contents come oldest first."""
    known: dict[pygit2.Oid, Revision] = {}
    newest: pygit2.Oid | None = None
    who = pygit2.Signature("reverie", "reverie@localhost", 0, 0)
    for revision, data in written:
        tree = tree_of(repo, None, {} if data is None else {"memory.md": data})
        parents = [] if newest is None else [newest]
        newest = repo.create_commit(None, who, who, revision.id, tree, parents)
        known[newest] = revision
    found: dict[int, Revision] = {}
    for hunk in repo.blame("memory.md", newest_commit=newest):
        start = hunk.final_start_line_number
        numbers = range(start, start + hunk.lines_in_hunk)
        found |= dict.fromkeys(numbers, known[hunk.final_commit_id])
    return found


def revision_id(parents: tuple[str, ...], at: float, message: str, files: Mapping[str, str]) -> str:
    """An id for a revision: a hash of all its fields."""
    listed = "\n".join(f"{name}\0{files[name]}" for name in sorted(files))
    return version(f"{' '.join(parents)}\n{at!r}\n{message}\n{listed}".encode())


@contextmanager
def _scratch() -> Iterator[pygit2.Repository]:
    """A temporary repository for one query."""
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        repo = pygit2.init_repository(folder, bare=True)
        try:
            yield repo
        finally:
            repo.free()
