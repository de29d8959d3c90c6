"""What a person waits for with 1,000 and with 100,000 memories, and how much longer that is.

Commands are processes, measured from start to end; the hook is measured from connection to answer. Beside
the time stands the processor time: of the commands, of this process, or of the daemon. On a busy machine only
that can be compared.

    python benchmarks/scale.py [sizes…]
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic, perf_counter, process_time, sleep
from typing import Any

import hooks
from hooks import WHAT, WHERE, Bench
from report import median, publish

from reverie.clients.daemon import control
from reverie.clients.daemon.control import DaemonPlace
from reverie.memory.format.paths import file_name
from reverie.memory.format.revisions import Author, Put

SIZES = (1_000, 100_000)
TIMES = 7
BAR = 2.0
COLUMNS = (
    "what",
    "1,000: ms",
    "100,000: ms",
    "ratio",
    "1,000: cpu ms",
    "100,000: cpu ms",
    "ratio of cpu",
    "bar",
)
PROMPT = "what does the backup job in Lima need?"
_LONGEST_INDEXING = 1_500.0


def texts(number: int) -> Iterator[str]:
    """Distinct facts; their words are as common or rare as in a project's notes."""
    dice = random.Random(11)
    names = [f"{first}{last}" for first in WHAT for last in ("er", "ing", "s", "-v2", "-api")]
    for at in range(number):
        what, where = dice.choice(WHAT), dice.choice(WHERE)
        one, other = dice.choice(names), dice.randrange(10_000)
        yield f"The {what} job in {where} needs {one} {other} before step {at}."


class Scale(Bench):
    """A scratch home with so many memories."""

    def __init__(self, base: Path, size: int) -> None:
        self.size = size
        super().__init__(base)

    def _fill(self) -> None:
        from reverie.workspace import Workspace  # noqa: PLC0415 - after the home was moved

        self.app = Workspace.open(self.root)
        directory = self.app.memory_location.directory
        directory.mkdir(parents=True)
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "settings.toml").write_text("[features]\ndream = false\n")
        index: list[str] = []
        for text in texts(self.size):
            name = file_name(f"project {len(index)} {text}")
            top = f"---\nname: {text[:60]}\ndescription: {text}\ntype: project\n---\n"
            (directory / name).write_text(f"{top}{text}\n")
            index.append(f"- [{text[:60]}]({name}) — {text}\n" if len(index) < 180 else "")
        rest = self.size - 180
        index.append(f"_{rest} more memories are not listed here; recall finds them._\n")
        (directory / "MEMORY.md").write_text("".join(index))

    def reverie(self, *words: str) -> bytes:
        command = [str(Path(sys.executable).with_name("reverie")), *words]
        done = subprocess.run(
            command, env=self.env, cwd=self.root, capture_output=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{words}: {done.stdout.decode()}{done.stderr.decode()}")
        return done.stdout

    def new(self) -> str:
        """A fact that nothing here is like."""
        letters = "".join(random.choices("bcdfghklmnprstvz", k=30))
        return " ".join(letters[at : at + 5] for at in range(0, 30, 5)).capitalize()


Times = tuple[float, float]


def of_commands() -> float:
    """The processor time of all commands that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_daemon(bench: Scale) -> float:
    address = DaemonPlace(bench.home).address()
    if address is None or not address.pid:
        return 0.0
    threads = Path(f"/proc/{address.pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e9


def timed(work: Callable[[], object], processor: Callable[[], float], times: int = TIMES) -> Times:
    """The medians of time and processor time, in milliseconds."""
    taken, used = [], []
    for _ in range(times):
        began, before = perf_counter(), processor()
        work()
        taken.append((perf_counter() - began) * 1_000)
        used.append((processor() - before) * 1_000)
    return median(taken), median(used)


def measure(size: int) -> dict[str, Times]:
    found: dict[str, Times] = {}
    base = Path(tempfile.mkdtemp(prefix="reverie-scale-"))
    try:
        bench = Scale(base, size)
        print(f"… {size:,} memories on disk", flush=True)
        found |= first_prompts(bench)
        print(f"… {found}", flush=True)
        found |= measured(bench)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return found


def measured(bench: Scale) -> dict[str, Times]:
    """What a person waits for once everything is indexed."""
    found: dict[str, Times] = {}

    def command(*words: str) -> Times:
        return timed(lambda: bench.reverie(*words), of_commands)

    # The first write ever records what was found: once, and as long as it takes.
    began = perf_counter()
    bench.reverie("remember", bench.new())
    print(f"… first write: {perf_counter() - began:.1f} s", flush=True)
    found["remember, by command"] = timed(
        lambda: bench.reverie("remember", bench.new()), of_commands
    )
    found["recall, by command"] = command("recall", PROMPT)
    found["chat start (`chat -p`, no model)"] = command(
        "chat", "-p", "hello there", "--model", "offline"
    )
    found["write, by the library"] = library_write(bench)
    found["recall, by the library"] = library_recall(bench)
    control.start(bench.home)
    ask = hooks.moments(bench)["prompt"]
    for _ in range(3):
        bench.http(*ask())
    quiet(bench)
    found["hook prompt, warm"] = hook_times(bench, ask)
    found["hook session start, warm"] = hook_times(bench, hooks.moments(bench)["session start"])
    control.stop(bench.home)
    return found


def quiet(bench: Scale) -> None:
    """Wait until the daemon has recorded what the first write left to it."""
    until, used = monotonic() + _LONGEST_INDEXING, -1.0
    while monotonic() < until and of_daemon(bench) - used > 0.1:
        used = of_daemon(bench)
        sleep(2.0)


def hook_times(bench: Scale, ask: Callable[[], tuple[str, bytes]]) -> Times:
    """The answer to a prompt alone; what its session began with is not counted."""
    taken, used = [], []
    for _ in range(15):
        event, data = ask()
        began, before = perf_counter(), of_daemon(bench)
        bench.http(event, data)
        taken.append((perf_counter() - began) * 1_000)
        used.append((of_daemon(bench) - before) * 1_000)
    return median(taken), median(used)


def first_prompts(bench: Scale) -> dict[str, Times]:
    """The first prompt that a daemon sees, before anything is indexed; then it may finish."""
    control.start(bench.home)
    data = bench.data(prompt=PROMPT, source="startup")
    bench.http("SessionStart", data)
    began, before = perf_counter(), of_daemon(bench)
    answer = bench.http("UserPromptSubmit", data)
    first = (perf_counter() - began) * 1_000, (of_daemon(bench) - before) * 1_000
    print(f"… first prompt: {len(answer)} bytes, {b'backup job in Lima' in answer}", flush=True)
    until = monotonic() + _LONGEST_INDEXING
    while monotonic() < until and not indexed(bench):
        sleep(1.0)
    print(f"… indexed after {perf_counter() - began:.0f} s", flush=True)
    control.stop(bench.home)
    return {"first prompt, nothing indexed": first}


def indexed(bench: Scale) -> bool:
    from reverie.recall.index import RecallIndex  # noqa: PLC0415

    index = RecallIndex.open(bench.app.memory_location.state / "index.sqlite")
    try:
        return len(index.files()) >= bench.size
    finally:
        index.close()


def library_recall(bench: Scale) -> Times:
    from reverie.recall.service import recall  # noqa: PLC0415

    # The first one opens the index and the model.
    recall(bench.app, PROMPT, limit=5)
    return timed(lambda: recall(bench.app, PROMPT, limit=5), process_time, 15)


def library_write(bench: Scale) -> Times:
    store = bench.app.memory().store
    numbers = count()

    def write() -> None:
        name = f"project_library_{next(numbers)}.md"
        text = f"---\nname: {name}\ndescription: {bench.new()}\ntype: project\n---\ntext\n"
        store.apply((Put(name, text.encode()),), Author("main"), f"remember {name}")

    return timed(write, process_time, 15)


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    small, large = (measure(size) for size in (sizes[0], sizes[-1]))
    rows: list[list[Any]] = []
    for what, (taken, used) in small.items():
        longer, more = large[what]
        ratio = more / used if used else "–"
        rows.append([what, taken, longer, longer / taken, used, more, ratio, BAR])
    publish("scale", COLUMNS, rows)


if __name__ == "__main__":
    main()
