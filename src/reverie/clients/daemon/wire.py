"""The daemon's HTTP subset (one POST for each connection, parsed strictly), and its queue of background work."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

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


log = logging.getLogger(__name__)

Work = Callable[[], None]


class WorkQueue:
    """A queue of background work; newer work under a key replaces work still waiting under it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Work] = {}
        self._task: asyncio.Task[None] | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def busy(self) -> bool:
        return self._task is not None

    def add(self, key: str, work: Work) -> None:
        """Queue work; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._put, key, work)

    def begin_dream(self, root: Path) -> None:
        """Start a dream in a process that outlives the daemon."""
        self._begin(root, "dream")
        log.info("started a dream of %s", root)

    def begin_batches(self, root: Path) -> None:
        """Look after the batches of a project in a process that outlives the daemon."""
        self._begin(root, "extract", "--when-idle")

    def _begin(self, root: Path, *arguments: str) -> None:
        command = [sys.executable, "-P", "-m", "reverie", *arguments]
        command += ["--project", str(root), "--home", str(self._home), "--quiet"]
        null = subprocess.DEVNULL
        self._started.append(
            subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
        )

    def reap(self) -> None:
        self._started = [one for one in self._started if one.poll() is None]

    async def drain(self, seconds: float) -> None:
        """Wait for the queued work to finish, for at most this long."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    def _put(self, key: str, work: Work) -> None:
        self._waiting[key] = work
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                work = self._waiting.pop(next(iter(self._waiting)))
                await self._run(work)
        finally:
            self._task = None

    async def _run(self, work: Work) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception:  # the next work in the queue must still run
            log.exception("work after a hook failed")
