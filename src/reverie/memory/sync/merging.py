"""Merge another copy of a memory, with its whole history, into this one, file by file.

Both copies are commits of one git directory. Their last common commit is the base. The result is a
commit with both as parents, so that log, blame and undo see the changes of both. On a conflict the
other version keeps its name and ours is saved beside it: nothing is lost on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pygit2

from reverie.errors import ReverieError, StorageError, WriteConflict
from reverie.memory.directory import Directory
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Change, Drop, Put, render_message, version
from reverie.memory.format.topic import LARGEST_FILE
from reverie.memory.git_trees import blob_of, commit_of, files_of, is_spread, open_repository
from reverie.memory.history import MAIN
from reverie.memory.locations import (
    Identity,
    continued,
    has_memory,
    holder_of,
    identify,
    read_identity,
    write_identity,
)
from reverie.memory.store import FileStore
from reverie.memory.team.accepting import Refusal, read_tree
from reverie.memory.team.merge import Conflict, Files, Merge, merge_pointers, with_pointers
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


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """The new content of our files (None: removed), and conflicts."""

    changes: Mapping[str, bytes | None]
    conflicts: tuple[Conflict, ...] = ()


def three_way(
    base: Files, ours: Files, theirs: Files, merge: Merge, left_out: Set[str] = frozenset()
) -> ThreeWay:
    """Merge file by file; the index is not a file here, its lines are merged by pointers."""
    changes: dict[str, bytes | None] = {}
    conflicts: list[Conflict] = []
    for file in sorted({*base, *ours, *theirs} - {INDEX_FILE} - left_out):
        was, here, there = base.get(file), ours.get(file), theirs.get(file)
        if there in (was, here):
            continue
        if here == was:
            changes[file] = there
        elif there is None:
            conflicts.append(Conflict(file, "removed elsewhere, changed here: it stays"))
        elif here is None:
            changes[file] = there
            conflicts.append(Conflict(file, "removed here, changed elsewhere: it is back"))
        elif (clean := _clean(was, here, there, merge)) is not None:
            changes[file] = clean
        else:
            beside = name_beside(file, here, {**theirs, **ours})
            changes |= {file: there, beside: here}
            reason = "changed here and elsewhere: the other keeps its name"
            conflicts.append(Conflict(file, reason, beside))
    return ThreeWay(changes, tuple(conflicts))


def _clean(was: bytes | None, here: bytes, there: bytes, merge: Merge) -> bytes | None:
    merged = None if was is None else merge(was, here, there)
    return None if merged is None or len(merged) > LARGEST_FILE else merged


def name_beside(file: str, data: bytes, known: Files) -> str:
    """A name for our version, derived from its content, so that a repeated merge finds it."""
    path, id_ = PurePosixPath(file), version(data)
    stem = path.stem.encode()[:_LONGEST_STEM].decode(errors="ignore")
    names = [str(path.with_name(f"{stem}_conflict_{id_[:n]}.md")) for n in (8, 16, 40)]
    return next((name for name in names if known.get(name, data) == data), names[-1])


class HistoryMerge:
    """Merges commits that were fetched into a memory's git directory."""

    def __init__(self, store: FileStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.git_dir = store.history.git_dir
        self._directory = Directory(store.root)

    def begin(self) -> None:
        """Commit everything on disk; at least one commit exists after it."""
        with self._store.exclusively():
            if self._store.history.is_empty:
                self._store.history.record({}, _PERSON, "first sync of this memory")
        self.repo = open_repository(self.git_dir)

    @property
    def ours(self) -> str:
        return str(self.repo.references[MAIN].peel(pygit2.Commit).id)

    def contains(self, newer: str, older: str) -> bool:
        """Whether one commit is, or descends from, another."""
        return newer == older or self.repo.descendant_of(newer, older)

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
        found = self.repo.merge_base(before, theirs)
        ours = self._files(before)
        base = {} if found is None else self._files(str(found))
        tree = commit_of(self.repo, theirs).tree
        accepted = read_tree(self.repo, _flat(self.repo, tree), ours, self._objection)
        refused = {one.file for one in accepted.refused}
        wanted = three_way(base, ours, accepted.files, self._store.history.merge, refused)
        puts = [_change(file, data, ours) for file, data in wanted.changes.items()]
        files = {name for name in {**ours, **wanted.changes} if wanted.changes.get(name, b"")}

        def edit(index: Index) -> Index:
            there = indexes.parse(accepted.files.get(INDEX_FILE, b""))
            pointers = merge_pointers(index, there, indexes.parse(base.get(INDEX_FILE, b"")), files)
            return with_pointers(index, pointers, {*files, *wanted.changes})

        try:
            made = self._store.apply(puts, _PERSON, f"from {source}: {_shown(wanted)}", edit)
        except WriteConflict:
            return None
        self._join(before, None if made is None else made.id, theirs, source)
        return MergeReport(
            tuple(sorted(wanted.changes)),
            wanted.conflicts,
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
            who = pygit2.Signature("user", "reverie@localhost", int(self._clock.now()), 0)
            linked = self.repo.create_commit(
                None, who, who, message, newest.tree.id, [*parents, theirs]
            )
            self.repo.references.create(MAIN, linked, force=True)

    def _same_files(self, commit: pygit2.Commit, theirs: str) -> bool:
        other = commit_of(self.repo, theirs)
        return dict(files_of(self.repo, commit.tree)) == dict(files_of(self.repo, other.tree))

    def _files(self, commit: str) -> dict[str, bytes]:
        tree = commit_of(self.repo, commit).tree
        return {name: blob_of(self.repo, id_) or b"" for name, id_ in files_of(self.repo, tree)}

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


def _shown(wanted: ThreeWay) -> str:
    names = sorted(wanted.changes)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) + more) or "its history"


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
            f"{project.root} names {project.remote} as its remote but does not have its first "
            f"commit, so it does not use that memory; if it should: reverie adopt --from {holder.name}"
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
    return bool(first) and identify(project.root).first_commit == first


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
