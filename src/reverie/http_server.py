"""Serves an application on a socket until SIGINT or SIGTERM: the page, the proxy, MCP, the service."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from reverie.errors import InputError

if TYPE_CHECKING:
    from types import FrameType


class HttpServer(uvicorn.Server):
    """Uvicorn that calls `ready` once clients can connect, and ends on a signal without raising it.

    `stopping` is called when the signal comes. A second signal does not wait for open responses.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {
            number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping()
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def listen(host: str, *ports: int) -> socket.socket:
    """A bound socket on the first of these ports that is free; 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in ports:
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((host, port))
        except OSError as error:
            opened.close()
            reason = error.strerror
            continue
        return opened
    raise InputError(f"cannot listen on {host}:{ports[0]} ({reason}); choose another with --port")


def serve(config: uvicorn.Config, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once clients can connect."""
    asyncio.run(HttpServer(config, ready).serve([opened]))
