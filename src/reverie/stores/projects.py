"""Which project a folder belongs to, and where Reverie keeps things about it.

Every worktree and sub-folder of a repository shares one project: the canonical git root decides.
It is found by reading git's own pointer files; no git process is started.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from reverie.settings.folders import project_folder

_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Project:
    """A project and its folder under Reverie's home."""

    root: Path
    folder: Path

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def hooks(self) -> Path:
        """What is kept of other agents' sessions, a folder each."""
        return self.folder / "hooks"

    def journal(self, session: str) -> Path:
        return self.sessions / f"{session}.jsonl"


def find_project(start: Path, home: Path) -> Project:
    """The project that `start` lies in; outside git, `start` itself."""
    root = canonical_root(start)
    return Project(root, project_folder(home, root))


def canonical_root(start: Path) -> Path:
    """The root of the main work tree (or the bare repository) that `start` belongs to."""
    start = start.resolve()
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return folder
        if marker.is_file():
            return _linked_root(folder, marker)
        if _is_bare(folder):
            return folder
    return start


def _linked_root(folder: Path, marker: Path) -> Path:
    """A worktree points to its main repository; a submodule is a project of its own."""
    text = _first_line(marker)
    if not text.startswith("gitdir:"):
        return folder
    git_dir = (folder / text.removeprefix("gitdir:").strip()).resolve()
    common = _first_line(git_dir / "commondir")
    if not common:
        return folder
    shared = (git_dir / common).resolve()
    return shared.parent if shared.name == ".git" else shared


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
