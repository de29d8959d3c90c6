"""MCP over HTTP: connections held open by others never shut out whoever has the token."""

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from tests.clients.mcp.conftest import place
from tests.clients.mcp.stage import Stage
from tests.clients.mcp.test_http import INITIALIZE, Running

from reverie.clients.mcp.http import HOST, ConnectionLimit, configured, listen

__all__ = ["place"]

HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-"
TOKEN = "0123456789abcdef"
ASKED = f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 4\r\n\r\n".encode()  # fmt: skip


def held(port: int, data: bytes) -> socket.socket:
    opened = socket.create_connection((HOST, port), timeout=120)
    opened.sendall(data)
    return opened


def ended(opened: socket.socket) -> bool:
    """Wait until the other side lets go."""
    try:
        while opened.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def answered(answer: BinaryIO) -> bytes:
    """The body of the next response."""
    while answer.readline() not in (b"\r\n", b""):
        pass
    return answer.read(4)


def test_300_half_open_requests_do_not_shut_the_owner_out(place: Stage) -> None:
    running = Running(place, "--json")
    try:
        _flooded(running)
    finally:
        code, errors = running.stop()
    assert (code, "Traceback" in errors) == (0, False)


def _flooded(running: Running) -> None:
    # As many descriptors as a small machine gives a process.
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (200, 200))
    port = urlsplit(running.info["url"]).port or 0
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(held(port, HALF))
        assert running.post(INITIALIZE)[0] == 200
        assert running.post(INITIALIZE, Authorization="Bearer no")[0] == 401


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        body = await Request(scope, receive).body()
        await PlainTextResponse(body)(scope, receive, send)


@contextmanager
def serving(door: ConnectionLimit) -> Iterator[int]:
    opened = listen(0)
    opened.listen()
    server = uvicorn.Server(configured(echo, TOKEN, door))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        yield opened.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        opened.close()


def test_a_head_that_never_ends_is_dropped() -> None:
    with serving(ConnectionLimit(head=0.05)) as port:
        for data in (b"", HALF, HALF + b"x" * 1000, b"\x16\x03\x01"):
            with held(port, data) as opened:
                assert ended(opened)


def test_the_longest_waiting_stranger_makes_way() -> None:
    with serving(ConnectionLimit(most=3, head=600)) as port, ExitStack() as stack:
        first, *others = [stack.enter_context(held(port, HALF)) for _ in range(4)]
        assert ended(first)
        # The others still wait: their request can be finished.
        others[-1].sendall(f"Length: 0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert others[-1].recv(4096).startswith(b"HTTP/1.1 200")


def test_whoever_showed_the_token_is_no_stranger() -> None:
    with serving(ConnectionLimit(most=1, head=0.05)) as port, held(port, ASKED + b"ping") as owner:
        answers = owner.makefile("rb")
        assert answered(answers) == b"ping"
        for _ in range(3):
            with held(port, HALF) as opened:
                assert ended(opened)
        owner.sendall(ASKED + b"pong")
        assert answered(answers) == b"pong"
        answers.close()


def test_a_body_that_never_comes_is_given_up() -> None:
    with serving(ConnectionLimit(body=0.05)) as port, held(port, ASKED + b"pi") as opened:
        assert ended(opened)


@pytest.mark.parametrize("head", [b"Authorization: Bearer wrong\r\n", b""])
def test_a_wrong_token_ends_the_connection(head: bytes) -> None:
    asked = b"GET /mcp HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n"
    with serving(ConnectionLimit(head=600)) as port, held(port, asked) as opened:
        assert opened.recv(4096).startswith(b"HTTP/1.1 401")
        assert ended(opened)
