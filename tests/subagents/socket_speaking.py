"""Both ends of an agent's socket for tests: a home with a short path, and a caller that may misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.place import NOON

from reverie.subagents.letters import Letter, Refused, Sent

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder of our own; pytest's are too long for the address of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="rv-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def letter(number: int, text: str = "done") -> Letter:
    return Letter("worker", "lead", text, f"number {number}", "message", NOON, f"worker-{number}")


@dataclass(frozen=True)
class Caller:
    """One connection, byte for byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self) -> Any:
        """The next answer; None when the other side has hung up."""
        try:
            head = await self.reader.readexactly(4)
            return json.loads(await self.reader.readexactly(int.from_bytes(head, "big")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


@asynccontextmanager
async def calling(path: Path) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()


class Recipient:
    """Takes every letter, or refuses with a reason."""

    def __init__(self, refusal: str | None = None) -> None:
        self.letters: list[Letter] = []
        self._refusal = refusal

    def __call__(self, arrived: Letter) -> str | None:
        if self._refusal is None:
            self.letters.append(arrived)
        return self._refusal


def reason(outcome: Sent | Refused) -> str:
    assert isinstance(outcome, Refused)
    return outcome.reason


def left_behind(path: Path) -> None:
    """The file of a listener that has ended without removing it."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def descriptors() -> int:
    """How many are open."""
    return len(list(Path("/dev/fd").iterdir()))
