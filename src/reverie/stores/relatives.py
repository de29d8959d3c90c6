"""Projects that are the same repository at another place: how a moved project finds its memory."""

from __future__ import annotations

from pathlib import Path

import pygit2

from reverie.stores.places import Identity, read_identity
from reverie.stores.projects import Project

# A repository's first commit is looked for only so far back: a hint is not worth a long wait.
_COMMITS_WALKED = 20_000


def identify(root: Path) -> Identity:
    """What a project is known by, read from its repository; outside git only its path."""
    if not (root / ".git").exists() and not (root / "HEAD").exists():
        return Identity(str(root))
    try:
        repo = pygit2.Repository(str(root))
        remote = repo.remotes["origin"].url if "origin" in set(repo.remotes.names()) else ""
        return Identity(str(root), remote or "", _first_commit(repo))
    except (pygit2.GitError, KeyError, ValueError):
        return Identity(str(root))


def relatives(project: Project, home: Path) -> list[tuple[Path, Identity]]:
    """Other projects under this home that are the same repository, at a place that is gone."""
    mine = identify(project.root)
    found = []
    for folder in sorted((home / "projects").glob("*")):
        theirs = read_identity(folder) if folder != project.folder else None
        if theirs is not None and mine.is_same(theirs) and not Path(theirs.root).exists():
            found.append((folder, theirs))
    return found


def _first_commit(repo: pygit2.Repository) -> str:
    if repo.head_is_unborn:
        return ""
    first = ""
    for count, commit in enumerate(repo.walk(repo.head.target)):
        if count >= _COMMITS_WALKED:
            return ""
        if not commit.parent_ids:
            first = str(commit.id)
    return first
