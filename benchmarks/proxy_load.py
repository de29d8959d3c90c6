"""The proxy under load: its overhead beside a direct connection, and 64 streams at once.

Run by `benchmarks/proxy.py overhead` and `benchmarks/proxy.py streams`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn
from report import publish
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

Json = dict[str, Any]

_EVENTS = 20
# A process that computes less in half a second is idle.
_IDLE_SECONDS = 0.01
# LiteLLM's proxy starts only with a key.
_KEY = f"sk-{secrets.token_hex(32)}"


async def _stream(request: HttpRequest) -> Response:
    """Twenty words; where a request asks for it, they name its last message, and come slowly."""
    body = await request.body()
    size = len(body) // 4
    word, pause = "w", 0.0
    if b"x-slowly" in dict(request.headers.raw):
        last = json.loads(body)["messages"][-1]["content"]
        word, pause = last if isinstance(last, str) else last[0]["text"], 0.02
    usage = {"input_tokens": 3, "cache_read_input_tokens": size, "output_tokens": 1}
    name = f"msg_{secrets.token_hex(8)}"
    start = {"id": name, "model": "claude-opus-4-8", "content": [], "usage": usage}
    events: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    delta = {"type": "content_block_delta", "index": 0}
    events += [
        delta | {"delta": {"type": "text_delta", "text": f"{word}{i} "}} for i in range(_EVENTS)
    ]
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]

    async def pieces() -> AsyncIterator[bytes]:
        for event in events:
            if pause:
                await asyncio.sleep(pause)
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    return StreamingResponse(pieces(), media_type="text/event-stream")


def upstream_process(port: int) -> None:
    """Runs the streaming upstream; started as a process of its own."""
    app = Starlette(routes=[Route("/v1/messages", _stream, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", http="h11")


@contextmanager
def process(command: list[str], ready: str, **environment: str) -> Iterator[tuple[int, str]]:
    """A child until the end of the block: its process id, and the line that said it is ready."""
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    assert child.stdout is not None
    seen = ""
    try:
        for line in child.stdout:
            seen += line
            if found := re.search(ready, seen):
                break
        else:
            raise SystemExit(f"{command[0]} did not start:\n{seen}")
        threading.Thread(target=child.stdout.read, daemon=True).start()
        yield child.pid, found.group(found.lastindex or 0)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _processor_seconds(pid: int | None) -> float:
    if pid is None:
        return 0.0
    # Linux's clock of another process (clock_getcpuclockid), to the nanosecond; /proc has ticks.
    return time.clock_gettime((~pid << 3) | 2)


def _conversation(tokens: int) -> list[Json]:
    """Rounds of 2,000 tokens, up to this size."""
    text = "some words of a tool result, again and again. " * 175
    found: list[Json] = []
    for i in range(max(1, tokens // 2_000)):
        found.append({"role": "user", "content": f"{i} {text}"})
        found.append({"role": "assistant", "content": f"reply {i}"})
    return [*found, {"role": "user", "content": "go on"}]


def measured(client: httpx2.Client, url: str, body: bytes, session: str) -> tuple[float, float]:
    """Milliseconds to the first byte, and to the last."""
    headers = {
        "authorization": f"Bearer {_KEY}",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "x-session-id": session,
    }
    start = time.perf_counter()
    with client.stream("POST", f"{url}/v1/messages", content=body, headers=headers) as response:
        assert response.status_code == 200, response.read()
        pieces = response.iter_raw()
        next(pieces)
        first = time.perf_counter()
        for _ in pieces:
            pass
    return (first - start) * 1000, (time.perf_counter() - start) * 1000


@contextmanager
def upstream() -> Iterator[str]:
    """The streaming upstream in a process of its own."""
    port = _free_port()
    main = Path(__file__).with_name("proxy.py")
    child = subprocess.Popen([sys.executable, str(main), "upstream", "--port", str(port)])
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait()


def proxy_command(direct: str, scratch: Path, *options: str) -> list[str]:
    project = scratch / "project"
    project.mkdir(exist_ok=True)
    return [
        sys.executable, "-m", "reverie", "--home", str(scratch / "home"), "--project", str(project),
        "--set", f"proxy.upstream.anthropic={direct}", "--set", "models.main=offline",
        "--json", "proxy", "--port", "0", *options,
    ]  # fmt: skip


READY = r'"url": "([^"]+)"'


@dataclass(frozen=True)
class Way:
    name: str
    url: str
    pid: int | None = None


def overhead(litellm: str | None, headroom: str | None, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder, upstream() as direct, ExitStack() as running:
        scratch = Path(folder)
        ways = [Way("direct", direct)]
        for name, options in (("pass-through", ("--pass-through",)), ("all on", ())):
            command = proxy_command(direct, scratch, *options)
            pid, url = running.enter_context(process(command, READY))
            ways.append(Way(f"reverie, {name}", url, pid))
        if litellm is not None:
            ways.append(running.enter_context(_litellm(litellm, direct, scratch)))
        if headroom is not None:
            ways.append(running.enter_context(_headroom(headroom, direct, scratch, "optimizing")))
            passing = _headroom(headroom, direct, scratch, "no optimization", "--no-optimize")
            ways.append(running.enter_context(passing))
        rows = _rounds(ways, repeats)
    columns = [
        *("way", "prompt", "first byte ms p50", "p95", "whole ms p50", "added ms p50", "cpu ms"),
    ]
    publish("proxy_overhead", columns, rows)


@contextmanager
def _litellm(command: str, direct: str, scratch: Path) -> Iterator[Way]:
    config = scratch / "litellm.yaml"
    config.write_text(_LITELLM.format(url=direct))
    port = _free_port()
    full = [command, "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
    own = {"LITELLM_MASTER_KEY": _KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with process(full, r"Uvicorn running on (\S+)", **own) as (pid, _):
        yield Way("LiteLLM's proxy", f"http://127.0.0.1:{port}", pid)


@contextmanager
def _headroom(command: str, direct: str, scratch: Path, kind: str, *options: str) -> Iterator[Way]:
    port = _free_port()
    home = scratch / f"headroom-{port}"
    home.mkdir()
    own = {
        "ANTHROPIC_TARGET_API_URL": direct,
        "HOME": str(home),
        "HEADROOM_TELEMETRY": "off",
        "HF_HUB_OFFLINE": "1",
    }
    # It limits the rate of requests otherwise.
    full = [command, "proxy", "--port", str(port), "--no-rate-limit", *options]
    with process(full, r"(?i)headroom", **own) as (pid, _):
        _wait_for(port)
        yield Way(f"headroom, {kind}", f"http://127.0.0.1:{port}", pid)


_LITELLM = """\
model_list:
  - model_name: claude-opus-4-8
    litellm_params: {{model: anthropic/claude-opus-4-8, api_base: "{url}", api_key: k}}
"""


def _rounds(ways: list[Way], repeats: int) -> list[list[Any]]:
    rows: list[list[Any]] = []
    with httpx2.Client(timeout=120) as client:
        for size in (2_000, 50_000, 200_000):
            head = {"model": "claude-opus-4-8", "max_tokens": 100, "stream": True}
            bodies = _growing(head, size, repeats)
            times: dict[str, list[tuple[float, float]]] = {way.name: [] for way in ways}
            spent: dict[str, float] = dict.fromkeys(times, 0.0)
            for way in ways:
                for _ in range(2):  # The first request may be passed on late.
                    measured(client, way.url, bodies[0], str(size))
                    _wait_until_idle(way.pid)
            for body in bodies[1:]:
                for way in ways:
                    before = _processor_seconds(way.pid)
                    times[way.name].append(measured(client, way.url, body, str(size)))
                    spent[way.name] += _processor_seconds(way.pid) - before
            base = statistics.median(first for first, _ in times["direct"])
            for way in ways:
                firsts = sorted(first for first, _ in times[way.name])
                p50 = statistics.median(firsts)
                whole = statistics.median(total for _, total in times[way.name])
                p95 = firsts[int(len(firsts) * 0.95)]
                cpu = spent[way.name] / len(firsts) * 1000
                rows.append([way.name, size, p50, p95, whole, p50 - base, cpu])
    return rows


def _wait_until_idle(pid: int | None, most: float = 30.0) -> None:
    """The first request of a session is read and learnt from beside it; what follows is warm."""
    end = time.monotonic() + most
    before = -1.0
    while pid and time.monotonic() < end and _processor_seconds(pid) - before > _IDLE_SECONDS:
        before = _processor_seconds(pid)
        time.sleep(0.5)


def _growing(head: Json, size: int, repeats: int) -> list[bytes]:
    """A conversation that grows by a short round with every request."""
    messages = _conversation(size)
    bodies = []
    for i in range(repeats + 1):
        bodies.append(json.dumps({**head, "messages": messages}).encode())
        reply = "".join(f"w{j} " for j in range(_EVENTS))
        messages = [
            *messages,
            {"role": "assistant", "content": reply},
            {"role": "user", "content": f"go on {i}"},
        ]
    return bodies


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)


# ── many streams ─────────────────────────────────────────────────────────────

_STREAMS = 64


@dataclass
class Talks:
    """What 64 clients saw: replies, and those that were not exactly their own."""

    end: float
    replies: int = 0
    wrong: list[str] = field(default_factory=list)
    resident: dict[int, float] = field(default_factory=dict)


def streams(seconds: int) -> None:
    """64 conversations at once, each asking again as soon as it was answered."""
    with tempfile.TemporaryDirectory() as folder, upstream() as direct:
        scratch = Path(folder)
        command = proxy_command(direct, scratch)
        with process(command, READY) as (pid, url):
            talks = asyncio.run(_talk(url, pid, seconds))
            _wait_until_idle(pid)
            status = httpx2.get(f"{url}/_reverie/status").json()
            spent = _processor_seconds(pid) / max(1, talks.replies) * 1000
        app = Workspace.open(scratch / "project", home=scratch / "home")
        journals = app.project.sessions.glob("*.jsonl")
        mixed = sum(map(_names_others, journals))
    early, late = talks.resident.get(10, 0.0), talks.resident.get(seconds, 0.0)
    columns = ["streams", "seconds", "replies", "lost or altered", "mixed sessions"]
    columns += ["MB at 10 s", f"MB at {seconds} s", "passed on late", "cpu ms"]
    late_ones = status["troubles"].get("late", 0)
    counted = [_STREAMS, seconds, talks.replies, len(talks.wrong), mixed]
    publish("proxy_streams", columns, [[*counted, early, late, late_ones, spent]])
    by_time = (f"{talks.resident[at]:.0f}" for at in sorted(talks.resident) if at % 20 == 0)
    print("MB every 20 s:", *by_time)
    print(*talks.wrong[:5], sep="\n")


async def _talk(url: str, pid: int, seconds: int) -> Talks:
    talks = Talks(time.monotonic() + seconds)
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as client:
        talkers = [_one_stream(client, url, number, talks) for number in range(_STREAMS)]
        await asyncio.gather(_watch_memory(pid, seconds, talks), *talkers)
    return talks


async def _one_stream(client: httpx2.AsyncClient, url: str, number: int, talks: Talks) -> None:
    headers = {"x-slowly": "1", "x-session-id": f"stream-{number}", "anthropic-version": "1"}
    history: list[Json] = []
    turn = 0
    while time.monotonic() < talks.end:
        question = f"s{number}t{turn}x"
        turn += 1
        # A conversation of ten rounds, then from the beginning: its size stays the same.
        history = [] if len(history) >= 20 else history
        history.append({"role": "user", "content": question})
        body = {"model": "claude-opus-4-8", "max_tokens": 99, "stream": True, "messages": history}
        async with client.stream("POST", f"{url}/v1/messages", json=body, headers=headers) as got:
            data = b"".join([piece async for piece in got.aiter_raw()])
        text = "".join(re.findall(r'"text_delta", "text": "([^"]*)"', data.decode()))
        expected = "".join(f"{question}{i} " for i in range(_EVENTS))
        if text != expected or b"message_stop" not in data:
            talks.wrong.append(f"{question}: {got.status_code} {text[:80]!r}")
        talks.replies += 1
        history.append({"role": "assistant", "content": text})


def memory(sessions: int) -> None:
    """What the proxy holds while sessions come and go."""
    head = {"model": "claude-opus-4-8", "max_tokens": 99, "stream": True}
    with tempfile.TemporaryDirectory() as folder, upstream() as direct:
        command = proxy_command(direct, Path(folder))
        with process(command, READY) as (pid, url), httpx2.Client(timeout=120) as client:
            for i in range(1, sessions + 1):
                for body in _growing(head, 2, 2):
                    measured(client, url, body.replace(b"0 some", b"%d some" % i), f"many-{i}")
                if i % 100 == 0:
                    print(f"{i} sessions: {_resident(pid)} MB", flush=True)


async def _watch_memory(pid: int, seconds: int, talks: Talks) -> None:
    for second in range(1, seconds + 1):
        await asyncio.sleep(1)
        talks.resident[second] = _resident(pid)


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)  # in megabytes


def _names_others(path: Path) -> bool:
    """Whether a journal holds words of more than one stream."""
    said = (r.message.text for r in journal.load(path).records if isinstance(r, Said))
    return len({name for text in said for name in re.findall(r"\bs(\d+)t", text)}) > 1
