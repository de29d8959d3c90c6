"""The socket by which hooks reach the daemon: for its owner only, and no bytes on it stop the next hook."""

import random
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from tests.clients.hooks.running import Hooks
from tests.place import Place

HEAD = b"POST /claude-code/SessionStart HTTP/1.1\r\nHost: reverie\r\n"
HOSTILE = (
    b"\0" * 4_096,
    b"GET / HTTP/1.1\r\n" * 50,
    b"POST " + b"/" * 100_000,
    HEAD + b"Content-Length: -1\r\n\r\n{}",
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n{}",
    HEAD + b"Content-Length: 30000\r\n\r\n" + b"[" * 30_000,
    HEAD + b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
    HEAD + b"X: " + b"a" * 200_000,
)


@pytest.fixture
def hooks(place: Place) -> Iterator[Hooks]:
    found = Hooks(place)
    found.start()
    yield found
    found.finish()


def sent(hooks: Hooks, data: bytes) -> bytes:
    """What comes back; the daemon may hang up before all of it was sent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(str(hooks.daemon.socket))
        with suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(65_536)
    return b""


def test_no_bytes_stop_the_next_hook(hooks: Hooks) -> None:
    dice, daemon = random.Random(5), hooks.address.pid
    for data in (*HOSTILE, *(dice.randbytes(dice.randrange(600)) for _ in range(200))):
        answer = sent(hooks, data)
        assert b" 200 " not in answer[:16]
        assert b"Traceback" not in answer
    with ExitStack() as stack:
        for _ in range(100):
            half = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            half.connect(str(hooks.daemon.socket))
            half.sendall(HEAD)
        assert "Memory" in hooks.context("claude-code", "SessionStart", source="startup")
    assert hooks.address.pid == daemon


def test_only_its_owner_reaches_it(hooks: Hooks) -> None:
    for path in (hooks.daemon.socket, hooks.daemon.folder):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
