"""Typed operations on libgit2 trees and repositories, for the history."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType, Option

from reverie.errors import StorageError
from reverie.files.atomic import flush, make_private

_MANY = 32

# From this many entries on, the files of a tree are spread over subfolders.
SPREAD_FROM = 1_024

_ENTRY = re.compile(rb"[0-7]+ [^\0]+\0.{20}", re.DOTALL)
# The subfolders of a spread tree. No memory has such a name: hidden names are refused.
_PART = re.compile(r"\.[0-9a-f]{2}")
_PART_IN_PATCH = re.compile(r"(?<=[ab]/)\.[0-9a-f]{2}/")

# Lock files of the references that writers change; they survive a killed process.
_LOCKS = ("HEAD.lock", "refs/heads/main.lock", "refs/reverie/pending.lock")


def open_repository(git_dir: Path) -> pygit2.Repository:
    """Open the repository, or create it elsewhere and rename it, so that it is never incomplete."""
    # Objects and references must be on disk before the files that rely on them.
    pygit2.option(Option.ENABLE_FSYNC_GITDIR, 1)
    # zlib checks every object, too; hashing a large tree at each read is slow.
    pygit2.option(Option.ENABLE_STRICT_HASH_VERIFICATION, 0)
    with explained(git_dir):
        if not (git_dir / "HEAD").is_file():
            made = beside(git_dir, "new")
            shutil.rmtree(made, ignore_errors=True)
            new_repository(made).free()
            move(made, git_dir)
        return pygit2.Repository(str(git_dir))


@contextmanager
def explained(git_dir: Path) -> Iterator[None]:
    """Turn errors of the library and the disk into StorageError."""
    try:
        yield
    except (pygit2.GitError, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        full = "; nothing was changed: free some space and try again"
        hint = full if "No space left" in reason else ""
        raise StorageError(f"cannot use the history {git_dir}: {reason}{hint}") from error


def beside(git_dir: Path, state: str) -> Path:
    """The path of a repository while it is created or replaced."""
    return git_dir.with_name(f"{git_dir.name}.{state}")


def move(source: Path, target: Path) -> None:
    """Rename durably."""
    source.rename(target)
    flush(target.parent)


def mend(git_dir: Path) -> None:
    """Repair what a dead writer left behind; only while no other writer can run."""
    old = beside(git_dir, "old")
    if old.exists() and not git_dir.exists():
        move(old, git_dir)
    # A replaced history may contain a memory that was to be forgotten.
    for left in (old, beside(git_dir, "new")):
        if left.exists():
            shutil.rmtree(left, ignore_errors=True)
    for lock in _LOCKS:
        (git_dir / lock).unlink(missing_ok=True)


@contextmanager
def in_bulk(count: int) -> Iterator[None]:
    """Flush the disk once at the end instead of once per object, if there are many."""
    if count < _MANY:
        yield
        return
    pygit2.option(Option.ENABLE_FSYNC_GITDIR, 0)
    try:
        yield
        os.sync()
    finally:
        pygit2.option(Option.ENABLE_FSYNC_GITDIR, 1)


def new_repository(git_dir: Path) -> pygit2.Repository:
    make_private(git_dir.parent)
    made = pygit2.init_repository(str(git_dir), bare=True, initial_head="main")
    # The library flushes objects, but not the files of a new repository.
    for path in (*git_dir.rglob("*"), git_dir):
        flush(path)
    return made


def damaged_objects(git_dir: Path) -> Iterator[str]:
    """The ids of objects that are not whole; libgit2 would read one that was cut forever."""
    for path in sorted((git_dir / "objects").glob("[0-9a-f][0-9a-f]/*")):
        unpacked = zlib.decompressobj()
        with suppress(OSError, zlib.error):
            unpacked.decompress(path.read_bytes())
        if not unpacked.eof:
            yield path.parent.name + path.name


def commit_of(repo: pygit2.Repository, id_: pygit2.Oid | str) -> pygit2.Commit:
    try:
        found: pygit2.Commit = repo[id_].peel(pygit2.Commit)
    except KeyError as error:
        raise pygit2.GitError(f"the object {id_} is missing") from error
    return found


def write_commit(
    repo: pygit2.Repository, tree: pygit2.Oid, parents: list[pygit2.Oid], who: str, message: str
) -> pygit2.Oid:
    """Write a commit object; the library's own function would read the whole tree again."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    text = "\n".join([*lines, f"author {who}", f"committer {who}", "", message])
    # A file name may contain bytes that are not text; a message must not contain NUL.
    return repo.write(ObjectType.COMMIT, text.replace("\0", "�").encode("utf-8", "replace"))


def blob_of(repo: pygit2.Repository, id_: pygit2.Oid | str) -> bytes | None:
    found = repo.get(id_)
    return bytes(found.data) if isinstance(found, pygit2.Blob) else None


def files_of(
    repo: pygit2.Repository, tree: pygit2.Tree, prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Every file below a tree: its path, and the id of its content."""
    for item in tree:
        if isinstance(item, pygit2.Tree):
            part = not prefix and _PART.fullmatch(item.name or "")
            yield from files_of(repo, item, "" if part else f"{prefix}{item.name}/")
        elif isinstance(item, pygit2.Blob):
            yield f"{prefix}{item.name}", str(item.id)


def contents_of(repo: pygit2.Repository, commit: pygit2.Oid | str) -> dict[str, bytes]:
    """The files of a commit with their bytes."""
    tree = commit_of(repo, commit).tree
    return {name: blob_of(repo, id_) or b"" for name, id_ in files_of(repo, tree)}


def changed_files(repo: pygit2.Repository, commit: pygit2.Commit) -> tuple[str, ...]:
    older = commit_of(repo, commit.parent_ids[0]).tree if commit.parent_ids else None
    diff = tree_diff(repo, older, commit.tree)
    return tuple(sorted(plain_path(delta.new_file.path) for delta in diff.deltas))


def tree_diff(
    repo: pygit2.Repository, older: pygit2.Tree | None, newer: pygit2.Tree
) -> pygit2.Diff:
    """The diff of two trees, whether their files are spread over subfolders or not."""
    if older is None:
        return newer.diff_to_tree(swap=True)
    if is_spread(older) == is_spread(newer):
        return older.diff_to_tree(newer)
    # The same file has different paths: compare files, then diff trees of those that differ.
    before, after = dict(files_of(repo, older)), dict(files_of(repo, newer))
    changed = [n for n in before.keys() | after.keys() if before.get(n) != after.get(n)]
    sides = []
    for side in (before, after):
        files = {n: pygit2.Oid(hex=side[n]) for n in changed if n in side}
        made = Folder([]).with_files(repo, files).write(repo)
        sides.append(repo[made].peel(pygit2.Tree))
    return sides[0].diff_to_tree(sides[1])


def is_spread(tree: pygit2.Tree) -> bool:
    """Whether the files of a tree are spread over subfolders."""
    return len(tree) > 0 and bool(_PART.fullmatch(next(iter(tree)).name or ""))


def part_of(path: str) -> str:
    """The subfolder of a spread tree that a file is in."""
    name = path.encode("utf-8", "surrogateescape")
    return f".{hashlib.sha1(name, usedforsecurity=False).hexdigest()[:2]}"


def plain_path(path: str) -> str:
    """A file's path without the subfolder of a spread tree."""
    return path[4:] if path[3:4] == "/" and _PART.fullmatch(path[:3]) else path


def plain_patch(patch: str) -> str:
    """A patch whose file names are without the subfolders of a spread tree."""
    head, at, rest = patch.partition("\n@@ ")
    return _PART_IN_PATCH.sub("", head) + at + rest


_PART_ENTRY = re.compile(rb"40000 \.[0-9a-f]{2}\0")


class Folder:
    """One level of a tree in git's encoding: `mode name NUL id`, in git's order.

    The library's builder sorts and checks every entry again; with thousands of memories that took
    twice as long as storing the result.

    A commit rewrites the whole folder in which a file changed. Many files are therefore spread over
    256 subfolders by the hash of their path: a commit then writes one subfolder and the list of all.
    Older trees are not changed; files are found in both kinds.
    """

    def __init__(self, entries: list[bytes]) -> None:
        self._entries = entries

    @classmethod
    def read(cls, repo: pygit2.Repository, id_: pygit2.Oid) -> Folder:
        return cls(_ENTRY.findall(repo.read(id_)[1]))

    def find(self, repo: pygit2.Repository, path: str) -> pygit2.Oid | None:
        """The id of a file, by its path."""
        if self.spread:
            path = f"{part_of(path)}/{path}"
        name, slash, rest = path.partition("/")
        at, exists = self._position(f"{name}{slash}")
        if not exists:
            return None
        id_ = pygit2.Oid(raw=self._entries[at][-20:])
        return Folder.read(repo, id_).find(repo, rest) if slash else id_

    def with_files(self, repo: pygit2.Repository, files: Mapping[str, pygit2.Oid | None]) -> Folder:
        """A copy with files set or removed (None); each affected subfolder is written once."""
        if self.spread:
            files = {f"{part_of(path)}/{path}": blob for path, blob in files.items()}
        made = Folder(self._entries.copy())
        below: dict[str, dict[str, pygit2.Oid | None]] = {}
        for path, blob in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = blob
            else:
                made._set(name, "100644", blob)
        for name, changes in below.items():
            at, exists = made._position(f"{name}/")
            old = (
                Folder.read(repo, pygit2.Oid(raw=made._entries[at][-20:])) if exists else Folder([])
            )
            inner = old.with_files(repo, changes)
            made._set(f"{name}/", "40000", inner.write(repo) if inner._entries else None)
        return made

    def write(self, repo: pygit2.Repository) -> pygit2.Oid:
        return repo.write(ObjectType.TREE, b"".join(self._entries))

    @property
    def spread(self) -> bool:
        return bool(self._entries) and bool(_PART_ENTRY.match(self._entries[0]))

    @property
    def crowded(self) -> bool:
        """Whether the folder has too many entries and its files should be spread."""
        return len(self._entries) >= SPREAD_FROM and not self.spread

    def spread_out(self, repo: pygit2.Repository) -> Folder:
        """A copy with the files spread over subfolders."""
        parts: dict[str, dict[str, pygit2.Oid | None]] = {}
        for path, blob in self._files(repo):
            parts.setdefault(part_of(path), {})[path] = blob
        made = Folder([])
        for name, files in parts.items():
            made._set(f"{name}/", "40000", Folder([]).with_files(repo, files).write(repo))
        return made

    def _files(self, repo: pygit2.Repository, prefix: str = "") -> Iterator[tuple[str, pygit2.Oid]]:
        for entry in self._entries:
            mode, _, rest = entry.partition(b" ")
            path = prefix + rest[:-21].decode("utf-8", "surrogateescape")
            id_ = pygit2.Oid(raw=entry[-20:])
            if mode == b"40000":
                yield from Folder.read(repo, id_)._files(repo, f"{path}/")
            else:
                yield path, id_

    def _set(self, name: str, mode: str, id_: pygit2.Oid | None) -> None:
        """`name` ends with a slash for a folder; a file and a folder cannot share a name."""
        for kind in (name.rstrip("/"), f"{name.rstrip('/')}/"):
            at, exists = self._position(kind)
            if exists and (id_ is not None or kind == name):
                del self._entries[at]
        if id_ is not None:
            at, _ = self._position(name)
            self._entries.insert(at, f"{mode} {name.rstrip('/')}\0".encode() + id_.raw)

    def _position(self, name: str) -> tuple[int, bool]:
        """The index where an entry is or belongs, and whether it exists."""
        wanted = name.encode("utf-8", "surrogateescape")
        at = bisect_left(self._entries, wanted, key=_sort_key)
        return at, at < len(self._entries) and _sort_key(self._entries[at]) == wanted


def _sort_key(entry: bytes) -> bytes:
    """Git sorts folders as if their names ended with a slash."""
    mode, _, rest = entry.partition(b" ")
    return rest[:-21] + b"/" if mode == b"40000" else rest[:-21]


def stored(
    repo: pygit2.Repository, files: Mapping[str, bytes | None]
) -> dict[str, pygit2.Oid | None]:
    """Store contents in the repository and return their ids."""
    return {n: None if data is None else repo.create_blob(data) for n, data in files.items()}


def tree_of(
    repo: pygit2.Repository,
    tree: pygit2.Tree | None,
    files: Mapping[str, bytes | None],
    *,
    spread: bool = False,
) -> pygit2.Oid:
    """The id of a tree with these contents set or removed."""
    old = Folder([]) if tree is None else Folder.read(repo, tree.id)
    made = old.with_files(repo, stored(repo, files))
    return (made.spread_out(repo) if spread else made).write(repo)


def merged(repo: pygit2.Repository, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """A three-way merge of one file; None when the two sides conflict."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    first, second, third = (
        pygit2.IndexEntry("memory.md", repo.create_blob(side), FileMode.BLOB)
        for side in (base, ours, theirs)
    )
    try:
        result = repo.merge_file_from_index(first, second, third)
    except UnicodeDecodeError:
        return None
    return str(result.contents).encode() if result.automergeable else None
