"""The daemon's HTTP subset: every invalid request is refused."""

import asyncio
from http import HTTPStatus

import pytest

from reverie.clients.daemon.running import (
    LONGEST_HEAD,
    Head,
    Refused,
    body_size,
    parse_head,
    read_body,
    read_head,
    response,
)


async def read(data: bytes, most: int = 100) -> tuple[Head, bytes]:
    reader = asyncio.StreamReader(limit=LONGEST_HEAD)
    reader.feed_data(data)
    reader.feed_eof()
    head = await read_head(reader)
    return head, await read_body(reader, body_size(head, most))


@pytest.mark.anyio
async def test_a_request() -> None:
    data = b"POST /hook/codex/Stop HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 2\r\n\r\n{}more"
    head, body = await read(data)
    assert (head.path, body) == ("/hook/codex/Stop", b"{}")
    assert head.fields["host"] == "127.0.0.1:1"
    assert not head.waits


@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
def test_a_sender_that_waits_for_continue(expectation: str) -> None:
    assert parse_head(f"POST / HTTP/1.1\r\nExpect: {expectation}\r\n\r\n".encode()).waits


def test_other_expectations_are_refused() -> None:
    with pytest.raises(Refused, match="417"):
        assert parse_head(b"POST / HTTP/1.1\r\nExpect: miracles\r\n\r\n").waits


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 405),
        (b"POST / HTTP/2\r\n\r\n", 400),
        (b"POST http://evil/ HTTP/1.1\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01", 400),
        (b"", 400),
        (b"POST / HTTP/1.1\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\n folded: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nA: " + b"x" * 2 * LONGEST_HEAD + b"\r\n\r\n", 431),
    ],
)
async def test_refusals(data: bytes, status: int) -> None:
    with pytest.raises(Refused) as refused:
        await read(data)
    assert refused.value.status == status


def test_an_answer_says_how_long_it_is() -> None:
    answer = response(HTTPStatus.OK, b'{"a": 1}')
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert answer.endswith(b"Content-Length: 8\r\nConnection: close\r\n\r\n" + b'{"a": 1}')
