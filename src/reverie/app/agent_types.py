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


def agent_folders(app: App) -> tuple[Path, ...]:
    """Where types are looked for; what is nearer to the project wins."""
    root = app.project.root
    return (
        app.settings.home / "agents",
        claude_config() / "agents",
        root / ".claude" / "agents",
        root / ".reverie" / "agents",
    )


def agent_types(app: App) -> Catalogue:
    """Read once, when a session begins: the list is part of its frozen head."""
    return catalogue(_type_of(found, app) for found in read_agent_files(agent_folders(app)))


def _type_of(found: Found, app: App) -> AgentType | Unusable:
    if not isinstance(found, AgentFile):
        return Unusable(found.source, found.reason)
    kind = parse(found.text, found.source)
    theirs = Path(found.source).is_relative_to(app.project.root)
    if isinstance(kind, AgentType) and kind.memory == "user" and theirs:
        # What a repository brings along must not write where other projects read.
        note = "memory 'user' is kept for this project: the file belongs to the repository"
        return replace(kind, memory="local", notes=(*kind.notes, note))
    return kind
