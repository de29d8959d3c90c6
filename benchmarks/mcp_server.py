"""How long a client waits for `reverie mcp`: from the start of the process, and for each call.

The SDK's own client over standard input and output, in a scratch home with 200 memories.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from report import median, publish

from reverie import Memory

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
    publish(
        "mcp_server", ["what", "ms (median)"], [[k, median([r[k] for r in runs])] for k in runs[0]]
    )


if __name__ == "__main__":
    main()
