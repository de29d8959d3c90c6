"""A history that is not a git directory: diff, blame and merge from its revisions and contents.

Git itself compares, merges and blames, in a temporary repository, so that the answers are those of
a memory in files.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice

import pygit2

from reverie.errors import InputError
from reverie.memory.blame import BlamedLine
from reverie.memory.format.revisions import Revision, version
from reverie.memory.git_trees import merged, plain_path, tree_diff, tree_of
from reverie.memory.history import SHORTEST_ID

_PART_OF_ID = re.compile(r"[0-9a-fA-F]{1,40}")
_FROM_HEAD = re.compile(r"HEAD(?:~(?P<back>\d*)|(?P<hats>\^*))")


class DerivedHistory:
    """Answers questions about a history from four primitives, which a subclass has."""

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
        elif _PART_OF_ID.fullmatch(wanted):
            return self._starting_with(wanted.lower())
        if self.is_empty:
            raise InputError("this memory has no history yet")
        raise InputError(f"no revision {wanted!r}; `reverie log` lists them")

    def _starting_with(self, start: str) -> Revision:
        if len(start) < SHORTEST_ID:
            raise InputError(
                f"{start!r} is too short for a revision; give at least {SHORTEST_ID} characters of "
                "its id, as `reverie log` shows it"
            )
        fitting = [found for found in self.log() if found.id.startswith(start)]
        if not fitting:
            if self.is_empty:
                raise InputError("this memory has no history yet")
            raise InputError(f"no revision {start!r}; `reverie log` lists them")
        if len(fitting) > 1:
            names = ", ".join(one.short for one in fitting[:5])
            raise InputError(
                f"{start!r} matches {len(fitting)} revisions: {names}; give more of the id"
            )
        return fitting[0]

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
    """An id for a revision, from everything it says."""
    listed = "\n".join(f"{name}\0{files[name]}" for name in sorted(files))
    return version(f"{' '.join(parents)}\n{at!r}\n{message}\n{listed}".encode())


@contextmanager
def _scratch() -> Iterator[pygit2.Repository]:
    """A repository for one question."""
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        repo = pygit2.init_repository(folder, bare=True)
        try:
            yield repo
        finally:
            repo.free()
