"""All clones of a repository on one machine have one memory.

A new clone uses the memory of the first. One that had a memory before brings it along, with its
history; its old directory stays as it is. A clone must have the repository's first commit: a
folder that only claims the address gets nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pygit2

from reverie.errors import ReverieError
from reverie.memory.adoption import identify
from reverie.memory.locations import (
    Identity,
    continued,
    has_memory,
    holder_of,
    read_identity,
    write_identity,
)
from reverie.memory.store import FileStore
from reverie.memory.sync.merging import HistoryMerge
from reverie.ports import Clock
from reverie.settings.projects import Project

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
