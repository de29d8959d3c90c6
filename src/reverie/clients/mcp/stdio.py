"""The server on standard input and output, as clients start it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from mcp.server import Server


def serve(server: Server[Any]) -> None:
    """Serve until standard input ends or SIGINT or SIGTERM arrives; each is a clean exit."""
    anyio.run(_serve, server)


async def _serve(server: Server[Any]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_exit_on_signal)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _exit_on_signal() -> None:
    """Exit at once: the thread that waits for a line cannot be woken.

    A write in progress is not lost: the next writer completes it.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            os._exit(0)
