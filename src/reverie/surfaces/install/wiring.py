"""What the client modules share: how a hook and the MCP server are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reverie.surfaces.install.entries import Entry, Hook, Json, Server, command_line
from reverie.surfaces.install.files import ClientFile
from reverie.surfaces.install.places import Places
from reverie.surfaces.install.plan import Scope


@dataclass(frozen=True, slots=True)
class Wish:
    """One installation as it was asked for: the path of `reverie`, and whether its server is wanted."""

    places: Places
    scope: Scope
    program: str
    mcp: bool = True


@dataclass(frozen=True, slots=True)
class Client:
    """A coding agent: its name, its files, the event that opens a session, and what to know."""

    name: str
    title: str
    files: Callable[[Wish], tuple[ClientFile, ...]]
    start: str = "SessionStart"
    notes: tuple[str, ...] = ()
    project_note: str = field(default="")


def grouped(
    client: str, program: str, event: str, timeout: int, *, matcher: str | None = None
) -> Hook:
    """A hook in the shape Claude Code, Codex and Gemini share: a group with a matcher."""
    command: Json = {
        "type": "command",
        "command": command_line(program, event, client),
        "timeout": timeout,
    }
    group: Json = {"hooks": [command]}
    return Hook(event, group if matcher is None else {"matcher": matcher, **group})


def server(wish: Wish, table: str = "mcpServers") -> tuple[Entry, ...]:
    """The MCP server in the shape most clients share, if it is wanted."""
    item: Json = {"command": wish.program, "args": ["mcp"]}
    return (Server(table, item),) if wish.mcp else ()
