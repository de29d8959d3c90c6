"""The proxy: what it adds to a request's time, what it bears, and what it saves on real sessions.

    python benchmarks/proxy.py overhead [--litellm COMMAND] [--headroom COMMAND]
                                                      against direct, same upstream, same run
    python benchmarks/proxy.py streams [--seconds N]  64 streams at once: lost, mixed, memory
    python benchmarks/proxy.py memory [--limit N]     N sessions one after another: memory
    python benchmarks/proxy.py sessions [--limit N]   47 sessions through the real HTTP path

For the sessions, the client's requests are rebuilt from its transcripts with the marks that Claude
Code sets, and sent one by one through the proxy to a server that prices what arrives by the
provider's documented cache rules. The clock is the transcript's.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx2
import proxy_load
from report import data_folder, machine, publish
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from trajectories import row_of

from reverie.conversation import transcripts
from reverie.conversation.records import Compacted, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Message
from reverie.core.prompt_cache import Chain, Link, Mark, extend, root_digest
from reverie.core.prompt_cache.tracker import Call, Simulator
from reverie.core.request import Head, Segment
from reverie.core.usage import Usage
from reverie.core.window import Ttl, text_tokens
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
        tools = body.fields.get("tools") or ()
        parts = [("tools", i, 0, _part("tools", one)) for i, one in enumerate(tools)]
        parts += [("system", i, 0, _part("system", one)) for i, one in enumerate(system)]
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


def head_of(path: Path | None) -> Json:
    """Tools and system prompt as a client sent them, or the tools' names and a text of their size."""
    if path is not None:
        given = json.loads(path.read_text())
        return {"system": given["system"], "tools": given["tools"]}
    text = "x" * (_HEAD_TOKENS * 4)
    names = ("Read", "Bash", "Grep", "Glob", "Edit", "Write", "WebFetch")
    schema = {"type": "object"}
    return {
        "system": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": name, "description": "", "input_schema": schema} for name in names],
    }


def _body(model: str, call: ClientCall, head: Json) -> Json:
    return {
        "model": model,
        "messages": _marked(call.messages),
        **head,
        "max_tokens": 32_000,
    }


def sessions(limit: int | None, head: Json, options: tuple[str, ...]) -> None:
    paths = sorted((data_folder() / "claude_sessions").glob("*.jsonl.gz"))[:limit]
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths:
            row = replayed(path, Path(scratch), head, options)
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


def replayed(path: Path, scratch: Path, head: Json, options: tuple[str, ...]) -> list[Any] | None:
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
                asked = _body(row.name, call, head)
                body = json.dumps(asked, ensure_ascii=False, separators=(",", ":"))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "part",
        nargs="?",
        default="overhead",
        choices=("overhead", "streams", "memory", "sessions", "upstream"),
    )
    parser.add_argument("--litellm", help="the `litellm` command of an environment of its own")
    parser.add_argument("--headroom", help="the `headroom` command of an environment of its own")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--head", type=Path, help="JSON with the `tools` and `system` of a client")
    parser.add_argument("--set", dest="options", action="append", default=[])
    given = parser.parse_args()
    if given.part == "upstream":
        proxy_load.upstream_process(given.port)
    elif given.part == "sessions":
        sessions(given.limit, head_of(given.head), tuple(given.options))
    elif given.part == "memory":
        proxy_load.memory(given.limit or 800)
    elif given.part == "streams":
        proxy_load.streams(given.seconds)
    else:
        proxy_load.overhead(given.litellm, given.headroom, given.repeats)


if __name__ == "__main__":
    main()
