"""Tells clients that subscribed to a memory when any process changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

# How often the files are looked at: they may be changed by an editor or another agent.
LOOK_SECONDS = 2.0


class Subscriptions:
    """The addresses each client follows, and the version it was last told of."""

    def __init__(self, version_of: Callable[[str], str]) -> None:
        self._version_of = version_of
        self._told: dict[tuple[ServerSession, str], str] = {}
        self._watching: asyncio.Task[None] | None = None

    async def add(self, session: ServerSession, uri: str) -> None:
        self._told[session, uri] = await asyncio.to_thread(self._version_of, uri)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    def remove(self, session: ServerSession, uri: str) -> None:
        self._told.pop((session, uri), None)

    async def _watch(self) -> None:
        while self._told:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Compare every followed address with what its clients were told."""
        for (session, uri), told in list(self._told.items()):
            now = await asyncio.to_thread(self._version_of, uri)
            if now != told and (session, uri) in self._told:
                self._told[session, uri] = now
                try:
                    await session.send_resource_updated(uri)
                except Exception:  # noqa: BLE001 - the client is gone, and its session with it
                    with suppress(KeyError):
                        del self._told[session, uri]
