"""Letters between the sessions of one user, over a Unix domain socket.

The wire, for other programs that want to speak it:

    frame    4 bytes, the length of what follows (big-endian, 1 to LARGEST_FRAME), then one JSON
             object in UTF-8
    caller   a letter, as `core.agent_mail.render` writes it
    callee   {"taken": "<id of the letter>"}, or {"error": "<why not>"} and then it hangs up

- A caller may send letters one after another on a connection; they are taken, and answered, in
  that order. It hangs up when it is done.
- The callee hangs up after an error, and on whoever needs longer than the time limit for a frame,
  or for reading an answer. It serves MOST_CONNECTIONS at once.
- Both sides talk to their own user only. The socket has mode 0600 in a folder nobody else can write
  to, and the system is asked who is at the other end; where it cannot tell (neither Linux
  nor macOS), the folder must be closed to others altogether, and that is all there is.
- A letter that was taken is with the recipient's process. If the answer is lost, its sender cannot
  know, and is told so.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

from reverie.core.codec import dump
from reverie.logs import logger
from reverie.subagents.letters import (
    LARGEST_LETTER,
    Letter,
    Malformed,
    Refused,
    Sent,
    parse,
    problem,
    render,
)
from reverie.subagents.socket_files import Door, call_problem, peer_uid, unblocked

log = logger(__name__)

# What makes no difference to a letter, such as spaces, may make it a little longer.
LARGEST_FRAME = LARGEST_LETTER + 4_096
MOST_CONNECTIONS = 32
SECONDS = 5.0

_LONGEST_REASON = 1_000
_LARGEST_ANSWER = 16 * 1024
_HEAD = 4

Deliver = Callable[[Letter], str | None]


@asynccontextmanager
async def listening(
    path: Path, deliver: Deliver, *, uid: int | None = None, seconds: float = SECONDS
) -> AsyncIterator[None]:
    """Take letters at this path: `deliver` says why it does not want one, or None when it has it.

    Only processes of `uid` are heard (default: ours), and each has `seconds` for a frame.
    """
    calls = _Calls(deliver, os.geteuid() if uid is None else uid, seconds)
    with closing(Door(path)) as door:
        server = await asyncio.start_unix_server(
            calls.accept, sock=door.socket, start_serving=False
        )
        try:
            await server.start_serving()
            yield
        finally:
            door.hide()
            server.close()
            await calls.end()


async def send(path: Path, letter: Letter, *, seconds: float = SECONDS) -> Sent | Refused:
    """Hand a letter to whoever listens at this path, and wait for the answer."""
    if wrong := problem(letter) or call_problem(path):
        return Refused(wrong)
    with unblocked() as connection:
        if wrong := _connected(connection, path):
            return Refused(wrong)
        try:
            async with asyncio.timeout(seconds):
                answer = await _asked(connection, framed(render(letter)))
        except TimeoutError:
            answer = Malformed(f"did not answer within {seconds:g} seconds")
    return _understood(answer, letter, path)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(_HEAD, "big") + body


class _Calls:
    """The connections of one listener, each served by a task of its own."""

    def __init__(self, deliver: Deliver, uid: int, seconds: float) -> None:
        self._deliver = deliver
        self._uid = uid
        self._seconds = seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if wrong := self._unwelcome(writer.get_extra_info("socket")):
            log.warning("a connection was refused: %s", wrong)
            writer.write(_answer(Malformed(wrong)))
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        self._over = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _unwelcome(self, connection: socket.socket) -> str | None:
        try:
            caller = peer_uid(connection)
        except OSError as error:
            return f"the system does not say who you are ({error.strerror})"
        if caller not in (None, self._uid):
            return f"you are user {caller}; only user {self._uid} is heard here"
        if self._over:
            return "this session is ending"
        if len(self._tasks) >= MOST_CONNECTIONS:
            return f"{MOST_CONNECTIONS} connections are open already: try again later"
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answered(reader, writer):
                pass
            writer.close()
            async with asyncio.timeout(self._seconds):
                await writer.wait_closed()
        except OSError as error:
            log.debug("a connection broke: %s", error or type(error).__name__)
        finally:
            # Nothing is left to be said, or nobody listens.
            writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take one letter and say so; False when the connection is over."""
        try:
            async with asyncio.timeout(self._seconds):
                body = await _next_frame(reader)
        except TimeoutError:
            body = Malformed(f"no whole frame came within {self._seconds:g} seconds")
        if body is None:
            return False
        letter = body if isinstance(body, Malformed) else self._taken(body)
        writer.write(_answer(letter))
        async with asyncio.timeout(self._seconds):
            await writer.drain()
        return isinstance(letter, Letter)

    def _taken(self, body: bytes) -> Letter | Malformed:
        letter = parse(body)
        if isinstance(letter, Malformed):
            return letter
        try:
            wrong = self._deliver(letter)
        except Exception:
            log.exception("the letter %s could not be delivered", letter.id)
            wrong = "the recipient failed to take it"
        return letter if wrong is None else Malformed(wrong)


async def _next_frame(reader: asyncio.StreamReader) -> bytes | Malformed | None:
    """The body of the next frame; None when the other side is done."""
    try:
        size = int.from_bytes(await reader.readexactly(_HEAD), "big")
        if not 0 < size <= LARGEST_FRAME:
            return Malformed(f"a frame has 1 to {LARGEST_FRAME:,} bytes, not {size:,}")
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as end:
        if not end.partial and end.expected == _HEAD:
            return None
        return Malformed(f"the frame ends after {len(end.partial)} of {end.expected} bytes")


def _answer(outcome: Letter | Malformed) -> bytes:
    match outcome:
        case Letter():
            return framed(dump({"taken": outcome.id}))
        case Malformed(reason):
            return framed(dump({"error": reason[:_LONGEST_REASON]}))


def _connected(connection: socket.socket, path: Path) -> str | None:
    """Call; why that did not work, or None when it did."""
    try:
        connection.connect(os.fspath(path))
        callee = peer_uid(connection)
    except (ConnectionRefusedError, FileNotFoundError):
        return f"nobody listens at {path} any more: the session there has ended"
    except BlockingIOError:
        return f"{path} does not take calls at the moment: too many are waiting; try again later"
    except OSError as error:
        return f"cannot reach {path}: {error.strerror}"
    if callee not in (None, os.geteuid()):
        return f"{path} belongs to another user ({callee}); letters go to your own sessions only"
    return None


async def _asked(connection: socket.socket, frame: bytes) -> Any:
    """The answer to a frame, whatever it says; Malformed when there is none."""
    # Who hangs up before the end may have said why.
    with suppress(ConnectionError):
        await asyncio.get_running_loop().sock_sendall(connection, frame)
    size = int.from_bytes(await _received(connection, _HEAD), "big")
    body = await _received(connection, min(size, _LARGEST_ANSWER))
    try:
        return json.loads(body) if body else Malformed("hung up without an answer")
    except (ValueError, RecursionError):
        return body


async def _received(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer when the other side hangs up."""
    loop = asyncio.get_running_loop()
    said = b""
    with suppress(ConnectionError):
        while len(said) < size and (more := await loop.sock_recv(connection, size - len(said))):
            said += more
    return said


def _understood(answer: Any, letter: Letter, path: Path) -> Sent | Refused:
    match answer:
        case {"taken": letter.id}:
            return Sent(letter)
        case {"error": str(reason)}:
            return Refused(f"{path} refused it: {' '.join(reason.split())[:_LONGEST_REASON]}")
        case Malformed(reason):
            return Refused(f"{path} {reason}; it is not known whether the letter arrived")
    return Refused(f"{path} answered something else than yes or no; it may not be a session")
