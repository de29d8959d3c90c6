"""The coding agents Reverie can be wired into."""

from __future__ import annotations

from reverie.clients.install import claude_code, codex, cursor, gemini, opencode
from reverie.clients.install.wiring import Client

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        claude_code.CLIENT,
        codex.CLIENT,
        gemini.CLIENT,
        opencode.CLIENT,
        cursor.CLIENT,
    )
}
