"""The history of a memory directory: every change is a commit in a separate git directory.

Commits are made with libgit2, in process, with fsync on. A change is written ahead: its commit is
stored as `refs/reverie/pending` before any file is touched, and becomes `main` when all files are
in place. A writer that finds a pending commit completes it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pygit2
from pygit2.enums import SortMode

from reverie.errors import InputError
from reverie.memory import packing
from reverie.memory.derived_history import Blame, BlamedLine
from reverie.memory.format.revisions import (
    Author,
    Revision,
    only_id,
    parse_message,
    render_message,
    version,
)
from reverie.memory.git_trees import (
    Folder,
    beside,
    blob_of,
    changed_files,
    commit_of,
    explained,
    files_of,
    in_bulk,
    is_spread,
    mend,
    merged,
    move,
    new_repository,
    open_repository,
    plain_patch,
    plain_path,
    stored,
    tree_diff,
    tree_of,
    write_commit,
)
from reverie.ports import Clock

MAIN = "refs/heads/main"
PENDING = "refs/reverie/pending"

_PART_OF_ID = re.compile(r"[0-9a-fA-F]{1,39}")
# Ids of revisions in a commit message: complete, or the ten characters that users see.
_MENTIONED = re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{10})\b")


P = ParamSpec("P")
T = TypeVar("T")


def _explaining(
    method: Callable[Concatenate[GitHistory, P], T],
) -> Callable[Concatenate[GitHistory, P], T]:
    """Tell a damaged history in words, whatever is read first."""

    @wraps(method)
    def told(self: GitHistory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with explained(self.git_dir):
            return method(self, *args, **kwargs)

    return told


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that was written ahead: the new and the old content of each file."""

    id: str
    files: Mapping[str, bytes | None]
    before: Mapping[str, bytes | None]


class GitHistory:
    """The history of one memory directory."""

    def __init__(self, git_dir: Path, clock: Clock, *, flat: bool = False) -> None:
        """`flat`: never spread the files of a commit's tree over subfolders."""
        self.git_dir = git_dir
        self._clock = clock
        self._flat = flat
        self._opened: pygit2.Repository | None = None
        # Cached: reading a large tree takes longer than the rest of a write.
        self._newest: tuple[str, Folder] | None = None

    # --- writing ---

    def begin(self, files: Mapping[str, bytes | None], author: Author, summary: str) -> Pending:
        """Write a change ahead: after this it is completed even if the process dies."""
        before = {name: self.read(name) for name in files}
        commit = self._commit(files, author, summary)
        self._repo.references.create(PENDING, commit, force=True)
        return Pending(str(commit), files, before)

    def finish(self, pending: Pending) -> Revision:
        """Make the pending change the newest revision; all files are in place."""
        repo = self._repo
        repo.references.create(MAIN, pending.id, force=True)
        repo.references.delete(PENDING)
        return self._revision(commit_of(repo, pending.id), tuple(pending.files))

    def abandon(self) -> None:
        """Drop the pending change; no file was touched."""
        if self._repo.references.get(PENDING) is not None:
            self._repo.references.delete(PENDING)

    def mend(self) -> None:
        """Repair what a dead writer left in the repository. Only under the lock."""
        mend(self.git_dir)

    def pending(self) -> Pending | None:
        """A change whose writer died before finishing it. Only under the lock."""
        if not self.exists:
            return None
        reference = self._repo.references.get(PENDING)
        if reference is None:
            return None
        commit = commit_of(self._repo, reference.target)
        parents = commit.parent_ids
        head = self._head()
        if parents != ([] if head is None else [head]):
            # It does not follow `main`: it was finished, but its reference was not deleted.
            reference.delete()
            return None
        names = changed_files(self._repo, commit)
        before = {name: self._read_at(parents[0], name) if parents else None for name in names}
        return Pending(
            str(commit.id), {name: self._read_at(commit.id, name) for name in names}, before
        )

    def unfinished(self) -> tuple[str, ...]:
        """Files of a change that is in progress or whose writer died; read without the lock."""
        if not self.exists:
            return ()
        head = self._head()
        with explained(self.git_dir):
            reference = self._repo.references.get(PENDING)
            if reference is None:
                return ()
            commit = commit_of(self._repo, reference.target)
            follows = commit.parent_ids == ([] if head is None else [head])
            return changed_files(self._repo, commit) if follows else ()

    def record(self, files: Mapping[str, bytes | None], author: Author, summary: str) -> Revision:
        """Commit a change that is already on disk (a hand edit, an import)."""
        repo = self._repo
        with in_bulk(len(files)):
            commit = self._commit(files, author, summary)
        repo.references.create(MAIN, commit, force=True)
        return self._revision(commit_of(repo, commit), tuple(files))

    def pack_if_due(self) -> bool:
        """Start packing loose objects in another process, if there are many."""
        return packing.begin(self.git_dir)

    # --- reading ---

    @property
    def exists(self) -> bool:
        return (self.git_dir / "HEAD").is_file()

    @property
    def is_empty(self) -> bool:
        return self._head() is None

    @_explaining
    def read(self, file: str, revision: str | None = None) -> bytes | None:
        """A file's content in a revision (default: the newest)."""
        head = self._find(revision) if revision else self._head()
        return None if head is None else self._read_at(head, file)

    def version(self, file: str) -> str | None:
        """The version of a file in the newest revision."""
        data = self.read(file)
        return None if data is None else version(data)

    @_explaining
    def content(self, wanted: str) -> bytes | None:
        """Content by its version, from anywhere in the history."""
        return blob_of(self._repo, wanted) if self.exists else None

    @_explaining
    def files(self, revision: str | None = None) -> dict[str, str]:
        """Every file of a revision, with its version."""
        head = self._find(revision) if revision else self._head()
        return {} if head is None else dict(files_of(self._repo, commit_of(self._repo, head).tree))

    @_explaining
    def revision(self, wanted: str) -> Revision:
        """A revision by its id, a prefix of it, or an expression such as `HEAD~2`."""
        # Find it first: opening a missing repository would create one.
        id_ = self._find(wanted)
        return self._revision(commit_of(self._repo, id_))

    @_explaining
    def as_of(self, moment: datetime) -> Revision | None:
        """The newest revision of this directory at a given time."""
        limit = moment.astimezone(UTC).timestamp()
        head = self._head()
        if head is None:
            return None
        # First parents only: a team member's commit was not here before it was merged.
        walk = self._repo.walk(head)
        walk.simplify_first_parent()
        found = next((commit for commit in walk if commit.commit_time <= limit), None)
        return None if found is None else self._revision(found)

    def log(self, file: str | None = None) -> Iterator[Revision]:
        """Revisions, newest first; with a file, only those that changed it."""
        head = self._head()
        if head is None:
            return
        with explained(self.git_dir):
            for commit in self._repo.walk(head):
                found = self._revision(commit)
                if file is None or file in found.files:
                    yield found

    @_explaining
    def diff(self, old: str | None, new: str | None = None, file: str | None = None) -> str:
        """The patch between two revisions; `old` None: from the beginning."""
        newest = self._find(new) if new else self._require_head()
        newer = commit_of(self._repo, newest).tree
        older = commit_of(self._repo, self._find(old)).tree if old else None
        patches = [p for p in tree_diff(self._repo, older, newer) if p is not None]
        # A spread tree lists files by their hash; sort them by name for the reader.
        patches.sort(key=lambda patch: plain_path(patch.delta.new_file.path))
        wanted = (p for p in patches if file in (None, plain_path(p.delta.new_file.path)))
        return "".join(plain_patch(patch.text or "") for patch in wanted)

    @_explaining
    def parent(self, revision: Revision) -> str | None:
        parents = commit_of(self._repo, revision.id).parent_ids
        return str(parents[0]) if parents else None

    @_explaining
    def blame(self, file: str) -> list[BlamedLine]:
        """The revision that last changed each line."""
        if self.read(file) is None:
            raise InputError(f"{file} is not in the history of this memory")
        return Blame(self._repo, self._read_at, self._revision).lines(file, self._require_head())

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """A three-way merge of one file; None when the two sides conflict."""
        return merged(self._repo, base, ours, theirs)

    # --- forgetting ---

    def rewrite(
        self, change: Callable[[str, bytes], bytes | None], message: Callable[[str], str]
    ) -> int:
        """Rewrite every revision and delete the old objects.

        `change` returns a file's new bytes, or None to leave it out. Returns how many revisions
        changed. The new history is built beside the old one, which it replaces by a rename.
        """
        made_at = beside(self.git_dir, "new")
        shutil.rmtree(made_at, ignore_errors=True)
        fresh = new_repository(made_at)
        oldest_first = SortMode.TOPOLOGICAL | SortMode.REVERSE
        new_ids: dict[pygit2.Oid, pygit2.Oid] = {}
        changed = 0
        for commit in self._repo.walk(self._require_head(), oldest_first):
            found = files_of(self._repo, commit.tree)
            files = {name: blob_of(self._repo, id_) or b"" for name, id_ in found}
            made = {name: change(name, old) for name, old in files.items()}
            kept = {name: data for name, data in made.items() if data is not None}
            text = with_new_ids(
                message(commit.message), {str(old): str(new) for old, new in new_ids.items()}
            )
            changed += kept != files or text != commit.message
            tree = tree_of(fresh, None, kept, spread=is_spread(commit.tree))
            parents = [new_ids[parent] for parent in commit.parent_ids]
            new_ids[commit.id] = fresh.create_commit(
                None, commit.author, commit.committer, text, tree, parents
            )
        fresh.references.create(MAIN, new_ids[self._require_head()], force=True)
        fresh.free()
        self._swap(made_at)
        return changed

    def _swap(self, made_at: Path) -> None:
        old = beside(self.git_dir, "old")
        if self._opened is not None:
            self._opened.free()
            self._opened = self._newest = None
        with packing.locked(self.git_dir):
            shutil.rmtree(old, ignore_errors=True)
            move(self.git_dir, old)
            move(made_at, self.git_dir)
            shutil.rmtree(old, ignore_errors=True)

    # --- the repository ---

    @property
    def _repo(self) -> pygit2.Repository:
        if self._opened is None:
            self._opened = open_repository(self.git_dir)
        return self._opened

    def _head(self) -> pygit2.Oid | None:
        if not self.exists:
            return None
        with explained(self.git_dir):
            reference = self._repo.references.get(MAIN)
            return None if reference is None else reference.peel(pygit2.Commit).id

    def _require_head(self) -> pygit2.Oid:
        head = self._head()
        if head is None:
            raise InputError("this memory has no history yet")
        return head

    def _find(self, wanted: str) -> pygit2.Oid:
        head = self._require_head()
        if _PART_OF_ID.fullmatch(wanted):
            # git's own search would also match the ids of files.
            found_id = only_id(wanted, (str(one.id) for one in self._repo.walk(head)))
            return pygit2.Oid(hex=found_id)
        expression = wanted.replace("HEAD", MAIN, 1) if wanted.startswith("HEAD") else wanted
        try:
            found: pygit2.Commit = self._repo.revparse_single(expression).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise InputError(f"no revision {wanted!r}; `reverie log` lists them") from error
        return found.id

    def _commit(
        self, files: Mapping[str, bytes | None], author: Author, summary: str
    ) -> pygit2.Oid:
        repo = self._repo
        head = self._head()
        old = Folder([]) if head is None else self._folder(head)
        folder = old.with_files(repo, stored(repo, files))
        if folder.crowded and not self._flat:
            folder = folder.spread_out(repo)
        made = write_commit(
            repo,
            folder.write(repo),
            [] if head is None else [head],
            f"{author.writer} <reverie@localhost> {max(0, int(self._clock.now()))} +0000",
            render_message(summary, author),
        )
        self._newest = str(made), folder
        return made

    def _read_at(self, commit: pygit2.Oid | str, file: str) -> bytes | None:
        id_ = self._folder(commit).find(self._repo, file)
        return None if id_ is None else blob_of(self._repo, id_)

    def _folder(self, commit: pygit2.Oid | str) -> Folder:
        if self._newest is None or self._newest[0] != str(commit):
            tree = commit_of(self._repo, commit).tree_id
            self._newest = str(commit), Folder.read(self._repo, tree)
        return self._newest[1]

    def _revision(self, commit: pygit2.Commit, files: tuple[str, ...] | None = None) -> Revision:
        summary, author = parse_message(commit.message)
        touched = changed_files(self._repo, commit) if files is None else files
        return Revision(str(commit.id), float(commit.commit_time), author, summary, touched)


def with_new_ids(message: str, new_ids: Mapping[str, str]) -> str:
    """A message with the new ids of the revisions it mentions, as the message of an undo does."""
    if not _MENTIONED.search(message):
        return message
    fresh = {**new_ids, **{old[:10]: new[:10] for old, new in new_ids.items()}}
    return _MENTIONED.sub(lambda found: fresh.get(found[0], found[0]), message)
