"""How long a coding agent waits for its hooks, with 1,000 memories and a daemon that is warm.

Command hooks are processes, measured from start to end; HTTP hooks are measured from connection to
answer. Beside them: the same hook by a process that does everything itself, without a daemon.

    python benchmarks/hooks.py [times]
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from report import median, publish

from reverie.clients.daemon import control
from reverie.clients.daemon.control import DaemonPlace

MEMORIES = 1_000
TIMES = 40
COLD_TIMES = 5
COMMAND_BAR = 120.0
HTTP_BAR = 10.0
COLUMNS = ("hook", "median ms", "p95 ms", "bar ms", "× alone")

WHAT = [
    "deploy",
    "backup",
    "parser",
    "cache",
    "login",
    "report",
    "import",
    "search",
    "billing",
    "export",
    "invoice",
    "queue",
]
NEEDS = [
    "VPN",
    "token",
    "license",
    "mirror",
    "staging",
    "approval",
    "schema",
    "volume",
    "certificate",
    "region",
    "owner",
    "quota",
]
WHERE = [
    "Oslo",
    "Lima",
    "Kyoto",
    "Quito",
    "Porto",
    "Tunis",
    "Hanoi",
    "Turin",
    "Malmo",
    "Cusco",
    "Perth",
    "Basel",
    "Izmir",
    "Davao",
]

# The same work in one process: what every hook would cost without the daemon.
ALONE = """
import asyncio, sys
from pathlib import Path
from reverie.workspace import Workspace
from reverie.clients.hooks.service import Attendant
from reverie.clients.hooks.dialects import DIALECTS
import json
event, data = sys.argv[1], json.load(sys.stdin)
async def main():
    attendant = Attendant(Workspace.open(Path(data["cwd"])), lambda e: None, lambda k, w: None, lambda r: None)
    occasion = DIALECTS["claude-code"].parse(event, data)
    sys.stdout.buffer.write(DIALECTS["claude-code"].render(event, await attendant.handle(occasion)))
    await attendant.aclose()
asyncio.run(main())
"""


class Bench:
    """A scratch home with many memories, and hooks run in it."""

    def __init__(self, base: Path) -> None:
        self.root, self.home = base / "project", base / "home" / ".reverie"
        self.root.mkdir()
        self.env = {"HOME": str(base / "home"), "PATH": os.environ["PATH"]}
        self._sessions = (f"s{number}" for number in count())
        os.environ["HOME"] = self.env["HOME"]
        for name in [name for name in os.environ if name.startswith("REVERIE_")]:
            del os.environ[name]
        self._fill()

    def _fill(self) -> None:
        from reverie.workspace import Workspace  # noqa: PLC0415 - after the home was moved

        directory = Workspace.open(self.root).memory_location.directory
        directory.mkdir(parents=True)
        # A dream in between would be measured too.
        (self.home / "settings.toml").write_text("[features]\ndream = false\n")
        index = []
        for number, text in enumerate(facts(MEMORIES)):
            name = f"project_{number}"
            top = f"---\nname: {text[:60]}\ndescription: {text}\ntype: project\n---\n"
            (directory / f"{name}.md").write_text(f"{top}{text}\n")
            index.append(f"- [{text[:60]}]({name}.md) — {text}\n")
        (directory / "MEMORY.md").write_text("".join(index[:200]))

    def data(self, **fields: Any) -> bytes:
        """What a hook of a new session is told."""
        name = next(self._sessions)
        transcript = str(self.root.parent / "transcripts" / f"{name}.jsonl")
        common = {"session_id": name, "cwd": str(self.root), "transcript_path": transcript}
        return json.dumps({**common, **fields}).encode()

    def begun(self, **fields: Any) -> bytes:
        """The same, of a session whose start a running daemon has heard of."""
        data = self.data(**fields)
        address = DaemonPlace(self.home).address()
        if address is not None and address.pid:
            self.http("SessionStart", data)
        return data

    def command(self, event: str, data: bytes) -> bytes:
        reverie = str(Path(sys.executable).with_name("reverie"))
        return self._process([reverie, "hook", event, "--client", "claude-code"], data)

    def alone(self, event: str, data: bytes) -> bytes:
        return self._process([sys.executable, "-c", ALONE, event], data)

    def python(self, code: str) -> bytes:
        return self._process([sys.executable, "-c", code], b"")

    def http(self, event: str, data: bytes) -> bytes:
        address = DaemonPlace(self.home).address()
        assert address is not None
        connection = http.client.HTTPConnection("127.0.0.1", address.port)
        headers = {"Authorization": f"Bearer {address.token}"}
        connection.request("POST", f"/hook/claude-code/{event}", data, headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, answer.status
        connection.close()
        return body

    def _process(self, command: list[str], data: bytes) -> bytes:
        done = subprocess.run(command, input=data, env=self.env, cwd=self.root, capture_output=True, check=True)  # fmt: skip
        return done.stdout


def facts(number: int) -> Iterator[str]:
    dice = random.Random(7)
    seen: set[str] = set()
    while len(seen) < number:
        what, needs, where = dice.choice(WHAT), dice.choice(NEEDS), dice.choice(WHERE)
        text = (
            f"The {what} job in {where} needs the {needs} {dice.randrange(100)} before it starts."
        )
        if text not in seen:
            seen.add(text)
            yield text


def moments(bench: Bench) -> dict[str, Callable[[], tuple[str, bytes]]]:
    long = "".join(f"{n}: something was built\n" for n in range(4_000))
    shape = {"stderr": "", "interrupted": False, "isImage": False}
    tool = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}
    return {
        "session start": lambda: ("SessionStart", bench.data(source="startup")),
        "prompt": lambda: ("UserPromptSubmit", bench.begun(prompt="what does the backup job in Lima need?")),
        "short result": lambda: ("PostToolUse", bench.begun(**tool, tool_response={"stdout": "ok", **shape})),
        "long result": lambda: ("PostToolUse", bench.begun(**tool, tool_response={"stdout": long, **shape})),
        "stop": lambda: ("Stop", bench.begun(stop_hook_active=False)),
    }  # fmt: skip


def timed(run: Callable[[str, bytes], bytes], made: Callable[[], tuple[str, bytes]], times: int) -> list[float]:  # fmt: skip
    taken = []
    for _ in range(times):
        event, data = made()
        began = perf_counter()
        run(event, data)
        taken.append((perf_counter() - began) * 1_000)
    return taken


def row(name: str, taken: list[float], bar: float | None, alone: float) -> list[Any]:
    p95 = statistics.quantiles(taken, n=20)[-1]
    return [name, median(taken), p95, bar or "", median(taken) / alone]


def main() -> None:
    times = int(sys.argv[1]) if sys.argv[1:] else TIMES
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        rows = []
        every = moments(bench)
        # What is asked before the index is built is no measure.
        bench.alone(*every["prompt"]())
        alone = {name: timed(bench.alone, made, 7) for name, made in every.items()}
        empty = timed(lambda event, data: bench.python("pass"), every["stop"], times)
        rows.append(row("an empty Python process", empty, None, median(alone["stop"])))
        for name in ("session start", "prompt"):
            cold = []
            for _ in range(COLD_TIMES):
                cold += timed(bench.command, every[name], 1)
                control.stop(bench.home)
            rows.append(row(f"command, {name}, no daemon", cold, None, median(alone[name])))
        control.start(bench.home)
        assert b"backup job in Lima" in bench.command(*every["prompt"]())
        for name, made in every.items():
            one = median(alone[name])
            rows.append(
                row(f"command, {name}", timed(bench.command, made, times), COMMAND_BAR, one)
            )
            rows.append(row(f"http, {name}", timed(bench.http, made, times), HTTP_BAR, one))
            rows.append(row(f"alone, {name}", alone[name], None, one))
        control.stop(bench.home)
    publish("hooks", COLUMNS, rows)


if __name__ == "__main__":
    main()
