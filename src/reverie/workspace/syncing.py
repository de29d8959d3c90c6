"""Synchronise a project's memory: with its team, and with the person's other machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.files.folders import slug
from reverie.memory.inbox import FOLDER
from reverie.memory.sync.inbox import InboxMerge
from reverie.memory.sync.machines import Part, PartReport, SyncAddress, sync
from reverie.memory.sync.merging import HistoryMerge
from reverie.memory.team.sync import (
    SyncReport,
    TeamAddress,
    TeamSync,
    read_address,
    write_address,
)
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author
    from reverie.workspace import Workspace


def sync_team(app: Workspace, address: TeamAddress, author: Author) -> SyncReport:
    """Synchronise the shared memory with the team's branch, both ways."""
    memory = app.memory(team=True)
    remote = address.remote(environment())
    return TeamSync(memory.store, remote, memory.scrubber, app.clock).sync(author)


def team_address(app: Workspace, chosen: tuple[str, str] | None = None) -> TeamAddress | None:
    """Where the team keeps its memory; `chosen` (address, branch) is stored first."""
    state = app.memory(team=True).place.state
    if chosen is not None:
        write_address(state, TeamAddress(*chosen))
    return read_address(state)


def sync_machines(app: Workspace, address: SyncAddress) -> tuple[PartReport, ...]:
    """Synchronise private memory, its history and the inbox with the person's other machines."""
    name = slug(Path(app.owner.remote)) if app.owner.remote else app.owner.folder.name
    found = environment()
    project = app.memory()
    inbox = project.beside / FOLDER
    parts: dict[str, Part] = {
        f"memory/{name}": HistoryMerge(project.store, app.clock),
        f"inbox/{name}": InboxMerge(inbox, project.place.state / "inbox.git", app.clock),
    }
    for memory in project.private:
        if memory.scope == "person":
            parts["person"] = HistoryMerge(memory.store, app.clock)
    return tuple(
        sync(part, address.branch(branch, found), branch) for branch, part in parts.items()
    )
