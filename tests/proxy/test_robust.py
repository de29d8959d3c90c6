"""What may go wrong: mutated requests and replies, many streams, a client that leaves, a killed proxy."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import struct
import threading
from urllib.parse import urlsplit

import anthropic
import httpx2
import pytest
from tests.provider.gate import Gate
from tests.provider.script import Cut, Held, Malformed, Reply, Text
from tests.proxy.conftest import proxy_process

from reverie.proxy import upstream
from reverie.proxy.body import Bodies, Unreadable

MODEL = "claude-opus-4-8"
HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
BODY = {
    "model": MODEL,
    "max_tokens": 50,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "hé 😀 \u2028 \\ \" read it"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_a_body_is_split_and_joined_without_loss(seed):
    bodies, text = Bodies(), json.dumps(BODY, ensure_ascii=False, indent=seed % 3 or None)
    for body in (text, text.replace("read it", "read it again"), text):
        try:
            found = bodies.read(body, "messages")
        except Unreadable:
            continue
        if seed % 3 == 0:
            continue
        assert json.loads(found.text([one.raw for one in found.elements])) == json.loads(body)


class TestReplies:
    @pytest.mark.parametrize("fault", [Cut(after=4), Malformed(after=4)])
    def test_a_broken_stream_is_passed_on_as_far_as_it_came(self, start, provider, fault):
        got = {}
        for name in ("direct", "proxied"):
            provider.script(fault)
            url = provider.base_url if name == "direct" else start().url
            got[name] = read_all(url)
        assert got["direct"] == got["proxied"]
        assert b"content_block_delta" in got["proxied"][0]

    def test_a_client_that_leaves_ends_the_call_upstream(self, start, provider):
        proxy = start()
        gate = Gate()
        provider.script(Held(Reply((Text("one two three"),)), gate, after=3))
        address = urlsplit(proxy.url)
        body = json.dumps(
            {
                "model": MODEL,
                "max_tokens": 9,
                "stream": True,
                "messages": [{"role": "user", "content": "hi"}],
            }
        )
        with socket.create_connection((address.hostname, address.port)) as client:
            head = "".join(f"{k}: {v}\r\n" for k, v in HEADERS.items())
            client.sendall(
                f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            assert client.recv(10)
        gate.release()
        # The proxy still serves, and the cost of what was broken off is on the ledger.
        client = anthropic.Anthropic(base_url=proxy.url, api_key="k", max_retries=0)
        client.messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )
        proxy.stop()
        assert any(entry.usage.prompt for entry in proxy.app.ledger.entries())


class OneAnswerEach:
    """An upstream that promises to keep a connection and resets it at the second request."""

    ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"

    def __init__(self) -> None:
        self.requests = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                if self._request(connection):
                    connection.sendall(self.ANSWER)
                self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        if self._request(connection):
            # With this option, closing sends a reset.
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def _request(self, connection: socket.socket) -> bool:
        data = b""
        while not data.endswith(b"}"):
            if not (more := connection.recv(65_536)):
                return False
            data += more
        self.requests += 1
        return True

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


def test_a_request_that_was_sent_is_never_sent_again(start, monkeypatch):
    """A kept connection that breaks: the provider may have billed it, so the client decides."""
    monkeypatch.setattr(upstream, "KEPT_SECONDS", None)
    provider = OneAnswerEach()
    proxy = start("proxy.memory=false", upstream=provider.url)
    with httpx2.Client() as client:
        got = [
            client.post(f"{proxy.url}/v1/messages", json=BODY, headers=HEADERS) for _ in range(3)
        ]
    proxy.stop()
    provider.close()
    assert [one.status_code for one in got] == [200, 502, 200]
    assert got[1].json()["error"]["type"] == "api_error"
    assert provider.requests == 3


def test_a_kept_connection_that_was_closed_is_replaced_before_anything_is_sent(start, monkeypatch):
    monkeypatch.setattr(upstream, "KEPT_SECONDS", None)
    closed = threading.Event()

    class ClosesAfterwards(OneAnswerEach):
        def _end(self, connection: socket.socket) -> None:
            connection.close()
            closed.set()

    provider = ClosesAfterwards()
    proxy = start("proxy.memory=false", upstream=provider.url)
    with httpx2.Client() as client:
        for _ in range(3):
            closed.clear()
            answer = client.post(f"{proxy.url}/v1/messages", json=BODY, headers=HEADERS)
            assert answer.status_code == 200
            closed.wait()
    proxy.stop()
    provider.close()
    assert provider.requests == 3


def read_all(url: str) -> tuple[bytes, str]:
    """Everything that arrives, and how it ended."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    body = {
        "model": MODEL,
        "max_tokens": 9,
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }
    connection.request(
        "POST", "/v1/messages", json.dumps(body), {**HEADERS, "content-type": "application/json"}
    )
    response = connection.getresponse()
    try:
        return without_ids(response.read()), "whole"
    except http.client.IncompleteRead as error:
        return without_ids(error.partial), "cut"
    finally:
        response.close()
        connection.close()


def without_ids(data: bytes) -> bytes:
    return b"".join(line for line in data.splitlines() if b"message_start" not in line)


def test_sixty_four_streams_at_once(start, provider):
    proxy = start("proxy.memory=false")
    provider.problems = list
    provider.respond(lambda request: f"answer to {request.json['messages'][-1]['content']}")

    async def talk(client, number):
        history = []
        for turn in range(2):
            question = f"question {number} of turn {turn}"
            history.append({"role": "user", "content": question})
            async with client.messages.stream(
                model=MODEL, max_tokens=50, messages=history
            ) as stream:
                text = await stream.get_final_text()
            assert text == f"answer to {question}"
            history.append({"role": "assistant", "content": text})

    async def all_at_once():
        async with anthropic.AsyncAnthropic(
            base_url=proxy.url, api_key="k", max_retries=0
        ) as client:
            await asyncio.gather(*(talk(client, number) for number in range(64)))

    asyncio.run(all_at_once())
    proxy.stop()
    assert len(proxy.app.journals()) == 64
    assert sum(1 for _ in proxy.app.ledger.entries()) == 128


def test_a_killed_proxy_goes_on_with_the_same_bytes(place, provider):
    from reverie.memory.changes.draft import NewMemory
    from reverie.memory.format.revisions import Author

    memory = NewMemory(text="The deploy of the shop needs the flag --canary", type="project")
    place.app().remember(memory, Author("Test", "test@example.invalid"))
    history = [{"role": "user", "content": "How do I deploy the shop?"}]
    child, told = proxy_process(place, provider)
    with child:
        client = anthropic.Anthropic(base_url=told["url"], api_key="k", max_retries=0)
        reply = client.messages.create(model=MODEL, max_tokens=50, messages=history)
        history += [
            {"role": "assistant", "content": reply.content[0].text},
            {"role": "user", "content": "And then?"},
        ]
        gate = Gate()
        provider.script(Held(Reply((Text("one two three"),)), gate, after=3))
        with client.messages.stream(model=MODEL, max_tokens=50, messages=history) as stream:
            next(iter(stream))
            os.kill(child.pid, signal.SIGKILL)
            with pytest.raises((httpx2.TransportError, anthropic.APIError)):
                for _ in stream:
                    pass
        gate.release()
        child.wait()
    child, told = proxy_process(place, provider)
    with child:
        client = anthropic.Anthropic(base_url=told["url"], api_key="k", max_retries=0)
        client.messages.create(model=MODEL, max_tokens=50, messages=history)
        child.send_signal(signal.SIGTERM)
        child.wait()
    sent = [
        [message["content"] for message in request.json["messages"]]
        for request in provider.requests
    ]
    assert "--canary" in json.dumps(sent[0][1])
    assert json.dumps(sent[1]).replace(
        ', "cache_control": {"type": "ephemeral"}', ""
    ) == json.dumps(sent[2]).replace(', "cache_control": {"type": "ephemeral"}', "")
