"""Trees and repositories of libgit2: the few operations history needs, typed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, Option

from reverie.errors import StorageError

_MANY = 32


# References that writers lock; a lock of git's outlives a process that was killed.
_LOCKS = ("HEAD.lock", "refs/heads/main.lock", "refs/reverie/pending.lock")


def open_repository(git_dir: Path) -> pygit2.Repository:
    """Open the repository, or make it: beside its place, so that it is never there by halves."""
    # Objects and references must be on disk before the files that rely on them.
    pygit2.option(Option.ENABLE_FSYNC_GITDIR, 1)
    # Every object carries a checksum of zlib's too; hashing a large tree at each reading is slow.
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
    """Errors of the library and the disk below it, as ours."""
    try:
        yield
    except (pygit2.GitError, OSError) as error:
        raise StorageError(f"cannot use the history {git_dir}: {error}") from error


def beside(git_dir: Path, state: str) -> Path:
    """Where a repository is while another takes its place."""
    return git_dir.with_name(f"{git_dir.name}.{state}")


def move(source: Path, target: Path) -> None:
    """A rename that outlives a power cut."""
    source.rename(target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def mend(git_dir: Path) -> None:
    """Put right what a dead writer left; only where no other can be at work."""
    old = beside(git_dir, "old")
    if old.exists() and not git_dir.exists():
        move(old, git_dir)
    # What was to be forgotten must not stay in a history that was replaced.
    for left in (old, beside(git_dir, "new")):
        if left.exists():
            shutil.rmtree(left, ignore_errors=True)
    for lock in _LOCKS:
        (git_dir / lock).unlink(missing_ok=True)


@contextmanager
def in_bulk(count: int) -> Iterator[None]:
    """Many objects at once: one flush of the disk at the end instead of one for each."""
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
    git_dir.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = pygit2.init_repository(str(git_dir), bare=True, initial_head="main")
    # The library flushes what it writes into a repository, but not the repository it makes.
    for path in (*git_dir.rglob("*"), git_dir):
        _flush(path)
    return made


def commit_of(repo: pygit2.Repository, id_: pygit2.Oid | str) -> pygit2.Commit:
    found: pygit2.Commit = repo[id_].peel(pygit2.Commit)
    return found


def blob_of(repo: pygit2.Repository, id_: pygit2.Oid | str) -> bytes | None:
    found = repo.get(id_)
    return bytes(found.data) if isinstance(found, pygit2.Blob) else None


def file_of(tree: pygit2.Tree, name: str) -> bytes | None:
    """A file of a tree, by its path."""
    try:
        found = tree[name]
    except KeyError:
        return None
    return bytes(found.data) if isinstance(found, pygit2.Blob) else None


def files_of(
    repo: pygit2.Repository, tree: pygit2.Tree, prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Every file below a tree: its path, and the id of its content."""
    for item in tree:
        if isinstance(item, pygit2.Tree):
            yield from files_of(repo, item, f"{prefix}{item.name}/")
        elif isinstance(item, pygit2.Blob):
            yield f"{prefix}{item.name}", str(item.id)


def changed_files(repo: pygit2.Repository, commit: pygit2.Commit) -> tuple[str, ...]:
    if commit.parent_ids:
        diff = commit_of(repo, commit.parent_ids[0]).tree.diff_to_tree(commit.tree)
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    return tuple(delta.new_file.path for delta in diff.deltas)


def with_files(
    repo: pygit2.Repository, tree: pygit2.Tree | None, files: Mapping[str, pygit2.Oid | None]
) -> pygit2.Tree | None:
    """A tree with files set or removed (None); each folder on their way is written once."""
    builder = repo.TreeBuilder(tree) if tree is not None else repo.TreeBuilder()
    below: dict[str, dict[str, pygit2.Oid | None]] = {}
    for path, blob in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = blob
        else:
            _set(builder, name, blob, FileMode.BLOB)
    for name, inner in below.items():
        old = builder.get(name)
        made = with_files(repo, old if isinstance(old, pygit2.Tree) else None, inner)
        _set(builder, name, None if made is None else made.id, FileMode.TREE)
    if not len(builder):
        return None
    found: pygit2.Tree = repo[builder.write()].peel(pygit2.Tree)
    return found


def _set(builder: pygit2.TreeBuilder, name: str, id_: pygit2.Oid | None, mode: FileMode) -> None:
    if id_ is not None:
        builder.insert(name, id_, mode)
    elif builder.get(name) is not None:
        builder.remove(name)


def tree_of(
    repo: pygit2.Repository, tree: pygit2.Tree | None, files: Mapping[str, bytes | None]
) -> pygit2.Oid:
    """The id of a tree with these contents set or removed."""
    blobs = {n: None if data is None else repo.create_blob(data) for n, data in files.items()}
    made = with_files(repo, tree, blobs)
    return repo.TreeBuilder().write() if made is None else made.id


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
