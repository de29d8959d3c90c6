"""The proxy: what it adds to a request's time, and what it saves on real sessions.

    python benchmarks/proxy.py overhead [--litellm PYTHON]   against direct, same upstream, same run
    python benchmarks/proxy.py sessions [--limit N]          47 sessions through the real HTTP path

For the sessions, the client's requests are rebuilt from its transcripts with the marks that Claude
Code sets, and sent one by one through the proxy to a server that prices what arrives by the
provider's documented cache rules. The clock is the transcript's.
"""

from __future__ import annotations

import argparse
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
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx2
import uvicorn
from report import data_folder, machine, publish
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from trajectories import row_of

from reverie.conversation import transcripts
from reverie.conversation.records import Compacted, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Message
from reverie.core.prompt_cache.breakpoints import Mark
from reverie.core.prompt_cache.chain import Chain, Link, extend, root_digest
from reverie.core.prompt_cache.simulator import Call, Simulator
from reverie.core.request import Head, Segment
from reverie.core.tokens import text_tokens
from reverie.core.usage import Usage
from reverie.core.window import Ttl
from reverie.models.anthropic_wire import message_to_wire
from reverie.models.catalog import Row
from reverie.proxy.body import Bodies, Body
from reverie.proxy.running import OVERRIDES, application, listen, make_engine, server
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

Json = dict[str, Any]

# What Claude Code's head measures, in tokens; its text is not in a transcript.
_HEAD_TOKENS = 18_000


# ── an upstream that prices what arrives ─────────────────────────────────────


@dataclass
class Meter:
    """The provider's cache for one session, and the bill."""

    row: Row
    cache: Simulator = field(init=False)
    usage: Usage = Usage()
    cost: float = 0.0
    _bodies: Bodies = field(default_factory=Bodies)

    def __post_init__(self) -> None:
        self.cache = Simulator(self.row.capabilities.cache)

    def charge(self, text: str, at: float, output: int) -> Usage:
        chain, marks = self._chain(self._bodies.read(text, "messages"))
        used = self.cache.run(Call(chain, at, output), marks)
        assert self.row.prices is not None
        self.usage += used
        self.cost += self.row.prices.cost(used)
        return used

    def _chain(self, body: Body) -> tuple[Chain, tuple[Mark, ...]]:
        head = Head(str(body.fields["model"]))
        links: list[Link] = []
        marks: list[Mark] = []
        last: Link | None = None
        system = body.fields.get("system") or ()
        parts = [("system", i, 0, _part("system", one)) for i, one in enumerate(system)]
        for i, element in enumerate(body.elements):
            if element.read is None:
                element.read = list(_message_parts(element.value))
            parts += [("messages", i, j, part) for j, part in enumerate(element.read)]
        for section, index, block, (data, tokens, kind, ttl) in parts:
            segment = Segment(section, index, block, data, tokens, kind)  # type: ignore[arg-type]
            (last,) = extend(last, root_digest(head), (segment,))
            links.append(last)
            if ttl:
                marks.append(Mark(len(links) - 1, ttl))
        assert len(marks) <= 4, "a fifth mark"
        return Chain(head, tuple(links)), tuple(marks)


Part: TypeAlias = tuple[bytes, int, str, Ttl | None]


def _message_parts(message: Json) -> Iterator[Part]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    yield from (_part(message["role"], part) for part in parts)


def _part(role: str, part: Json) -> Part:
    """A block's bytes without its mark, its size and kind, and the mark's life."""
    control = part.get("cache_control")
    plain = {key: value for key, value in part.items() if key != "cache_control"}
    text = json.dumps(plain, ensure_ascii=False)
    ttl: Ttl | None = None if not control else "1h" if control.get("ttl") == "1h" else "5m"
    data = f"{role} {text}".encode("utf-8", "surrogatepass")
    return data, text_tokens(text), str(part.get("type") or "tool"), ttl


@dataclass
class PricingUpstream:
    """Answers each request with the transcript's next reply, and charges for it."""

    clock: SettableClock
    meter: Meter | None = None
    reply: Json = field(default_factory=dict)

    async def answer(self, request: HttpRequest) -> Response:
        text = (await request.body()).decode()
        assert self.meter is not None
        used = self.meter.charge(text, self.clock.at, self.reply["output"])
        counts = {
            "input_tokens": used.input,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "cache_creation": {"ephemeral_1h_input_tokens": used.cache_write_1h},
            "output_tokens": used.output,
        }
        return JSONResponse(
            {
                "id": self.reply["id"],
                "type": "message",
                "role": "assistant",
                "model": self.meter.row.name,
                "content": self.reply["content"],
                "stop_reason": self.reply["stop"],
                "usage": counts,
            }
        )


@dataclass
class SettableClock:
    at: float = 0.0

    def now(self) -> float:
        return self.at


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An application in a thread of its own."""
    bound = socket.create_server(("127.0.0.1", 0))
    ready = threading.Event()
    running = server(app, ready.set)
    thread = threading.Thread(target=running.run, args=([bound],))
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()


# ── the sessions ─────────────────────────────────────────────────────────────


@dataclass
class ClientCall:
    """One request as the client sent it, and the reply it got."""

    at: float
    messages: list[Json]
    reply: Json
    billed: Usage


def calls_of(records: tuple[Record, ...]) -> Iterator[ClientCall]:
    """The client's requests, rebuilt: what it had said, with its own compactions applied."""
    used = {r.response: r for r in records if isinstance(r, Used) and r.purpose == "main"}
    state = SessionState()
    replies: dict[str, list[Message]] = {}
    for record in records:
        if isinstance(record, Said) and record.message.response in used:
            replies.setdefault(record.message.response, []).append(record.message)
    for record in records:
        if isinstance(record, Said) and record.message.response in used:
            call = used.pop(record.message.response)
            said = replies[call.response]
            wire = _wire(state.messages)
            if wire and wire[-1]["role"] == "user":
                yield ClientCall(call.at, wire, _reply(call, said), call.usage)
        if isinstance(record, Said | Compacted):
            state.apply(record)


def _reply(call: Used, said: list[Message]) -> Json:
    content = [part for message in said for part in (_content(message) or [])]
    tools = any(part["type"] == "tool_use" for part in content)
    return {
        "id": call.response,
        "content": content,
        "stop": "tool_use" if tools else "end_turn",
        "output": call.usage.output,
    }


@cache
def _content(message: Message) -> list[Json]:
    wire = message_to_wire(message)
    return [] if wire is None else list(wire["content"])


def _wire(messages: list[Message]) -> list[Json]:
    """The messages as a client sends them: neighbours of one role are one, the last block marked."""
    found: list[Json] = []
    for message in messages:
        content = _content(message)
        if not content:
            continue
        if found and found[-1]["role"] == message.role:
            found[-1]["content"] = [*found[-1]["content"], *content]
        else:
            found.append({"role": message.role, "content": content})
    while found and found[0]["role"] != "user":
        found.pop(0)
    return found


def _marked(messages: list[Json]) -> list[Json]:
    last = messages[-1]
    parts = [*last["content"][:-1], last["content"][-1] | {"cache_control": {"type": "ephemeral"}}]
    return [*messages[:-1], {**last, "content": parts}]


def _body(model: str, call: ClientCall) -> Json:
    head = "x" * (_HEAD_TOKENS * 4)
    system = [{"type": "text", "text": head, "cache_control": {"type": "ephemeral"}}]
    tools = [
        {"name": name, "description": "", "input_schema": {"type": "object"}}
        for name in ("Read", "Bash", "Grep", "Glob", "Edit", "Write", "WebFetch")
    ]
    return {
        "model": model,
        "messages": _marked(call.messages),
        "system": system,
        "tools": tools,
        "max_tokens": 32_000,
    }


def sessions(limit: int | None, options: tuple[str, ...]) -> None:
    paths = sorted((data_folder() / "claude_sessions").glob("*.jsonl.gz"))[:limit]
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths:
            row = replayed(path, Path(scratch), options)
            if row is not None:
                rows.append(row)
                print(*row, flush=True)
    totals = [sum(row[i] for row in rows) for i in range(1, 5)]
    client, ours = totals[2], totals[3]
    dearer = [row for row in rows if row[4] > row[3] * 1.01]
    rows.append(["all", *totals, f"{ours / client - 1:+.1%}", ""])
    columns = ["session", "calls", "billed $", "client $", "ours $", "difference", "late"]
    publish("proxy_sessions", columns, rows)
    print(f"{len(rows) - 1} sessions; dearer by more than 1 %: {len(dearer)}; {machine()}")


def replayed(path: Path, scratch: Path, options: tuple[str, ...]) -> list[Any] | None:
    """One session: its calls, and what they cost billed, unchanged and through the proxy."""
    records = transcripts.load(path).records
    models = [r.model for r in records if isinstance(r, Used)]
    calls = list(calls_of(records))
    if not calls:
        return None
    row = row_of(max(set(models), key=models.count))
    clock = SettableClock(calls[0].at)
    unchanged, upstream = Meter(row), PricingUpstream(clock, Meter(row))
    project = scratch / path.name
    project.mkdir()
    priced = Starlette(routes=[Route("/v1/messages", upstream.answer, methods=["POST"])])
    with served(priced) as url:
        overrides = (
            *OVERRIDES,
            "models.main=offline",
            f"proxy.upstream.anthropic={url}",
            "proxy.patience=60000",
            *options,
        )
        app = Workspace.open(project, home=scratch / "home", overrides=overrides, clock=clock)
        engine = make_engine(app, home=scratch / "home", overrides=overrides)
        listener = listen("127.0.0.1", 0, None)
        with (
            served(application(app, engine, listener)) as proxy,
            httpx2.Client(timeout=60) as client,
        ):
            # It is the other socket that is served here.
            listener.socket.close()
            headers = {"user-agent": "claude-cli/2.1", "x-claude-code-session-id": path.name[:36]}
            for call in calls:
                clock.at = call.at
                body = json.dumps(_body(row.name, call), ensure_ascii=False, separators=(",", ":"))
                unchanged.charge(body, call.at, call.reply["output"])
                upstream.reply = call.reply
                sent = body.encode("utf-8", "replace")
                client.post(
                    f"{proxy}/v1/messages", content=sent, headers=headers
                ).raise_for_status()
            engine.settled()
    assert row.prices is not None
    assert upstream.meter is not None
    billed = sum(row.prices.cost(call.billed) for call in calls)
    ours = upstream.meter.cost
    late = sum(engine.troubles.counts.values())
    name = path.name[:8]
    share = f"{ours / unchanged.cost - 1:+.1%}"
    return [
        name,
        len(calls),
        round(billed, 3),
        round(unchanged.cost, 3),
        round(ours, 3),
        share,
        late,
    ]


# ── overhead ─────────────────────────────────────────────────────────────────

_EVENTS = 20
# LiteLLM's proxy starts only with a key, which its clients send; the others pass it on.
_KEY = f"sk-{secrets.token_hex(32)}"


async def _stream(request: HttpRequest) -> Response:
    body = await request.body()
    size = len(body) // 4
    usage = {"input_tokens": 3, "cache_read_input_tokens": size, "output_tokens": 1}
    start = {"id": "msg_1", "model": "claude-opus-4-8", "content": [], "usage": usage}
    events: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    delta = {"type": "content_block_delta", "index": 0}
    events += [delta | {"delta": {"type": "text_delta", "text": f"w{i} "}} for i in range(_EVENTS)]
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]

    async def pieces() -> AsyncIterator[bytes]:
        for event in events:
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


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def overhead(litellm: str | None, repeats: int) -> None:
    port = _free_port()
    me = str(Path(__file__).resolve())
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        upstream = [sys.executable, me, "upstream", "--port", str(port)]
        subprocess_of_upstream = subprocess.Popen(upstream)
        try:
            _wait_for(port)
            direct = f"http://127.0.0.1:{port}"
            rows += _against(direct, Path(scratch), litellm, repeats)
        finally:
            subprocess_of_upstream.terminate()
            subprocess_of_upstream.wait()
    columns = [
        "way",
        "prompt",
        "first byte ms p50",
        "p95",
        "whole ms p50",
        "added ms p50",
        "cpu ms",
    ]
    publish("proxy_overhead", columns, rows)
    print(machine())


def _against(direct: str, scratch: Path, litellm: str | None, repeats: int) -> list[list[Any]]:
    project = scratch / "project"
    project.mkdir()
    reverie = [
        sys.executable, "-m", "reverie", "--home", str(scratch / "home"), "--project", str(project),
        "--set", f"proxy.upstream.anthropic={direct}", "--set", "models.main=offline",
    ]  # fmt: skip
    rows: list[list[Any]] = []
    passing = [*reverie, "--json", "proxy", "--port", "0", "--pass-through"]
    full = [*reverie, "--json", "proxy", "--port", "0"]
    ready = r'"url": "([^"]+)"'
    with process(passing, ready) as (one, one_url), process(full, ready) as (two, two_url):
        ways: list[tuple[str, str, int | None]] = [
            ("direct", direct, None),
            ("reverie, pass-through", one_url, one),
            ("reverie, all on", two_url, two),
        ]
        if litellm is None:
            return _rounds(ways, repeats)
        config = scratch / "litellm.yaml"
        config.write_text(_LITELLM.format(url=direct))
        other = _free_port()
        command = [litellm, "--config", str(config), "--port", str(other), "--host", "127.0.0.1"]
        own = {"LITELLM_MASTER_KEY": _KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with process(command, r"Uvicorn running on (\S+)", **own) as (three, _):
            ways.append(("LiteLLM's proxy", f"http://127.0.0.1:{other}", three))
            rows = _rounds(ways, repeats)
    return rows


_LITELLM = """\
model_list:
  - model_name: claude-opus-4-8
    litellm_params: {{model: anthropic/claude-opus-4-8, api_base: "{url}", api_key: k}}
"""


def _rounds(ways: list[tuple[str, str, int | None]], repeats: int) -> list[list[Any]]:
    rows: list[list[Any]] = []
    with httpx2.Client(timeout=120) as client:
        for size in (2_000, 50_000, 200_000):
            head = {"model": "claude-opus-4-8", "max_tokens": 100, "stream": True}
            bodies = _growing(head, size, repeats)
            times: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in ways}
            spent: dict[str, float] = dict.fromkeys(times, 0.0)
            for _, url, _ in ways:
                measured(client, url, bodies[0], str(size))
            for body in bodies[1:]:
                for name, url, pid in ways:
                    before = _processor_seconds(pid) if pid else 0.0
                    times[name].append(measured(client, url, body, str(size)))
                    spent[name] += _processor_seconds(pid) - before if pid else 0.0
            base = statistics.median(first for first, _ in times["direct"])
            for name, _, _ in ways:
                firsts = sorted(first for first, _ in times[name])
                p50 = statistics.median(firsts)
                whole = statistics.median(total for _, total in times[name])
                p95 = firsts[int(len(firsts) * 0.95)]
                cpu = spent[name] / len(firsts) * 1000
                rows.append([name, size, p50, p95, whole, p50 - base, cpu])
    return rows


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "part", nargs="?", default="overhead", choices=("overhead", "sessions", "upstream")
    )
    parser.add_argument("--litellm", help="the `litellm` command of an environment of its own")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--set", dest="options", action="append", default=[])
    given = parser.parse_args()
    if given.part == "upstream":
        upstream_process(given.port)
    elif given.part == "sessions":
        sessions(given.limit, tuple(given.options))
    else:
        overhead(given.litellm, given.repeats)


if __name__ == "__main__":
    main()
