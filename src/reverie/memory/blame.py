"""Which revision last changed each line of a memory.

A large directory spreads its files over subfolders. To git a file is new in the commit that did so,
so the commits before it are blamed separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import count
from typing import TYPE_CHECKING

from reverie.memory.format.revisions import Revision
from reverie.memory.git_trees import commit_of, is_spread, part_of

if TYPE_CHECKING:
    import pygit2


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
