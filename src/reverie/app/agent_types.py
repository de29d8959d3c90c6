"""The agent types one can choose from here: built in, the person's, the project's, Claude Code's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.layers.teamwork.agent_types import Catalogue, Unusable, catalogue, parse
from reverie.settings.neighbours import claude_config
from reverie.stores.agent_files import AgentFile, read_agent_files

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
    return catalogue(
        parse(found.text, found.source)
        if isinstance(found, AgentFile)
        else Unusable(found.source, found.reason)
        for found in read_agent_files(agent_folders(app))
    )
