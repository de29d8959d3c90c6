"""A git tree that somebody else made: its memories, and what of it is refused.

Nothing here is believed. Names are judged like a model's, links, programs and submodules are not
files, a tree may be a bomb, and two names may be one file on another disk.
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
from reverie.memory.team.merge import (
    Files,
    Merge,
    Merged,
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
    """A file that was not taken or not given, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForeignTree:
    """The memories in a tree that may be used, and everything else in it."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()


def read_tree(
    repo: pygit2.Repository, tree: pygit2.Tree, ours: Mapping[str, bytes], judge: Judge
) -> ForeignTree:
    """Everything in a tree, sorted into memories and refusals; what we hold already needs no judge."""
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
    """Paths with their objects, or with the reason why nothing under a path is looked at."""
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
    # The size is read from the object's header: a file of a gigabyte is refused unread.
    _, size = repo.odb.read_header(item.id)
    if size > LARGEST_FILE:
        return f"it has {size:,} bytes; a memory holds at most {LARGEST_FILE:,}"
    data = blob_of(repo, item.id)
    return f"{path} is not a file" if data is None else data


def _twin(path: str, spellings: dict[str, str]) -> str | None:
    """Names that differ in case or accents alone are one file on some disks: the first one stays."""
    first = spellings.setdefault(folded(path), path)
    return None if first == path else f"it would be the same file as {first!r} on some disks"


def _judged(path: str, data: bytes, ours: Mapping[str, bytes], judge: Judge) -> bytes | str:
    return data if is_same(ours.get(path), data) else judge(path, data) or data


def folded(path: str) -> str:
    """What all spellings of one file have in common, on disks that do not tell them apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


Changes: TypeAlias = Mapping[str, bytes | None]

# Removing this many memories at once, and leaving none, is an accident.
_EVERYTHING = 3


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes to the team, and what must not."""

    changes: Changes
    refused: tuple[Refusal, ...]


class TeamMerge:
    """`base` is what the team had when both last met, as far as it was accepted.

    `objection` says why a file may not be shared, `holds_secret` judges a line of the index.
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
        """Refuse a branch that is no memory, and a loss that nobody can have meant."""
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
                "were not removed for everybody: `reverie undo` brings back what was lost here"
            )

    @cached_property
    def merged(self) -> Merged:
        """What becomes of our files, the index included."""
        made = merge_files(self._base, self._ours, self._theirs, self._left_out, self._merge)
        index = indexes.render(self._pointed(self._index(self._ours), made))
        if index != self._ours.get(INDEX_FILE, b""):
            made.changes[INDEX_FILE] = index
        return made

    @property
    def incoming(self) -> tuple[Change, ...]:
        """The changes to make here, each based on what we saw."""
        changes: list[Change] = []
        for name, data in self.merged.changes.items():
            base = version(self._ours[name]) if name in self._ours else None
            if data is not None and name != INDEX_FILE:
                changes.append(Put(name, data, base))
            elif data is None and base is not None:
                changes.append(Drop(name, base))
        return tuple(changes)

    def index_here(self, index: Index) -> Index:
        """Our index, as it is by now, with the pointers both sides agree on."""
        return self._pointed(index, self.merged)

    @property
    def accepted(self) -> dict[str, bytes]:
        """What the team has now; of what is refused, what it was before: the next base."""
        before = {name: data for name, data in self._base.items() if name in self._left_out}
        return {**before, **self._theirs}

    def outgoing(self) -> Outgoing:
        """What the team's tree lacks to say what ours says: judged anew each time, file by file."""
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
            Refusal(INDEX_FILE, f"its line for {name} is not passed on: it holds a secret")
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
        """Files of ours that the team does not have like this, with what stands against sharing."""
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
        """A refused index counts as one that did not change."""
        return self._index(self._base if INDEX_FILE in self._left_out else self._theirs)

    @cached_property
    def _held(self) -> frozenset[str]:
        """Files about which one side says what must not travel: both keep their line."""
        here, there = pointers(self._index(self._ours)), pointers(self._their_index)
        differing = {*here.items()} ^ {*there.items()}
        return frozenset(name for name, line in differing if self._holds_secret(line.render()))

    def _decided(self, here: Files) -> frozenset[str]:
        """Files whose pointers were merged; lines about anything else stay as they are."""
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
            # A file that one side removed and that stays needs the pointer somebody still has.
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
