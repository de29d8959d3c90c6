"""With every switch off, and on every path that is not known, bytes pass unchanged."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest
from tests.proxy.conftest import ALL_OFF

from reverie.proxy import upstream

HEADERS = {
    "Authorization": "Bearer sk-secret-of-the-client",
    "anthropic-version": "2026-10-21",
    "anthropic-beta": "a-2026-01-01,b-2026-02-02",
    "X-Unknown": "kept  with two blanks",
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip, br",
}
# Odd spacing, escapes, numbers and order: nothing a parser would write the same way again.
ODD = b'{ "model" : "claude-opus-4-8","messages":[ {"role":"user","content":"h\\u00e9\\/ \xf0\x9f\x98\x80"} ],"max_tokens":1e2, "zzz":1.0}'
STREAM = b"event: message_start\r\ndata: {}\r\n\r\nevent: ping\ndata: {}\n\n: comment\n\n"


def response(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def asked(url: str, method: str, path: str, body: bytes | None, headers: dict[str, str]):
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages?beta=true",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1beta/models/gemini-4-pro:generateContent?key=abc%2Fdef",
        "/v1/responses/compact",
        "/v1/files/a%20b/..%2Fc?x=%41&y=a+b",
        "/v1/messages/count_tokens",
    ],
)
def test_request_and_response_pass_unchanged(start, raw_upstream, path):
    raw_upstream.answers = [response(STREAM, "X-Request-Id: r1", "Server: them", "Date: then")]
    proxy = start(*ALL_OFF, upstream=raw_upstream.url)

    answer, data = asked(proxy.url, "POST", path, ODD, HEADERS)

    head, _, body = raw_upstream.received[0].partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    got = {
        name.strip().lower(): value.strip()
        for name, _, value in (f.partition(b":") for f in fields)
    }
    assert line == f"POST {path} HTTP/1.1".encode()
    assert body == ODD
    for name, value in HEADERS.items():
        assert got[name.lower().encode()] == value.encode()
    assert set(got) == {name.lower().encode() for name in HEADERS} | {b"host", b"content-length"}
    assert data == STREAM
    assert dict(answer.getheaders()) == {
        "x-request-id": "r1", "server": "them", "date": "then", "content-length": str(len(STREAM)),
    }  # fmt: skip


def test_an_unknown_path_passes_with_the_switches_on(start, raw_upstream):
    raw_upstream.answers = [response(b"\x00\xff", status="418 Teapot")]
    proxy = start(upstream=raw_upstream.url)

    answer, data = asked(proxy.url, "PATCH", "/v2/anything", b"\x00\x01no json", {"X-A": "1"})

    assert (answer.status, data) == (418, b"\x00\xff")
    assert raw_upstream.received[0].endswith(b"\r\n\r\n\x00\x01no json")


def test_a_head_and_a_get_stay_without_a_body(start, raw_upstream):
    raw_upstream.answers = [b"HTTP/1.1 204 No Content\r\n\r\n"]
    proxy = start(upstream=raw_upstream.url)

    answer, _ = asked(proxy.url, "HEAD", "/", None, {})

    assert answer.status == 204
    assert raw_upstream.received[0].startswith(b"HEAD / HTTP/1.1\r\n")
    assert b"content-length" not in raw_upstream.received[0].lower()


def test_compressed_responses_stay_compressed(start, raw_upstream):
    packed = gzip.compress(json.dumps({"error": "x"}).encode())
    raw_upstream.answers = [response(packed, "Content-Encoding: gzip", status="500 Oh")]
    proxy = start(upstream=raw_upstream.url)

    answer, data = asked(proxy.url, "POST", "/v1/messages", b"not json", HEADERS)

    assert (answer.status, data) == (500, packed)
    assert raw_upstream.received[0].endswith(b"not json")


def test_connection_headers_are_not_passed_on(start, raw_upstream):
    raw_upstream.answers = [response(b"", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5")]
    proxy = start(upstream=raw_upstream.url)

    headers = {"Connection": "close, X-Mine", "X-Mine": "1", "TE": "trailers", "X-Kept": "1"}
    answer, _ = asked(proxy.url, "GET", "/v1/models", None, headers)

    sent = raw_upstream.received[0].lower()
    assert b"x-kept: 1" in sent
    assert b"x-mine: 1" not in sent
    assert b"te:" not in sent
    assert answer.getheader("x-hop") is None


def test_a_chain_of_gateways_keeps_its_path(start, raw_upstream):
    raw_upstream.answers = [response(b"{}")]
    proxy = start(upstream=raw_upstream.url + "/team/gateway/")

    asked(proxy.url, "GET", "/openai/v1/models?limit=1", None, {})

    assert raw_upstream.received[0].startswith(b"GET /team/gateway/v1/models?limit=1 HTTP/1.1")


class TestWhoMayAsk:
    def test_a_foreign_host_is_refused(self, start, raw_upstream):
        proxy = start(upstream=raw_upstream.url)
        answer, data = asked(proxy.url, "POST", "/v1/messages", b"{}", {"Host": "evil.example"})
        assert answer.status == 403
        assert "evil.example" in json.loads(data)["error"]["message"]
        assert raw_upstream.received == []

    @pytest.mark.parametrize("origin", ["https://evil.example", "null"])
    def test_a_web_page_is_refused(self, start, raw_upstream, origin):
        proxy = start(upstream=raw_upstream.url)
        answer, _ = asked(proxy.url, "POST", "/v1/messages", b"{}", {"Origin": origin})
        assert answer.status == 403
        assert raw_upstream.received == []

    def test_a_websocket_is_refused_so_that_the_client_falls_back(self, start, raw_upstream):
        proxy = start(upstream=raw_upstream.url)
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        answer, _ = asked(proxy.url, "GET", "/v1/responses", None, headers)
        assert answer.status == 426


class TestBadInput:
    def test_http_1_0(self, start, raw_upstream):
        raw_upstream.answers = [response(b'{"a":1}')]
        proxy = start(upstream=raw_upstream.url)
        address = urlsplit(proxy.url)
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(b"GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n")
            data = b"".join(iter(lambda: client.recv(65536), b""))
        assert data.startswith(b"HTTP/1.1 200")
        assert data.endswith(b'{"a":1}')

    def test_a_wrong_length_sends_nothing(self, start, raw_upstream):
        raw_upstream.answers = [response(b"{}")]
        proxy = start(upstream=raw_upstream.url)
        address = urlsplit(proxy.url)
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(
                b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{}"
            )
            client.shutdown(socket.SHUT_WR)
            assert client.recv(65536) == b""
        assert raw_upstream.received == []

    def test_an_upstream_that_never_answers(self, start, monkeypatch):
        monkeypatch.setattr(upstream, "SILENT_SECONDS", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            proxy = start(upstream=f"http://127.0.0.1:{silent.getsockname()[1]}")
            answer, data = asked(proxy.url, "POST", "/v1/messages", ODD, HEADERS)
        assert answer.status == 504
        assert "did not answer in time" in json.loads(data)["error"]["message"]

    def test_an_upstream_that_is_not_there(self, start):
        # Bound and not listening: nothing answers, and no other program can take the port.
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            self.ask_nothing(start(upstream=f"http://127.0.0.1:{reserved.getsockname()[1]}"))

    def ask_nothing(self, proxy):
        answer, data = asked(proxy.url, "POST", "/v1/messages", ODD, HEADERS)
        assert answer.status == 502
        error = json.loads(data)["error"]
        assert error["type"] == "api_error"
        assert "127.0.0.1" in error["message"]
        assert "sk-secret" not in data.decode()

    def test_64_megabytes_pass_in_pieces(self, start, raw_upstream):
        raw_upstream.answers = [response(b"{}")]
        proxy = start(upstream=raw_upstream.url)
        body = b'{"messages":["' + b"x" * (64 * 1024 * 1024) + b'"]}'
        answer, _ = asked(proxy.url, "POST", "/v1/messages", body, HEADERS)
        assert answer.status == 200
        assert raw_upstream.received[0].endswith(body)
