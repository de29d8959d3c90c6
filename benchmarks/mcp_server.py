"""How long a client waits for `reverie mcp`: from the start of the process, and for each call.

The SDK's own client over standard input and output, in a scratch home with 200 memories; processor
time until the first messages are answered, without a client library, as Codex begins (`initialize`) and as
the newest Claude Code does (`server/discover`, and three lists); recall through a daemon.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from report import median, publish

from reverie import Memory
from reverie.clients.daemon import control

STARTS = 7
CALLS = 15
MEMORIES = 200


async def measured(project: Path, home: Path) -> dict[str, float]:
    """Milliseconds of one server's life."""
    reverie = str(Path(sys.executable).with_name("reverie"))
    server = StdioServerParameters(
        command=reverie,
        args=["mcp", "--project", str(project), "--home", str(home)],
        env={**os.environ},
    )
    taken: dict[str, float] = {}
    began = perf_counter()
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        taken["start until initialized"] = since(began)
        began = perf_counter()
        await session.list_tools()
        taken["tools/list"] = since(began)
        question = {"question": "when do deploys of service 7 freeze?"}
        began = perf_counter()
        await session.call_tool("recall", question)
        taken["first recall"] = since(began)
        later = []
        for _ in range(CALLS):
            began = perf_counter()
            await session.call_tool("recall", question)
            later.append(since(began))
        taken["later recall"] = median(later)
        began = perf_counter()
        await session.call_tool("remember", {"text": f"Build {began} was signed by Mira"})
        taken["first remember"] = since(began)
    return taken


GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "b", "version": "1"},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "b", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
FIRST: dict[str, list[dict[str, Any]]] = {
    "initialize": [
        {"id": 1, "method": "initialize", "params": GREETING},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ],
    "server/discover": [
        {"id": number, "method": method, "params": {"_meta": META}}
        for number, method in enumerate(
            ("server/discover", "prompts/list", "resources/list", "tools/list")
        )
    ],
}


def started(project: Path, home: Path, way: str) -> dict[str, float]:
    """Milliseconds of processor time until the first messages are answered, and of a recall by the daemon."""
    reverie = str(Path(sys.executable).with_name("reverie"))
    command = [reverie, "mcp", "--project", str(project), "--home", str(home)]
    first = [{"jsonrpc": "2.0", **line} for line in FIRST[way]]
    answers = sum("id" in line for line in first)
    asked = {"name": "recall", "arguments": {"question": "when do deploys of service 7 freeze?"}}
    asked |= {"_meta": META} if way == "server/discover" else {}
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asked}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        began = perf_counter()
        process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in first))
        process.stdin.flush()
        for _ in range(answers):
            process.stdout.readline()
        waited = since(began)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        spent = (int(fields[11]) + int(fields[12])) / ticks * 1000
        calls = []
        for _ in range(CALLS):
            began = perf_counter()
            process.stdin.write(json.dumps(call).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()
            calls.append(since(began))
        process.stdin.close()
    return {
        f"{way}: until all is answered": waited,
        f"{way}: processor time": spent,
        f"{way}: recall through the daemon": median(calls),
    }


def since(began: float) -> float:
    return (perf_counter() - began) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder) / "project", Path(folder) / "home"
        project.mkdir()
        memory = Memory.open(project=project, home=home)
        for number in range(MEMORIES):
            memory.remember(f"Deploys of service {number} freeze on day {number}", type="project")
        runs = [asyncio.run(measured(project, home)) for _ in range(STARTS)]
        control.start(home)
        starts = [
            started(project, home, "initialize") | started(project, home, "server/discover")
            for _ in range(STARTS)
        ]
        control.stop(home)
    rows = [
        [name, median([run[name] for run in some])] for some in (runs, starts) for name in some[0]
    ]
    publish("mcp_server", ["what", "ms (median)"], rows)


if __name__ == "__main__":
    main()
