"""opencode: a plugin file of ours, and the MCP server in its configuration."""

from __future__ import annotations

import json
from importlib.resources import files as resources
from pathlib import Path

from reverie.clients.install.entries import Entry, Server
from reverie.clients.install.files import NOTE, ClientFile, JsonFile, WholeFile
from reverie.clients.install.wiring import Client, InstallOptions

NAME = "opencode"

# What the plugin asks about.
_EVENTS = (
    "session.created",
    "chat.message",
    "tool.execute.after",
    "session.idle",
    "experimental.session.compacting",
    "session.compacted",
    "session.deleted",
)


def files(wish: InstallOptions) -> tuple[ClientFile, ...]:
    places, user = wish.places, wish.scope == "user"
    folder = places.opencode if user else places.project / ".opencode"
    config = _config(places.opencode if user else places.project)
    item = {"type": "local", "command": [wish.program, *wish.server], "enabled": True}
    servers: tuple[Entry, ...] = (Server("mcp", item),) if wish.mcp else ()
    return (
        WholeFile("plugin", folder / "plugins" / "reverie.js", plugin(wish)),
        JsonFile("config", config, NAME, servers, table="mcp", comments=True),
    )


def plugin(wish: InstallOptions) -> str:
    """The plugin with the path of `reverie` and its home in it."""
    template = resources("reverie.clients.install").joinpath("opencode_plugin.js")
    return (
        template.read_text("utf-8")
        .replace("__NOTE__", NOTE)
        .replace('"__PROGRAM__"', json.dumps(wish.program))
        .replace('["__OPTIONS__"]', json.dumps(["--client", NAME, *wish.at]))
    )


def _config(folder: Path) -> Path:
    """The configuration with comments, if that is the one in use."""
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


CLIENT = Client(
    NAME,
    "opencode",
    files,
    _EVENTS,
    "session.created",
    notes=("Running instances of opencode do not see it: start a new one.",),
)
