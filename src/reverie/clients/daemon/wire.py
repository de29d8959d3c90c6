"""HTTP as far as hooks speak it: one POST a connection, read strictly, refused early."""

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
    """A request that is not answered otherwise than with a status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(f"{status.value} {status.phrase}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A request as far as it is known before its body."""

    path: str
    fields: Mapping[str, str]

    @property
    def waits(self) -> bool:
        """Does the sender keep the body until it is asked for?"""
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
    """How many bytes follow, at most so many."""
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
    """Path and fields of a POST; a field that comes twice makes the whole request wrong."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    asked = _FIRST.fullmatch(first)
    if asked is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    if asked[1] != b"POST":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED)
    fields: dict[str, str] = {}
    for line in lines:
        found = _FIELD.fullmatch(line)
        name = found[1].decode().lower() if found else ""
        if found is None or name in fields:
            raise Refused(HTTPStatus.BAD_REQUEST)
        fields[name] = found[2].decode("latin-1")
    return Head(asked[2].decode(), fields)


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
    told = fields.get("content-length")
    if told is None:
        raise Refused(HTTPStatus.LENGTH_REQUIRED)
    if not re.fullmatch(r"[0-9]{1,12}", told):
        raise Refused(HTTPStatus.BAD_REQUEST)
    return int(told)


log = logging.getLogger(__name__)

Work = Callable[[], None]


class WorkQueue:
    """A queue in which the newest work under a key takes the place of an older one."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Work] = {}
        self._task: asyncio.Task[None] | None = None
        self._dreams: list[subprocess.Popen[bytes]] = []

    @property
    def busy(self) -> bool:
        return self._task is not None

    def add(self, key: str, work: Work) -> None:
        """May be called from any thread."""
        self._loop.call_soon_threadsafe(self._put, key, work)

    def begin_dream(self, root: Path) -> None:
        """A dream takes its time: it gets a process that outlives ours."""
        command = [sys.executable, "-P", "-m", "reverie", "dream"]
        command += ["--project", str(root), "--home", str(self._home), "--quiet"]
        nowhere = subprocess.DEVNULL
        self._dreams.append(
            subprocess.Popen(
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
        )
        log.info("a dream of %s begins", root)

    def reap(self) -> None:
        self._dreams = [dream for dream in self._dreams if dream.poll() is None]

    async def drain(self, seconds: float) -> None:
        """Finish what waits, if that takes no longer than this."""
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
                await self._one(work)
        finally:
            self._task = None

    async def _one(self, work: Work) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception:
            log.exception("work after a hook failed")
