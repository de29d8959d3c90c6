"""Replies of providers as they may legally come, and what is wrong with others."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import httpx2
import pytest

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK + b"content-length: 5\r\n\r\nhello", b"hello"),
        (OK + b"content-length: 5\r\n\r\nhello and more", b"hello"),
        (CHUNKED + b"3\r\nhel\r\n2;x=1\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n", b"hello"),
        (OK + b"\r\nhello", b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + OK + b"\r\nhello", b"hello"),
        (OK + b"content-length: 0\r\n\r\n", b""),
    ],
)
def test_a_reply_is_passed_on(start, raw_upstream, answer, body):
    raw_upstream.answers = [answer]
    proxy = start(upstream=raw_upstream.url)
    # The second one must not find what the first one left.
    for _ in range(2):
        got = httpx2.get(f"{proxy.url}/v1/models")
        assert (got.status_code, got.content) == (200, body)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        OK[:-4],
        OK + b"x: " + b"a" * 200_000,
        OK + b"content-length: five\r\n\r\nhello",
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK[:-2] + b"\x00\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
)
def test_what_is_no_reply_is_an_error(start, raw_upstream, answer):
    raw_upstream.answers = [answer]
    got = httpx2.get(f"{start(upstream=raw_upstream.url).url}/v1/models")
    assert got.status_code == 502
    assert "broke off" in got.text


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"5\r\nhello\r\nno size\r\n",
        CHUNKED + b"5\r\nhello\r\n",
        OK + b"content-length: 9\r\n\r\nhello",
    ],
)
def test_a_broken_body_is_passed_on_as_far_as_it_came(start, raw_upstream, answer):
    raw_upstream.answers = [answer]
    address = urlsplit(start(upstream=raw_upstream.url).url)
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = b"".join(iter(lambda: client.recv(65536), b""))
    assert data.startswith(b"HTTP/1.1 200")
    assert b"hello" in data
    assert not data.endswith(b"0\r\n\r\n")


def test_the_answer_to_a_head_leaves_nothing_behind(start, raw_upstream):
    raw_upstream.answers = [OK + b"content-length: 5\r\n\r\n", OK + b"content-length: 2\r\n\r\n{}"]
    proxy = start(upstream=raw_upstream.url)
    assert httpx2.head(f"{proxy.url}/v1/models").headers["content-length"] == "5"
    assert httpx2.get(f"{proxy.url}/v1/models").content == b"{}"
