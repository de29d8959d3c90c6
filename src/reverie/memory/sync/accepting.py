"""Read the team's git tree: accept its memories and refuse everything else.

The tree is untrusted. Names are checked like those of a model; links, executables and submodules
are refused; the tree may be too large; and two names may be one file on some file systems.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TypeAlias

import pygit2
from pygit2.enums import FileMode

from reverie.errors import InputError, StorageError
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index, Pointer
from reverie.memory.format.manifest import INDEX_FILE, is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.revisions import Change, Drop, Put, version
from reverie.memory.format.topic import LARGEST_FILE
from reverie.memory.git_trees import blob_of
from reverie.memory.sync.merge import (
    Files,
    Merge,
    Merged,
    TeamCopy,
    is_same,
    merge_files,
    merge_pointers,
    pointers,
    with_pointers,
)

MOST_ENTRIES = 20_000

Judge: TypeAlias = Callable[[str, bytes], str | None]

_NOT_A_FILE = {
    FileMode.LINK: "it is a symbolic link",
    FileMode.COMMIT: "it is a submodule",
    FileMode.BLOB_EXECUTABLE: "it is marked as a program",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was not pulled or not pushed, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForeignTree:
    """The accepted memories of a tree, and the refused files."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()


def read_tree(
    repo: pygit2.Repository, tree: pygit2.Tree, ours: Mapping[str, bytes], judge: Judge
) -> ForeignTree:
    """Sort a tree into memories and refusals; files we already have are not judged again."""
    files: dict[str, bytes] = {}
    refused: list[Refusal] = []
    spellings = {folded(name): name for name in ours}
    try:
        for path, item in _walk(tree):
            found = item if isinstance(item, str) else _content(repo, path, item)
            if isinstance(found, bytes):
                found = _twin(path, spellings) or _judged(path, found, ours, judge)
            if isinstance(found, bytes):
                files[path] = found
            else:
                refused.append(Refusal(path, found))
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise StorageError(f"the team's branch is damaged: {error}") from error
    return ForeignTree(files, tuple(refused))


def _walk(root: pygit2.Tree) -> Iterator[tuple[str, pygit2.Object | str]]:
    """Paths with their objects, or with the reason why a path is refused."""
    waiting = [("", root)]
    count = 0
    while waiting:
        prefix, tree = waiting.pop()
        for item in tree:
            count += 1
            if count > MOST_ENTRIES:
                raise InputError(
                    f"the team's branch holds more than {MOST_ENTRIES:,} files; "
                    "that is not a memory: give team memory a branch of its own"
                )
            path = f"{prefix}{item.name}"
            refusal = _bad_name(path, item)
            if refusal is None and item.filemode == FileMode.TREE:
                waiting.append((f"{path}/", item.peel(pygit2.Tree)))
            else:
                yield path, refusal or item


def _bad_name(path: str, item: pygit2.Object) -> str | None:
    name = item.name or ""
    if "/" in name:
        return "its name holds a slash"
    if item.filemode in _NOT_A_FILE:
        return _NOT_A_FILE[item.filemode]
    folder = item.filemode == FileMode.TREE
    if folder and name.casefold().endswith(".md"):
        return "it is a folder with the name of a file"
    verdict = check_name(f"{path}/a.md" if folder else path)
    if isinstance(verdict, Refused):
        return verdict.reason
    if is_index(path) and path != INDEX_FILE:
        return f"an index belongs at the top: {INDEX_FILE}"
    return None


def _content(repo: pygit2.Repository, path: str, item: pygit2.Object) -> bytes | str:
    # Read the size from the object's header, to refuse a huge file without reading it.
    _, size = repo.odb.read_header(item.id)
    if size > LARGEST_FILE:
        return f"it has {size:,} bytes; a memory holds at most {LARGEST_FILE:,}"
    data = blob_of(repo, item.id)
    return f"{path} is not a file" if data is None else data


def _twin(path: str, spellings: dict[str, str]) -> str | None:
    """Refuse a name that differs from an earlier one only in case or Unicode form."""
    first = spellings.setdefault(folded(path), path)
    return None if first == path else f"it would be the same file as {first!r} on some disks"


def _judged(path: str, data: bytes, ours: Mapping[str, bytes], judge: Judge) -> bytes | str:
    return data if is_same(ours.get(path), data) else judge(path, data) or data


def folded(path: str) -> str:
    """A form that is equal for all spellings that some file systems do not distinguish."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


Changes: TypeAlias = Mapping[str, bytes | None]

# Removing at least this many memories and leaving none is an accident.
_EVERYTHING = 3


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The changes to push, and the files that must not be pushed."""

    changes: Changes
    refused: tuple[Refusal, ...]


class TeamMerge:
    """The merge of our files with the team's.

    `base` is what we accepted of the team's files at the last sync. `objection` says why a file may
    not be shared, `holds_secret` checks a line of the index.
    """

    def __init__(
        self,
        base: Files,
        ours: Files,
        theirs: ForeignTree,
        merge: Merge,
        objection: Callable[[str, bytes], str | None],
        holds_secret: Callable[[str], bool],
    ) -> None:
        self._base = base
        self._ours = ours
        self._theirs = theirs.files
        self.refused = theirs.refused
        self._merge = merge
        self._objection = objection
        self._holds_secret = holds_secret

    def check(self) -> None:
        """Refuse a branch that is not a memory, and the removal of all memories."""
        if not self._base and INDEX_FILE not in self._theirs and self.refused:
            raise InputError(
                f"this branch is not a team memory: it has no {INDEX_FILE}, but "
                f"{self.refused[0].file!r} ({self.refused[0].reason}); give team memory a branch "
                "of its own, such as reverie-memory"
            )
        memories = self._base.keys() & self._theirs.keys() - {INDEX_FILE}
        if len(memories) >= _EVERYTHING and not self._ours.keys() - {INDEX_FILE}:
            raise InputError(
                f"the team folder is empty here, and the team has {len(memories)} memories; they "
                "were not removed for the team: `reverie undo` restores what was lost here"
            )

    @cached_property
    def merged(self) -> Merged:
        """The merged files, including the index."""
        made = merge_files(
            self._base, self._ours, self._theirs, self._left_out, self._merge, TeamCopy()
        )
        index = indexes.render(self._pointed(self._index(self._ours), made))
        if index != self._ours.get(INDEX_FILE, b""):
            made.changes[INDEX_FILE] = index
        return made

    @property
    def incoming(self) -> tuple[Change, ...]:
        """The changes to make here, each based on the version that was merged."""
        changes: list[Change] = []
        for name, data in self.merged.changes.items():
            base = version(self._ours[name]) if name in self._ours else None
            if data is not None and name != INDEX_FILE:
                changes.append(Put(name, data, base))
            elif data is None and base is not None:
                changes.append(Drop(name, base))
        return tuple(changes)

    def index_here(self, index: Index) -> Index:
        """Our current index with the merged pointers."""
        return self._pointed(index, self.merged)

    @property
    def accepted(self) -> dict[str, bytes]:
        """The next base: the team's files, and the former version of refused ones."""
        before = {name: data for name, data in self._base.items() if name in self._left_out}
        return {**before, **self._theirs}

    def outgoing(self) -> Outgoing:
        """The changes that make the team's tree equal to ours, file by file, each checked again."""
        here = self._after(self._ours, self.merged.changes)
        gone = self._theirs.keys() - here.keys() - {INDEX_FILE}
        changes: dict[str, bytes | None] = dict.fromkeys(sorted(gone))
        refused: list[Refusal] = []
        for name, reason in self._unshared(here):
            if reason is None:
                changes[name] = here[name]
            else:
                refused.append(Refusal(name, f"not shared: {reason}"))
        refused += [
            Refusal(INDEX_FILE, f"its line for {name} is not shared: it holds a secret")
            for name in sorted(self._held)
        ]
        return Outgoing(changes | self._shared_index(here, changes), tuple(refused))

    # --- files ---

    @property
    def _left_out(self) -> frozenset[str]:
        return frozenset(refusal.file for refusal in self.refused)

    @staticmethod
    def _after(files: Files, changes: Changes) -> dict[str, bytes]:
        after = {**files, **changes}
        return {name: data for name, data in after.items() if data is not None}

    def _unshared(self, here: Files) -> Iterator[tuple[str, str | None]]:
        """Our files that differ from the team's, with the objection against sharing, if any."""
        there = {folded(name): name for name in (*self._theirs, *self._left_out)}
        for name in sorted(here.keys() - self._left_out - {INDEX_FILE}):
            if not is_same(here[name], self._theirs.get(name)):
                yield name, self._in_the_way(name, there) or self._objection(name, here[name])

    def _in_the_way(self, name: str, there: Mapping[str, str]) -> str | None:
        for folder in PurePosixPath(name).parents:
            if str(folder) in self._left_out:
                return f"the team has something else under {str(folder)!r}"
        twin = there.get(folded(name), name)
        return None if twin == name else f"on some disks it is the same file as {twin!r}"

    # --- the index ---

    @staticmethod
    def _index(side: Files) -> Index:
        return indexes.parse(side.get(INDEX_FILE, b""))

    @cached_property
    def _their_index(self) -> Index:
        """The team's index; a refused one counts as unchanged."""
        return self._index(self._base if INDEX_FILE in self._left_out else self._theirs)

    @cached_property
    def _held(self) -> frozenset[str]:
        """Files whose line has a secret on one side: both sides keep their line."""
        here, there = pointers(self._index(self._ours)), pointers(self._their_index)
        differing = {*here.items()} ^ {*there.items()}
        return frozenset(name for name, line in differing if self._holds_secret(line.render()))

    def _decided(self, here: Files) -> frozenset[str]:
        """Files whose pointers were merged; all other lines stay."""
        return frozenset({*self._base, *self._theirs, *here}) - self._left_out - self._held

    def _pointed(self, index: Index, made: Merged) -> Index:
        here = self._after(self._ours, made.changes)
        return with_pointers(index, self._wanted(made, here.keys()), self._decided(here))

    def _wanted(self, made: Merged, files: Set[str]) -> dict[str, Pointer]:
        sides = (self._index(self._ours), self._their_index, self._index(self._base))
        wanted = merge_pointers(*sides, files)
        known = [pointers(side) for side in sides]
        for conflict in made.conflicts:
            file = conflict.file
            # If one side removed a file that stays, keep the other side's pointer.
            kept = [side[file] for side in known if file in side]
            wanted |= {file: kept[0]} if kept else {}
            if conflict.beside is not None:
                title = f"{file} in another version"
                hook = f"differs from {file}: keep what is right, remove the other"
                wanted[conflict.beside] = Pointer(title, conflict.beside, hook)
        return wanted

    def _shared_index(self, here: Files, changes: Changes) -> dict[str, bytes | None]:
        if INDEX_FILE in self._left_out:
            return {}
        after = self._after(self._theirs, changes)
        wanted = {n: p for n, p in self._wanted(self.merged, here.keys()).items() if n in after}
        fresh = indexes.render(with_pointers(self._their_index, wanted, self._decided(here)))
        return {INDEX_FILE: fresh} if fresh != self._theirs.get(INDEX_FILE, b"") else {}
