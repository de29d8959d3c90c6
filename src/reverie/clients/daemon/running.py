"""The daemon process: a Unix socket for hook commands and loopback HTTP for HTTP hooks, until it is idle."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, TypeAlias

import reverie
from reverie.clients.daemon.control import Address, DaemonPlace
from reverie.clients.daemon.service import Service, WorkQueue
from reverie.clients.hook_client import EARLY, LARGEST, PROCESSING, PROJECT, SOCKET, STARTING
from reverie.clients.hooks.dialects import DIALECTS
from reverie.logs import log_to
from reverie.settings import load_settings
from reverie.settings.sources import Stamp, stamp_of
from reverie.workspace import SystemClock, without_secrets

log = logging.getLogger(__name__)

READ_SECONDS = 5.0
DISCARD_SECONDS = 1.0
# At the end, queued work may take DRAIN_SECONDS and closing CLOSE_SECONDS; threads that still run are
# abandoned. Together this is less than `control.stop` waits.
DRAIN_SECONDS = 16.0
CLOSE_SECONDS = 4.0
TICK_SECONDS = 5.0
LARGEST_HTTP = 8 * 1024 * 1024
MOST_CONNECTIONS = 32
_PAUSE = 0.05

Ending: TypeAlias = Literal["busy", "stopped", "idle", "changed"]


# --- the HTTP subset: one POST for each connection, parsed strictly ---

LONGEST_HEAD = 32 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_FIRST = re.compile(rb"([A-Z]{1,16}) (/[!-~]{0,500}) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*?)[ \t]*")


class Refused(Exception):
    """The request is refused with this HTTP status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(f"{status.value} {status.phrase}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The path and header fields of a request."""

    path: str
    fields: Mapping[str, str]

    @property
    def waits(self) -> bool:
        """Does the sender wait for `100 Continue` before it sends the body?"""
        expected = self.fields.get("expect", "").lower()
        if expected not in ("", "100-continue"):
            raise Refused(HTTPStatus.EXPECTATION_FAILED)
        return bool(expected)


async def read_head(reader: asyncio.StreamReader) -> Head:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    except asyncio.IncompleteReadError:
        raise Refused(HTTPStatus.BAD_REQUEST) from None
    return parse_head(head)


def body_size(head: Head, most: int) -> int:
    """The length of the body; refused if it exceeds `most`."""
    size = _size(head.fields)
    if size > most:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return size


async def read_body(reader: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise Refused(HTTPStatus.BAD_REQUEST) from None


def parse_head(head: bytes) -> Head:
    """Path and fields of a POST; a request with a repeated field is refused."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    request = _FIRST.fullmatch(first)
    if request is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    if request[1] != b"POST":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED)
    fields: dict[str, str] = {}
    for line in lines:
        found = _FIELD.fullmatch(line)
        name = found[1].decode().lower() if found else ""
        if found is None or name in fields:
            raise Refused(HTTPStatus.BAD_REQUEST)
        fields[name] = found[2].decode("latin-1")
    return Head(request[2].decode(), fields)


def response(status: HTTPStatus, body: bytes = b"") -> bytes:
    kind = "application/json" if body.startswith(b"{") else "text/plain; charset=utf-8"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _size(fields: Mapping[str, str]) -> int:
    if "transfer-encoding" in fields:
        raise Refused(HTTPStatus.NOT_IMPLEMENTED)
    length = fields.get("content-length")
    if length is None:
        raise Refused(HTTPStatus.LENGTH_REQUIRED)
    if not re.fullmatch(r"[0-9]{1,12}", length):
        raise Refused(HTTPStatus.BAD_REQUEST)
    return int(length)


# --- the process ---


def run(home: Path) -> Ending:
    """Serve until stopped or idle; returns "busy" at once if another daemon serves this home.

    If another version is installed meanwhile, the process replaces itself with a daemon of that version.
    """
    place = DaemonPlace(home)
    idle = load_settings(None, home).number("daemon.idle_minutes") * 60.0
    place.prepare()
    os.umask(0o077)
    with _lock(place) as mine:
        if not mine:
            return "busy"
        place.mark(ending=False)
        # A socket's path must be short, so it is bound from within its folder.
        os.chdir(place.folder)
        log_to(place.log, without_secrets)
        with asyncio.Runner() as runner:
            ending = runner.run(serve(place, idle))
            # A thread that never returns would keep the process and its lock alive for ever.
            _end_within(CLOSE_SECONDS)
    if ending == "changed":
        command = [sys.executable, "-P", "-m", "reverie", "daemon", "run", "--home", str(home)]
        os.execv(sys.executable, command)
    return ending


def _end_within(seconds: float) -> None:
    """Exit after this time even if threads still run; files are atomic and the index repairs itself."""
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


@contextmanager
def _lock(place: DaemonPlace) -> Iterator[bool]:
    """Hold the daemon's lock; wait for a daemon that is about to end."""
    until = time.monotonic() + DRAIN_SECONDS + 2 * CLOSE_SECONDS
    while True:
        with place.alone() as mine:
            if mine or not place.ending or time.monotonic() > until:
                yield mine
                return
        time.sleep(_PAUSE)


async def serve(place: DaemonPlace, idle: float, tick: float = TICK_SECONDS) -> Ending:
    """Serve; the caller holds the lock, and the daemon's folder is the working directory."""
    daemon = Daemon(place, idle)
    await daemon.listen()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    log.info("version %s serves, pid %d", reverie.__version__, os.getpid())
    try:
        return await daemon.run_until_idle(tick)
    finally:
        await daemon.aclose()


class Daemon:
    """The server for all clients and projects of one home."""

    def __init__(self, place: DaemonPlace, idle: float) -> None:
        self._place = place
        self._idle = idle
        self._clock = SystemClock()
        self._used = time.monotonic()
        self._stop_requested = asyncio.Event()
        self._servers: list[asyncio.Server] = []
        self._connections = 0
        self._queue = WorkQueue(place.home)
        self._service = Service(place.home, self._queue)
        self._address = Address(0, 0, place.token(), reverie.__version__, 0.0)

    async def listen(self) -> None:
        """Open the socket and the HTTP port, and only then write the address for clients."""
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
        self._stop_requested.set()

    async def run_until_idle(self, tick: float) -> Ending:
        """Check every `tick` seconds for a stop request, another installed version, and idleness."""
        package = Path(str(reverie.__file__))
        first = before = stamp_of(package)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop_requested.wait(), tick)
                return "stopped"
            self._queue.reap()
            self._service.look_after_batches()
            now = stamp_of(package)
            if _another_version(first, before, now):
                return "changed"
            before = now
            if time.monotonic() - self._used > self._idle and not self._queue.busy:
                return "idle"

    async def aclose(self) -> None:
        """Stop listening, then finish queued work."""
        self._place.mark(ending=True)
        for server in self._servers:
            server.close()
        with suppress(OSError):
            self._place.socket.unlink(missing_ok=True)
            self._place.write_address(replace(self._address, pid=0))
        await self._queue.drain(DRAIN_SECONDS)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._service.aclose()
        except TimeoutError:
            log.warning("the daemon ends before its work is finished")
        log.info("the daemon ends")

    async def _connected_over_http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Limit connections: any user of this machine can connect here, unlike to the socket."""
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
        # The client may have disconnected already.
        with suppress(OSError):
            try:
                writer.write(await self._answered(reader, writer, local=local))
            except Refused as refused:
                writer.write(response(refused.status))
                await _discard_rest(reader, writer)
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
            elif EARLY.lower() in head.fields:
                writer.write(PROCESSING)
            size = body_size(head, LARGEST if local else LARGEST_HTTP)
            if head.waits:
                writer.write(CONTINUE)
            body = await read_body(reader, size)
            # After this process was suspended, requests may wait here whose senders have given up.
            # An answer that is not delivered must not count as shown; one round of the event loop
            # reveals it.
            await asyncio.sleep(0)
            if local and reader.at_eof():
                raise Refused(HTTPStatus.REQUEST_TIMEOUT)
        self._used = time.monotonic()
        match head.path.split("/"):
            case ["", "hook", client, event] if client in DIALECTS and event:
                project = _project(head) if local else ""
                answer = await self._service.hook(client, event, body, project)
                return response(HTTPStatus.OK, answer)
            case ["", "tool", name] if local:
                answer = await self._service.tool(name, body, _project(head))
                return response(HTTPStatus.OK, answer)
            case ["", "status"] if local:
                return response(HTTPStatus.OK, json.dumps(self._status()).encode())
            case ["", "stop"] if local:
                self.stop()
                return response(HTTPStatus.OK)
            case _:
                raise Refused(HTTPStatus.NOT_FOUND)

    def _admit(self, head: Head) -> None:
        """Refuse requests without the token, and those of a web page that found the port."""
        port = self._address.port
        if head.fields.get("host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            raise Refused(HTTPStatus.FORBIDDEN)
        given = head.fields.get("authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, f"Bearer {self._address.token}".encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED)

    def _status(self) -> dict[str, Any]:
        tallies = self._service.tallies
        return {
            "pid": self._address.pid,
            "port": self._address.port,
            "version": self._address.version,
            "python": sys.executable,
            "uptime_seconds": round(self._clock.now() - self._address.started, 1),
            "idle_seconds": round(self._idle),
            "working": self._queue.busy,
            "errors": sum(tally.errors for tally in tallies.values()),
            "events": {name: tally.as_json() for name, tally in sorted(tallies.items())},
        }


async def _on_loopback(connected: Any, port: int) -> asyncio.Server:
    return await asyncio.start_server(connected, "127.0.0.1", port, limit=LONGEST_HEAD)


async def _discard_rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Drain the request body; closing with unread data would reset the connection and lose the answer."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while await reader.read(LONGEST_HEAD):
                pass


def _another_version(first: Stamp, before: Stamp, now: Stamp) -> bool:
    """Is another version installed completely, that is, unchanged since the last check?"""
    return now is not None and now != first and now == before


def _project(head: Head) -> str:
    with suppress(ValueError):
        return bytes.fromhex(head.fields.get(PROJECT.lower(), "")).decode("utf-8", "replace")
    return ""
