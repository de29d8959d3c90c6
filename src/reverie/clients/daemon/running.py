"""The daemon itself: a socket for hook commands, loopback for HTTP hooks, until nobody needs it."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal, TypeAlias

import reverie
from reverie.clients.daemon.control import Address, DaemonPlace
from reverie.clients.daemon.service import Service
from reverie.clients.daemon.wire import (
    CONTINUE,
    LONGEST_HEAD,
    Head,
    Refused,
    WorkQueue,
    body_size,
    read_body,
    read_head,
    response,
)
from reverie.clients.hook_client import LARGEST, PROJECT, SOCKET, STARTING
from reverie.clients.hooks.dialects import DIALECTS
from reverie.logs import WithoutSecrets
from reverie.settings import load_settings
from reverie.settings.sources import Stamp, stamp_of
from reverie.workspace import SystemClock, without_secrets

log = logging.getLogger(__name__)

READ_SECONDS = 5.0
HEAR_OUT_SECONDS = 1.0
# What was begun is finished within this, or left; then what is open is let go, and threads are left behind.
# Together less than `control.stop` waits.
DRAIN_SECONDS = 16.0
LET_GO_SECONDS = 4.0
TICK_SECONDS = 5.0
LARGEST_HTTP = 8 * 1024 * 1024
MOST_CONNECTIONS = 32
LONGEST_LOG = 1024 * 1024
_PAUSE = 0.05

Ending: TypeAlias = Literal["busy", "stopped", "idle", "changed"]


def run(home: Path) -> Ending:
    """Serve until asked to stop; "busy" at once when another daemon serves this home.

    When another version was installed meanwhile, the process becomes a daemon of that version.
    """
    place = DaemonPlace(home)
    idle = load_settings(None, home).number("daemon.idle_minutes") * 60.0
    place.prepare()
    os.umask(0o077)
    with _turn(place) as mine:
        if not mine:
            return "busy"
        place.mark(ending=False)
        # Addresses of sockets are short, so it is bound from within its folder.
        os.chdir(place.folder)
        _start_logging(place.log)
        with asyncio.Runner() as runner:
            ending = runner.run(serve(place, idle))
            # A thread that never comes back would keep us, and the lock, for ever.
            _end_within(LET_GO_SECONDS)
    if ending == "changed":
        command = [sys.executable, "-P", "-m", "reverie", "daemon", "run", "--home", str(home)]
        os.execv(sys.executable, command)
    return ending


def _end_within(seconds: float) -> None:
    """Files are written whole and the index heals: whatever a thread is at then can be left."""
    last = threading.Timer(seconds, os._exit, (0,))
    last.daemon = True
    last.start()


@contextmanager
def _turn(place: DaemonPlace) -> Iterator[bool]:
    """Hold the daemon's lock; a daemon that is about to end is waited for."""
    until = time.monotonic() + DRAIN_SECONDS + 2 * LET_GO_SECONDS
    while True:
        with place.alone() as mine:
            if mine or not place.ending or time.monotonic() > until:
                yield mine
                return
        time.sleep(_PAUSE)


async def serve(place: DaemonPlace, idle: float, tick: float = TICK_SECONDS) -> Ending:
    """Serve with the lock held and from within the daemon's folder."""
    daemon = Daemon(place, idle)
    await daemon.listen()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    log.info("version %s serves, pid %d", reverie.__version__, os.getpid())
    try:
        return await daemon.until_nobody_needs_it(tick)
    finally:
        await daemon.aclose()


class Daemon:
    """One process for all clients and projects of a person."""

    def __init__(self, place: DaemonPlace, idle: float) -> None:
        self._place = place
        self._idle = idle
        self._clock = SystemClock()
        self._used = time.monotonic()
        self._asked_to_stop = asyncio.Event()
        self._servers: list[asyncio.Server] = []
        self._connections = 0
        self._afterwards = WorkQueue(place.home)
        self._service = Service(place.home, self._afterwards)
        self._address = Address(0, 0, place.token(), reverie.__version__, 0.0)

    async def listen(self) -> None:
        """The socket first: whoever finds the address written down can be sure of both."""
        known = self._place.address()
        self._place.socket.unlink(missing_ok=True)
        local = partial(self._connected, local=True)
        http = self._connected_over_http
        unix = await asyncio.start_unix_server(local, SOCKET, limit=LONGEST_HEAD)
        try:
            tcp = await _on_loopback(http, known.port if known else 0)
        except OSError:
            tcp = await _on_loopback(http, 0)
        self._servers = [unix, tcp]
        port = tcp.sockets[0].getsockname()[1]
        if known is not None and known.port != port:
            log.warning("port %d is taken; HTTP hooks must go to %d now", known.port, port)
        version, token = reverie.__version__, self._address.token
        self._address = Address(os.getpid(), port, token, version, self._clock.now())
        self._place.write_address(self._address)
        (self._place.folder / STARTING).unlink(missing_ok=True)

    def stop(self) -> None:
        self._asked_to_stop.set()

    async def until_nobody_needs_it(self, tick: float) -> Ending:
        """Look up now and then: is there work, was anybody here, is this still the version installed?"""
        package = Path(str(reverie.__file__))
        first = before = stamp_of(package)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked_to_stop.wait(), tick)
                return "stopped"
            self._afterwards.reap()
            now = stamp_of(package)
            if _another_version(first, before, now):
                return "changed"
            before = now
            if time.monotonic() - self._used > self._idle and not self._afterwards.busy:
                return "idle"

    async def aclose(self) -> None:
        """Nobody finds us any more; then what was begun is finished."""
        self._place.mark(ending=True)
        for server in self._servers:
            server.close()
        with suppress(OSError):
            self._place.socket.unlink(missing_ok=True)
            self._place.write_address(replace(self._address, pid=0))
        await self._afterwards.drain(DRAIN_SECONDS)
        try:
            async with asyncio.timeout(LET_GO_SECONDS):
                await self._service.aclose()
        except TimeoutError:
            log.warning("the daemon ends in the middle of something")
        log.info("the daemon ends")

    async def _connected_over_http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Anybody on this machine can connect; the socket can only be found by its owner."""
        if self._connections >= MOST_CONNECTIONS:
            writer.write(response(HTTPStatus.SERVICE_UNAVAILABLE))
            writer.close()
            return
        self._connections += 1
        try:
            await self._connected(reader, writer, local=False)
        finally:
            self._connections -= 1

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, local: bool
    ) -> None:
        # Whoever asked may be gone already.
        with suppress(OSError):
            try:
                writer.write(await self._answered(reader, writer, local=local))
            except Refused as refused:
                writer.write(response(refused.status))
                await _heard_out(reader, writer)
            except TimeoutError:
                writer.write(response(HTTPStatus.REQUEST_TIMEOUT))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def _answered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, local: bool
    ) -> bytes:
        async with asyncio.timeout(READ_SECONDS):
            head = await read_head(reader)
            if not local:
                self._admit(head)
            size = body_size(head, LARGEST if local else LARGEST_HTTP)
            if head.waits:
                writer.write(CONTINUE)
            body = await read_body(reader, size)
        self._used = time.monotonic()
        match head.path.split("/"):
            case ["", "hook", client, event] if client in DIALECTS and event:
                project = _project(head) if local else ""
                answer = await self._service.hook(client, event, body, project)
                return response(HTTPStatus.OK, answer)
            case ["", "status"] if local:
                return response(HTTPStatus.OK, json.dumps(self._status()).encode())
            case ["", "stop"] if local:
                self.stop()
                return response(HTTPStatus.OK)
            case _:
                raise Refused(HTTPStatus.NOT_FOUND)

    def _admit(self, head: Head) -> None:
        """Only who was given the token, and no page in a browser that found the port."""
        port = self._address.port
        if head.fields.get("host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            raise Refused(HTTPStatus.FORBIDDEN)
        shown = head.fields.get("authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(shown, f"Bearer {self._address.token}".encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED)

    def _status(self) -> dict[str, Any]:
        tallies = self._service.tallies
        return {
            "pid": self._address.pid,
            "port": self._address.port,
            "version": self._address.version,
            "uptime_seconds": round(self._clock.now() - self._address.started, 1),
            "idle_seconds": round(self._idle),
            "working": self._afterwards.busy,
            "errors": sum(tally.errors for tally in tallies.values()),
            "events": {name: tally.told() for name, tally in sorted(tallies.items())},
        }


async def _on_loopback(connected: Any, port: int) -> asyncio.Server:
    return await asyncio.start_server(connected, "127.0.0.1", port, limit=LONGEST_HEAD)


async def _heard_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What comes and is never read would take our answer away with it."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(HEAR_OUT_SECONDS):
            while await reader.read(LONGEST_HEAD):
                pass


def _another_version(first: Stamp, before: Stamp, now: Stamp) -> bool:
    """Has the package changed since we began, and is whoever installs it done?"""
    return now is not None and now != first and now == before


def _project(head: Head) -> str:
    with suppress(ValueError):
        return bytes.fromhex(head.fields.get(PROJECT.lower(), "")).decode("utf-8", "replace")
    return ""


def _start_logging(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=LONGEST_LOG, backupCount=1, encoding="utf-8")
    lines = logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s")
    handler.setFormatter(WithoutSecrets(lines, without_secrets))
    ours = logging.getLogger("reverie")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
