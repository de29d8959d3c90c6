"""Merge another copy of a memory, with its whole history, into this one, file by file.

Both copies are commits of one git directory. Their last common commit is the base. The result is a
commit with both as parents, so that log, blame and undo see the changes of both. On a conflict the
other version keeps its name and ours is saved beside it: nothing is lost on either side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2

from reverie.errors import ReverieError, StorageError, WriteConflict
from reverie.memory.directory import Directory
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Change, Drop, Put, render_message, version
from reverie.memory.git_trees import commit_of, contents_of, files_of, is_spread, open_repository
from reverie.memory.history import MAIN
from reverie.memory.locations import (
    Identity,
    continued,
    has_memory,
    has_own_objects,
    holder_of,
    identify,
    read_identity,
    write_identity,
)
from reverie.memory.store import FileStore
from reverie.memory.sync.accepting import Refusal, read_tree
from reverie.memory.sync.merge import (
    Conflict,
    Copy,
    Files,
    merge_files,
    merge_pointers,
    shown,
    with_pointers,
)
from reverie.ports import Clock
from reverie.settings.projects import Project

ATTEMPTS = 5

_PERSON = Author("user")
_LONGEST_STEM = 190


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What a merge brought here, and what a person must look at."""

    pulled: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    refused: tuple[Refusal, ...] = ()


class Part(ABC):
    """Something with a git history that can be merged with another copy of it."""

    repo: pygit2.Repository

    def __init__(self, git_dir: Path, clock: Clock) -> None:
        self.git_dir = git_dir
        self.clock = clock

    @abstractmethod
    def begin(self) -> None:
        """Commit everything on disk and open the repository; at least one commit exists after it."""

    @abstractmethod
    def merge(self, theirs: str, source: str) -> MergeReport:
        """Merge a fetched commit into ours."""

    @property
    def ours(self) -> str:
        return str(self.repo.references[MAIN].peel(pygit2.Commit).id)

    def contains(self, newer: str, older: str) -> bool:
        """Whether one commit is, or descends from, another."""
        return newer == older or self.repo.descendant_of(newer, older)

    def files(self, commit: str) -> dict[str, bytes]:
        return contents_of(self.repo, commit)

    def base(self, theirs: str) -> dict[str, bytes]:
        """The files of the last commit that both have; none if there is none."""
        found = self.repo.merge_base(self.ours, theirs)
        return {} if found is None else self.files(str(found))

    def commit(self, message: str, tree: pygit2.Oid, parents: list[str]) -> None:
        """Make a commit with these parents our newest one."""
        who = pygit2.Signature("user", "reverie@localhost", int(self.clock.now()), 0)
        made = self.repo.create_commit(None, who, who, message, tree, parents)
        self.repo.references.create(MAIN, made, force=True)


class HistoryMerge(Part):
    """Merges commits that were fetched into a memory's git directory."""

    def __init__(self, store: FileStore, clock: Clock) -> None:
        super().__init__(store.history.git_dir, clock)
        self._store = store
        self._directory = Directory(store.root)

    def begin(self) -> None:
        with self._store.exclusively():
            if self._store.history.is_empty:
                self._store.history.record({}, _PERSON, "first sync of this memory")
        self.repo = open_repository(self.git_dir)

    def merge(self, theirs: str, source: str) -> MergeReport:
        """Bring a fetched commit into ours; repeat if another process wrote meanwhile."""
        for _ in range(ATTEMPTS):
            report = self._merge_once(theirs, source)
            if report is not None:
                return report
            self._store.notice_hand_edits()
        raise StorageError(
            f"other processes wrote {ATTEMPTS} times while merging with {source}; "
            "nothing was lost: sync again in a moment"
        )

    def _merge_once(self, theirs: str, source: str) -> MergeReport | None:
        before = self.ours
        if self.contains(before, theirs):
            return MergeReport()
        ours, base = self.files(before), self.base(theirs)
        tree = commit_of(self.repo, theirs).tree
        accepted = read_tree(self.repo, _flat(self.repo, tree), ours, self._objection)
        refused = {one.file for one in accepted.refused}
        merge = self._store.history.merge
        wanted = merge_files(base, ours, accepted.files, refused, merge, Copy())
        puts = [_change(file, data, ours) for file, data in wanted.changes.items()]
        files = {name for name in {**ours, **wanted.changes} if wanted.changes.get(name, b"")}

        def edit(index: Index) -> Index:
            there = indexes.parse(accepted.files.get(INDEX_FILE, b""))
            pointers = merge_pointers(index, there, indexes.parse(base.get(INDEX_FILE, b"")), files)
            return with_pointers(index, pointers, {*files, *wanted.changes})

        try:
            made = self._store.apply(
                puts,
                _PERSON,
                f"from {source}: {shown(sorted(wanted.changes)) or 'its history'}",
                edit,
            )
        except WriteConflict:
            return None
        self._join(before, None if made is None else made.id, theirs, source)
        return MergeReport(
            tuple(sorted(wanted.changes)),
            tuple(wanted.conflicts),
            tuple(one for one in accepted.refused if one.file != INDEX_FILE),
        )

    def _join(self, before: str, made: str | None, theirs: str, source: str) -> None:
        """Make the fetched commit part of our history; if nothing else changed, its newest one."""
        with self._store.exclusively():
            newest = commit_of(self.repo, self.ours)
            parents = [str(parent) for parent in newest.parent_ids]
            alone = str(newest.id) in (before, made)
            if alone and self.contains(theirs, before) and self._same_files(newest, theirs):
                self.repo.references.create(MAIN, theirs, force=True)
                return
            message = newest.message
            if made is None or str(newest.id) != made:
                message = render_message(f"with the history of {source}", _PERSON)
                parents = [str(newest.id)]
            self.commit(message, newest.tree.id, [*parents, theirs])

    def _same_files(self, commit: pygit2.Commit, theirs: str) -> bool:
        other = commit_of(self.repo, theirs)
        return dict(files_of(self.repo, commit.tree)) == dict(files_of(self.repo, other.tree))

    def _objection(self, file: str, data: bytes) -> str | None:
        """Why a file of the other copy cannot be one here; a link or folder of ours fails early."""
        try:
            self._directory.read(file, 1)
        except (OSError, ValueError, ReverieError) as error:
            return str(error)
        return "it is not text: it holds a NUL byte" if b"\0" in data else None


def _flat(repo: pygit2.Repository, tree: pygit2.Tree) -> pygit2.Tree:
    """The tree with its files under their plain names, also if they were spread over folders."""
    if not is_spread(tree):
        return tree
    builder = pygit2.Index()
    for name, id_ in files_of(repo, tree):
        builder.add(pygit2.IndexEntry(name, pygit2.Oid(hex=str(id_)), pygit2.enums.FileMode.BLOB))
    return repo[builder.write_tree(repo)].peel(pygit2.Tree)


def _change(file: str, data: bytes | None, ours: Files) -> Change:
    known = ours.get(file)
    if data is None:
        return Drop(file, version(known or b""))
    return Put(file, data, None if known is None else version(known))


# --- all clones of a repository on one machine have one memory ---


_BROUGHT = "refs/reverie/clone"


def join_clone(
    project: Project, home: Path, open_store: Callable[[Path], FileStore], clock: Clock
) -> str:
    """Let a clone use its repository's memory; the message for the user, empty if nothing changed."""
    holder = holder_of(project.remote, home)
    known = read_identity(project.folder)
    decided = known is not None and bool(known.continues or known.adopted or known.apart)
    if holder is None or decided or continued(holder) == project.folder:
        return ""
    holder = continued(holder)
    if not _confirmed(project, holder):
        return (
            f"{project.root} names {project.remote} as its remote but does not have its first commit "
            "itself, so it does not use that memory; if it should: reverie adopt --from "
            f"{holder.name}"
        )
    brought = 0
    if has_memory(project.folder):
        try:
            brought = _bring(open_store(project.folder), open_store(holder), clock)
        except ReverieError as error:
            return f"the memory of this clone was not joined with that of {project.remote}: {error}"
    seen = known or Identity(str(project.root))
    write_identity(project.folder, replace(seen, remote=project.remote, continues=holder.name))
    moved = f"; {brought} of this clone's own memories moved over" if brought else ""
    return (
        f"this clone of {project.remote} now uses the repository's memory{moved} "
        "(undo with `reverie adopt --undo`)"
    )


def _confirmed(project: Project, holder: Path) -> bool:
    known = read_identity(holder)
    if known is None:
        return False
    # An empty repository had no first commit when its memory began.
    first = known.first_commit or identify(Path(known.root)).first_commit
    same = bool(first) and identify(project.root).first_commit == first
    return same and has_own_objects(project.root)


def _bring(source: FileStore, target: FileStore, clock: Clock) -> int:
    """Merge one store and its history into another; how many files came."""
    HistoryMerge(source, clock).begin()
    merge = HistoryMerge(target, clock)
    merge.begin()
    remote = merge.repo.remotes.create_anonymous(str(source.history.git_dir))
    remote.fetch([f"+refs/heads/main:{_BROUGHT}"])
    theirs = str(merge.repo.references[_BROUGHT].peel(pygit2.Commit).id)
    report = merge.merge(theirs, "another clone")
    merge.repo.references.delete(_BROUGHT)
    return len(report.pulled)
