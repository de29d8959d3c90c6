"""At the start of a session, waits until our MCP server in that client has told its tools.

A client sends its tools with every request. When a server tells them after the first one, the prefix
changes, and the provider reads the whole prompt again. The first request waits for the hook, so the hook
waits for the server, which starts beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from reverie.clients.files import Clients
from reverie.clients.hook_client import FOLDER, LISTED
from reverie.clients.install import toml_text
from reverie.clients.install.entries import NAME
from reverie.clients.install.json_text import Malformed

# The most a session's start waits, and how often it looks.
LONGEST_SECONDS = 5.0
_PAUSE = 0.01
# A server of this session has told its tools after this many seconds before the hook.
_RECENT_SECONDS = 30.0
_TABLES = ("mcp_servers", "mcpServers")


async def listed(home: Path, client: str, project: Path) -> bool:
    """Has our server in this client told its tools? Waits for it; False if none is installed, or it is late."""
    if not await asyncio.to_thread(_installed, home, client, project):
        return False
    until = time.monotonic() + LONGEST_SECONDS
    while not _listed(home / FOLDER / LISTED, project):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_PAUSE)
    return True


def _installed(home: Path, client: str, project: Path) -> bool:
    """Does a file that Reverie wrote for this client, for the person or this project, hold our server?"""
    return any(
        _holds_server(Path(file["path"]))
        for row in Clients(home).installed()
        if row.get("client") == client and row.get("root") in ("", str(project))
        for file in row.get("files", ())
    )


def _holds_server(path: Path) -> bool:
    try:
        text = path.read_text("utf-8")
        value = toml_text.parse(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, Malformed):
        return False
    for table in _TABLES:
        server = toml_text.table(value, (table, NAME))
        if isinstance(server, dict) and server.get("enabled", True):
            return True
    return False


def _listed(folder: Path, project: Path) -> bool:
    """Is there a mark of a live server of this project? Marks of ended servers are removed."""
    found = False
    with suppress(OSError):
        for mark in os.scandir(folder):
            if not _alive(mark.name):
                Path(mark.path).unlink(missing_ok=True)
            elif Path(mark.path).read_text("utf-8", "surrogateescape") == str(project):
                # Compared with a file's time.
                age = time.time() - mark.stat().st_mtime  # noqa: TID251
                found = found or age < _RECENT_SECONDS
    return found


def _alive(process: str) -> bool:
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
