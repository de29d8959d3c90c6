"""Gemini CLI: hooks and the MCP server in one settings file."""

from __future__ import annotations

from reverie.clients.install.files import ClientFile, JsonFile
from reverie.clients.install.wiring import Client, InstallOptions, grouped, server

NAME = "gemini"

# Not AfterTool, which replaces a result only as an error; not PreCompress, which comes before every
# call of the model and not only before a compression.
_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
_MILLISECONDS = 10_000


def files(wish: InstallOptions) -> tuple[ClientFile, ...]:
    places = wish.places
    folder = places.gemini if wish.scope == "user" else places.project / ".gemini"
    hooks = tuple(grouped(NAME, wish, event, _MILLISECONDS) for event in _EVENTS)
    entries = (*hooks, *server(wish))
    settings = folder / "settings.json"
    return (JsonFile("settings", settings, NAME, entries, table="mcpServers", comments=True),)


CLIENT = Client(
    NAME,
    "Gemini CLI",
    files,
    _EVENTS,
    "BeforeAgent",
    project_note="Gemini CLI asks once whether it may run the hooks of a project.",
)
