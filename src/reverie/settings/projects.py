"""Which project a folder belongs to, and where Reverie keeps things about it.

Every worktree and sub-folder of a repository shares one project: the canonical git root decides.
It is found by reading git's own pointer files; no git process is started.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reverie.files.folders import owned_by_us, project_folder

_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Project:
    """A project and its folder under Reverie's home."""

    root: Path
    folder: Path
    # Why the root is not what a `.git` here claims; empty when there is nothing to tell.
    note: str = ""

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def hooks(self) -> Path:
        """What is kept of other agents' sessions, a folder each."""
        return self.folder / "hooks"

    def journal(self, session: str) -> Path:
        return self.sessions / f"{session}.jsonl"


class Root(NamedTuple):
    """The root of a project, and why it is not what a `.git` on the way there claims."""

    path: Path
    note: str = ""


def find_project(start: Path, home: Path) -> Project:
    """The project that `start` lies in; outside git, `start` itself."""
    root = find_root(start)
    return Project(root.path, project_folder(home, root.path), root.note)


def canonical_root(start: Path) -> Path:
    """The root of the main work tree (or the bare repository) that `start` belongs to."""
    return find_root(start).path


def find_root(start: Path) -> Root:
    """The same, with what the person should hear about it.

    The root decides whose memory is loaded, so a claim to belong elsewhere must be confirmed there.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        marker = folder / ".git"
        sign = marker if marker.exists() else folder / "HEAD"
        if sign != marker and not _is_bare(folder):
            continue
        if note := _of_another_user(sign):
            return Root(start, f"{note}: {start} is a project of its own")
        return _linked_root(folder, marker) if marker.is_file() else Root(folder)
    return Root(start)


def _linked_root(folder: Path, marker: Path) -> Root:
    """A worktree points to its main repository; a submodule is a project of its own."""
    text = _first_line(marker)
    if not text.startswith("gitdir:"):
        return Root(folder)
    git_dir = _real(folder, text.removeprefix("gitdir:").strip())
    common = _first_line(git_dir / "commondir")
    if not common:
        return Root(folder)
    shared = _real(git_dir, common)
    if wrong := _unconfirmed(marker, git_dir, shared):
        advice = "if it is a worktree of yours, run `git worktree repair` in its repository"
        return Root(folder, f"{wrong}: {folder} is a project of its own; {advice}")
    return Root(shared.parent if shared.name == ".git" else shared)


def _unconfirmed(marker: Path, git_dir: Path, shared: Path) -> str:
    """Why a repository does not know the worktree that points to it; empty when it does.

    Anybody can write the pointers to the repository, and a git directory with a pointer back. Only the
    repository's owner can have put such a directory among its worktrees.
    """
    back = _first_line(git_dir / "gitdir")
    if git_dir.parent != shared / "worktrees" or not back or _real(git_dir, back) != marker:
        return f"{marker} claims to be a worktree of {shared}, which knows nothing of it"
    return _of_another_user(git_dir) or _of_another_user(shared)


def _of_another_user(path: Path) -> str:
    try:
        status = path.stat()
    except OSError as error:
        return f"{path} cannot be looked at ({error.strerror})"
    if owned_by_us(status):
        return ""
    return f"{path} belongs to another user (uid {status.st_uid})"


def _real(folder: Path, told: str) -> Path:
    """Where a pointer leads, with every link followed."""
    return Path(os.path.realpath(folder / told))


def _is_bare(folder: Path) -> bool:
    return (
        (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    )


def _first_line(path: Path) -> str:
    """Git writes these files, but anybody may: a device, a pipe or a novel in their place is no line."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            start = file.read(_LONGEST_PATH)
    except (OSError, ValueError):
        return ""
    return os.fsdecode(start).partition("\n")[0].strip().replace("\0", "")
