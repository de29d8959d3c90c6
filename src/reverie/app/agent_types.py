"""The agent types one can choose from here: built in, the person's, the project's, Claude Code's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.layers.teamwork.agent_types import AgentType, Catalogue, Unusable, catalogue, parse
from reverie.settings.neighbours import claude_config
from reverie.stores.agent_files import AgentFile, Found, read_agent_files

if TYPE_CHECKING:
    from reverie.app import App


def own_folders(app: App) -> tuple[Path, ...]:
    """Where the person keeps their types; the later wins."""
    return (app.settings.home / "agents", claude_config() / "agents")


def brought_folders(app: App) -> tuple[Path, ...]:
    """Where a project keeps types of its own; the later wins."""
    root = app.project.root
    own = {folder.resolve() for folder in own_folders(app)}
    folders = (root / ".claude" / "agents", root / ".reverie" / "agents")
    # Where the project is the person's home folder, its files are theirs.
    return tuple(folder for folder in folders if folder.resolve() not in own)


def agent_types(app: App) -> Catalogue:
    """Read once, when a session begins: the list is part of its frozen head."""
    own = (_type_of(found) for found in read_agent_files(own_folders(app)))
    brought = (_type_of(found) for found in read_agent_files(brought_folders(app)))
    return catalogue(own, (_limited(kind) for kind in brought))


def _type_of(found: Found) -> AgentType | Unusable:
    if not isinstance(found, AgentFile):
        return Unusable(found.source, found.reason)
    return parse(found.text, found.source)


def _limited(kind: AgentType | Unusable) -> AgentType | Unusable:
    """What a repository brings along must not write where other projects read, nor choose who is paid."""
    if isinstance(kind, AgentType) and kind.memory == "user":
        note = "memory 'user' is kept for this project: the file belongs to the repository"
        kind = replace(kind, memory="local", notes=(*kind.notes, note))
    if isinstance(kind, AgentType) and kind.model is not None:
        note = f"model {kind.model!r} is not used: the file belongs to the repository"
        kind = replace(kind, model=None, notes=(*kind.notes, note))
    return kind
