"""A git tree that somebody else made: its memories, and what of it is refused.

Nothing here is believed. Names are judged like a model's, links, programs and submodules are not
files, a tree may be a bomb, and two names may be one file on another disk.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pygit2
from pygit2.enums import FileMode

from reverie.errors import InputError, StorageError
from reverie.memory.manifest import INDEX_FILE, is_index
from reverie.memory.paths import Refused, check_name
from reverie.memory.topic import LARGEST_FILE
from reverie.stores.git_trees import blob_of
from reverie.stores.team_merge import is_same

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
