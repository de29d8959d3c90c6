"""What eight agents cost that need what the conversation knows: as forks, and finding it out anew.

One session reads files until its prefix is of a given size, then hires eight at once. Forks share the
prefix; the others read the same file first. A scripted model is billed with the
prices and the cache rules of a real one; nothing is sent anywhere.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from report import median, publish

from reverie.cli.demo.script import Part, rehearsed
from reverie.core.messages import Block, Text, ToolUse
from reverie.core.request import Request
from reverie.events import Event, MoneySpent
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.subagents.identity import answer
from reverie.workspace import Workspace

MODEL = "claude-sonnet-5-5"
AGENTS = 8
LINE = "def handler(request):  # every line of this file is worth knowing\n"
SIZES = (5_000, 15_000, 30_000)
REPEAT = 3


def play(how: str) -> Part:
    """A lead that reads a file, hires eight, and is done; whoever is hired knows it, or reads it."""

    def part(request: Request) -> Sequence[Block]:
        replies = sum(message.role == "assistant" for message in request.messages)
        hired = "has given a task" in _system(request)
        if "<side-task>" in request.messages[-1].text or (hired and replies == 1):
            return (Text("Looked at it: nothing to change."),)
        if replies == 0:
            return (ToolUse("read", "Read", json.dumps({"path": "known.py"})),)
        if replies == 1:
            return tuple(_hire(n, how) for n in range(AGENTS))
        return (Text("They are at work."),)

    return part


def _hire(number: int, how: str) -> ToolUse:
    task = f"Check part {number} of known.py."
    arguments = {"summary": f"check part {number}", "task": task, "how": how}
    return ToolUse(f"agent{number}", "Agent", json.dumps(arguments))


def _system(request: Request) -> str:
    return "".join(block.text for block in request.head.system)


class Wall:
    """Time as the machine tells it."""

    def now(self) -> float:
        return 1_750_000_000 + perf_counter()


async def measured(size: int, how: str) -> tuple[float, float, float]:
    """Dollars for the eight, the smallest share read from the cache after the first, seconds."""
    text = LINE * (size * 4 // len(LINE))
    spent: list[MoneySpent] = []

    def hear(event: Event) -> None:
        if isinstance(event, MoneySpent) and event.entry.purpose.startswith("agent:"):
            spent.append(event)

    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (project / "known.py").write_text(text)
        options = ("features.extract=false", "tools.Read.result_threshold=never")
        app = Workspace.open(project, home=Path(folder) / "home", overrides=options, clock=Wall())
        model = rehearsed(play(how), like=MODEL, window=1_000_000, clock=Wall())
        async with open_session(
            app, SessionOptions(ready=model, mode="bypass", memory=False)
        ) as session:
            with session.announce.subscribed(hear):
                began = perf_counter()
                await answer(session.run("Read known.py and have every part checked."))
                crew = session.place.crew if session.place is not None else None
                works = [m.work for m in crew.members.values() if m.work] if crew else []
                await asyncio.gather(*works)
                seconds = perf_counter() - began
    usages = [event.entry.usage for event in spent]
    cost = sum(event.entry.cost or 0.0 for event in spent)
    return cost, min(usage.hit_rate for usage in usages[1:]), seconds


def main() -> None:
    rows = []
    for size in SIZES:
        figures = {}
        for how in ("fork", "background"):
            runs = [asyncio.run(measured(size, how)) for _ in range(REPEAT)]
            figures[how] = tuple(median([run[i] for run in runs]) for i in range(3))
        fork, fresh = figures["fork"], figures["background"]
        rows.append(
            (f"{size:,}", fork[1], fork[0], fresh[0], fork[0] / fresh[0], fork[2], fresh[2])
        )
    columns = ("prefix tokens", "least cache read", "forks $", "anew $", "ratio", "forks s", "anew s")  # fmt: skip
    publish("agent_forks", columns, rows)


if __name__ == "__main__":
    main()
