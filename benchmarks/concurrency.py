"""Many conversations at once: does each of them recall, and does the event loop stay free?

N `Context`s in one process take two turns each, at the same time, against a model that answers after
`ANSWER` seconds. Beside it the same program without Reverie ("bare"): what the loop lags there is not ours.
The lag is the longest time by which a task that sleeps for 5 ms woke too late. On a machine that others use,
the system's own waits are in it; "core ms" is what this process computed meanwhile, in all its threads: the lag
on an idle machine, or more, since threads that do not hold the interpreter count, too.

    python benchmarks/concurrency.py [contexts…]     default: 1 10 50 200, then 8 processes × 10
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from report import publish

from reverie import Context, Event, Memory, Reply, Usage
from reverie.core.messages import Text

SIZES = (1, 10, 50, 200)
PROCESSES, EACH = 8, 10
MEMORIES = 300
ANSWER = 0.5
TICK = 0.005
COLUMNS = (
    "contexts",
    "recalled",
    "late",
    "trouble",
    "turn ms",
    "slowest ms",
    "lag ms",
    "core ms",
    "bare ms",
)
SETTINGS = {"models.main": "offline", "models.side": "offline"}


def fact(number: int) -> str:
    return f"The staging database of service {number} listens on port {20_000 + number}"


class Lag:
    """How much later than asked a sleeping task wakes."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.computed = 0.0

    async def watch(self) -> None:
        while True:
            began, before = perf_counter(), process_time()
            await asyncio.sleep(TICK)
            self.worst = max(self.worst, perf_counter() - began - TICK)
            self.computed = max(self.computed, process_time() - before - TICK)


async def talk(project: Path, home: Path, number: int, heard: Counter[str]) -> list[float]:
    """Two turns of one conversation; how long each took without the model's own time."""

    def hear(event: Event) -> None:
        heard[type(event).__name__] += 1

    def answered(model: str) -> Reply:
        return Reply("r", model, (Text("I will look."),), "end", Usage(input=10, output=3))

    taken = []
    messages: list[Any] = []
    context = Context(
        model="anthropic:claude-sonnet-5-5",
        project=project,
        home=home,
        settings={"models.side": "offline"},
        listener=hear,
    )
    async with context:
        for turn in range(2):
            about = (2 * number + turn) % MEMORIES
            question = f"Which port has the staging database of service {about}?"
            messages.append({"role": "user", "content": question})
            began = perf_counter()
            prepared = await context.prepare(messages)
            spent = perf_counter() - began
            shown = "".join(message.text for message in prepared.request.messages)
            shown += str(prepared.arguments)
            heard["recalled"] += str(20_000 + about) in shown
            await asyncio.sleep(ANSWER)
            began = perf_counter()
            await context.observe(answered(prepared.request.model))
            taken.append(spent + perf_counter() - began)
            messages.append({"role": "assistant", "content": "I will look."})
    return taken


async def bare(number: int) -> list[float]:
    """The same conversation without Reverie."""
    for _ in range(2):
        json.dumps([{"role": "user", "content": f"Which port has service {number}?"}])
        await asyncio.sleep(ANSWER)
    return [0.0]


async def measured(work: list[Any]) -> tuple[list[float], float, float]:
    """All times of the turns, the worst lag, and the most computed in one, in milliseconds."""
    lag = Lag()
    watching = asyncio.create_task(lag.watch())
    found = await asyncio.gather(*work)
    watching.cancel()
    return [t * 1000 for times in found for t in times], lag.worst * 1000, lag.computed * 1000


def row(name: str, wanted: int, project: Path, home: Path, count: int) -> list[Any]:
    heard: Counter[str] = Counter()
    alone = asyncio.run(measured([bare(number) for number in range(count)]))[1]
    work = [talk(project, home, number, heard) for number in range(count)]
    times, lag, computed = asyncio.run(measured(work))
    times.sort()
    return [
        name,
        f"{heard['recalled']}/{wanted}",
        heard["MemoriesLate"],
        heard["TroubleNoted"],
        times[len(times) // 2],
        times[-1],
        lag,
        computed,
        alone,
    ]


def processes(project: Path, home: Path) -> list[Any]:
    """Several processes at once, each with some conversations, over one memory."""
    command = [sys.executable, __file__, "--child", str(project), str(home), str(EACH)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
    rows = [json.loads(process.communicate()[0]) for process in running]
    recalled = sum(int(str(one[1]).partition("/")[0]) for one in rows)
    name = f"{PROCESSES} processes × {EACH}"
    total = f"{recalled}/{2 * EACH * PROCESSES}"
    worst = [max(one[i] for one in rows) for i in range(4, 9)]
    return [name, total, sum(one[2] for one in rows), sum(one[3] for one in rows), *worst]


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        project, home, count = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
        print(json.dumps(row("", 2 * count, project, home, count)))
        return
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder) / "project", Path(folder) / "home"
        project.mkdir()
        with Memory.open(project, home=home) as memory:
            for number in range(MEMORIES):
                memory.remember(fact(number), type="reference")
            memory.recall("which port?")
        rows = []
        for count in sizes:
            # A process each: the first conversation of a process opens everything.
            command = [sys.executable, __file__, "--child", str(project), str(home), str(count)]
            told = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            rows.append([str(count), *json.loads(told)[1:]])
        if sizes == SIZES:
            rows.append(processes(project, home))
        began, before = perf_counter(), process_time()
        with Memory.open(project, home=home):
            taken, spent = (perf_counter() - began) * 1000, (process_time() - before) * 1000
            print(f"Memory.open() a second time: {taken:.1f} ms, {spent:.1f} of them on the core")
    publish("concurrency", COLUMNS, rows)


if __name__ == "__main__":
    main()
