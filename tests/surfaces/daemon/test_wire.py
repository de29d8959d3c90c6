"""HTTP as hooks speak it: what is not plainly right is refused."""

import asyncio
from http import HTTPStatus

import pytest

from reverie.surfaces.daemon.wire import LONGEST_HEAD, Refused, Request, read_request, response


async def read(data: bytes, most: int = 100) -> Request:
    reader = asyncio.StreamReader(limit=LONGEST_HEAD)
    reader.feed_data(data)
    reader.feed_eof()
    return await read_request(reader, most)


@pytest.mark.anyio
async def test_a_request() -> None:
    data = b"POST /hook/codex/Stop HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 2\r\n\r\n{}more"
    found = await read(data)
    assert (found.path, found.body) == ("/hook/codex/Stop", b"{}")
    assert found.fields["host"] == "127.0.0.1:1"


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
    told = response(HTTPStatus.OK, b'{"a": 1}')
    assert told.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert told.endswith(b"Content-Length: 8\r\nConnection: close\r\n\r\n" + b'{"a": 1}')
