"""Cursor: a hooks file and a file of MCP servers."""

from __future__ import annotations

from reverie.clients.install.entries import Default, Entry, Hook
from reverie.clients.install.files import ClientFile, JsonFile
from reverie.clients.install.wiring import Client, InstallOptions, server

NAME = "cursor"

# Prompts and answers are only heard: what was said is learnt from them.
_EVENTS = (
    "sessionStart",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "preCompact",
    "stop",
    "sessionEnd",
)
_SECONDS = 10


def files(wish: InstallOptions) -> tuple[ClientFile, ...]:
    places = wish.places
    folder = places.cursor if wish.scope == "user" else places.project / ".cursor"
    hooks = tuple(
        Hook(event, {"command": wish.hook(event, NAME), "timeout": _SECONDS}) for event in _EVENTS
    )
    asked: tuple[Entry, ...] = (Default("version", 1), *hooks)
    return (
        JsonFile("hooks", folder / "hooks.json", NAME, asked, comments=True),
        JsonFile("mcp", folder / "mcp.json", NAME, server(wish), table="mcpServers", comments=True),
    )


CLIENT = Client(
    NAME,
    "Cursor",
    files,
    _EVENTS,
    "sessionStart",
    notes=(
        "Cursor lets no hook add to a prompt: memories that fit come through the MCP server.",
        "Turn the server on once in Cursor's settings, under MCP.",
    ),
)
