"""The server on two pipes: behind the front of a client's standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from mcp.server import Server


def serve(server: Server[Any], given: int, answers: int) -> None:
    """Serve until the first descriptor ends; both are closed."""
    anyio.run(_serve, server, given, answers)


async def _serve(server: Server[Any], given: int, answers: int) -> None:
    reading = os.fdopen(given, "r", encoding="utf-8", errors="replace")
    writing = os.fdopen(answers, "w", encoding="utf-8")
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    with reading, writing:
        streams = stdio_server(anyio.wrap_file(reading), anyio.wrap_file(writing))
        async with streams as (incoming, outgoing):
            await server.run(incoming, outgoing, options)
