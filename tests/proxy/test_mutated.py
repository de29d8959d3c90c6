"""Mutated requests and replies pass byte for byte, or are an error that says so."""

from __future__ import annotations

import json
import random
import re
import socket
import threading
from contextlib import suppress

import httpx2
import pytest
from tests.proxy.conftest import RawUpstream
from tests.proxy.test_robust import BODY, HEADERS, MODEL


def mutated(seed: int) -> bytes:
    """The body with some bytes removed, doubled or replaced, or a value of another kind."""
    chance = random.Random(seed)
    if seed % 3 == 0:
        value = json.loads(json.dumps(BODY))
        place = chance.choice([value, value["messages"][0], value["messages"][1]["content"][0]])
        key = chance.choice(list(place))
        place[key] = chance.choice([None, 7, "text", [], {}, [[]], [None], {"type": None}, True])
        return json.dumps(value).encode()
    data = bytearray(json.dumps(BODY, ensure_ascii=seed % 2 == 0).encode())
    spoil(data, chance)
    return bytes(data)


def spoil(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                del data[at : at + chance.randint(1, 30)]
            case 1:
                data[at:at] = data[at : at + chance.randint(1, 30)]
            case 2:
                data[at] = chance.randrange(256)
            case _:
                data[at:at] = chance.choice(
                    [b"\x00", b'"', b"}", b"]", b",", b"\xff", b"NaN", b"[" * 50]
                )


class Echo:
    """An upstream that answers with what it got."""

    async def __call__(self, scope, receive, send):
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-echo", b"1")]})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def echo():
    from reverie.proxy.running import server

    ready = threading.Event()
    running = server(Echo(), ready.set)
    running.config.lifespan = "off"
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, args=([bound],))
    thread.start()
    ready.wait()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    running.should_exit = True
    thread.join()


def pass_mutated(start, echo, seeds) -> None:
    # Layers that change nothing: whatever differs would be a fault.
    proxy = start("proxy.memory=false", "proxy.marks=false", upstream=echo)
    with httpx2.Client() as client:
        for seed in seeds:
            body = mutated(seed)
            answer = client.post(f"{proxy.url}/v1/messages", content=body, headers=HEADERS)
            assert answer.status_code == 200, seed
            assert answer.content == body, seed
    assert proxy.engine.troubles.counts["failed"] == 0, proxy.engine.troubles.latest


def test_mutated_requests_pass_byte_for_byte(start, echo):
    # The last one has a tool result without content.
    pass_mutated(start, echo, [*range(300), 1751])


@pytest.mark.slow
def test_ten_thousand_mutated_requests(start, echo):
    pass_mutated(start, echo, range(10_000))


EVENTS = (
    {"type": "message_start", "message": {"id": "m", "model": MODEL, "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hé 😀"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)  # fmt: skip


def mutated_reply(seed: int) -> bytes:
    """A streamed or a whole reply, with faults in its body, or anywhere from its status line on."""
    chance = random.Random(seed)
    streamed, broken = seed % 2 == 0, seed % 3 == 0
    events = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in EVENTS]
    whole = {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "usage": {}}
    body = bytearray(b"".join(events) if streamed else json.dumps(whole).encode())
    if not broken:
        spoil(body, chance)
    kind = b"text/event-stream" if streamed else b"application/json"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\nconnection: close\r\n"
    if seed % 4 < 2:
        answer = bytearray(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    else:
        parts = [body[i : i + 90] for i in range(0, len(body), 90)]
        packed = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        answer = bytearray(head + b"transfer-encoding: chunked\r\n\r\n" + packed + b"0\r\n\r\n")
    if broken:
        spoil(answer, chance)
    return bytes(answer)


class SpoiltReplies(RawUpstream):
    """Answers with the mutated reply whose seed is in the request's path."""

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = self._whole_request(connection)
            if found := re.search(rb"seed=(\d+)", data):
                connection.sendall(mutated_reply(int(found.group(1))))


def outcome(client: httpx2.Client, url: str) -> tuple[int, bytes] | str:
    """Status and bytes of a response; what a client says of one that it cannot read."""
    try:
        with client.stream("POST", url, json=BODY, headers=HEADERS) as answer:
            return answer.status_code, b"".join(answer.iter_raw())
    except httpx2.TransportError as error:
        return type(error).__name__


def pass_mutated_replies(start, seeds) -> None:
    upstream = SpoiltReplies()
    proxy = start("proxy.memory=false", "proxy.learning=false", upstream=upstream.url)
    with httpx2.Client() as client:
        for seed in seeds:
            target = f"/v1/messages?seed={seed}"
            direct = outcome(client, upstream.url + target)
            got = outcome(client, proxy.url + target)
            # What can be read is passed on as it is; what cannot is an error, or broken off.
            unreadable = isinstance(direct, str) and isinstance(got, str)
            refused = seed % 3 == 0 and got[0] == 502 and b"reverie proxy" in got[1]
            assert got == direct or unreadable or refused, (seed, direct, got)
    assert proxy.engine.troubles.counts["failed"] == 0, proxy.engine.troubles.latest
    upstream.close()


def test_mutated_replies_pass_byte_for_byte_or_are_errors(start):
    # The last one has a control character in a header.
    pass_mutated_replies(start, [*range(200), 2241])


@pytest.mark.slow
def test_ten_thousand_mutated_replies(start):
    pass_mutated_replies(start, range(10_000))
