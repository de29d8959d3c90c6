"""The agent's standard tools: the todo list and Bash are here, the others in their own modules."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.kit.editing import edit_tool, read_tool, write_tool
from reverie.agent.kit.files import printable
from reverie.agent.kit.search import glob_tool, grep_tool
from reverie.agent.processes import end_group, found_program, inlet, program
from reverie.agent.shell_commands import reads_only, starts_nothing
from reverie.agent.tools import (
    Access,
    Arguments,
    Todo,
    Tool,
    ToolOutput,
    Workplace,
    always,
    objection,
    parameters,
    render,
    string,
)
from reverie.core.messages import Text
from reverie.core.request import ToolSpec
from reverie.errors import InputError
from reverie.files.git import reading_environment

DEFAULT_SECONDS = 120
MOST_SECONDS = 600
MOST_OUTPUT = 200_000
_DRAIN_SECONDS = 1.0

# The trap runs even when the command fails or exits; /dev/fd works in every shell.
_SCRIPT = 'trap "pwd -P >/dev/fd/$1" EXIT; eval "shift 2; $2"'

_SPEC = ToolSpec.of(
    "Bash",
    f"Run a shell command. It stops after {DEFAULT_SECONDS} seconds unless you give it more, has "
    "nothing to read from its input, and ends with everything it started: nothing is left running. "
    "The folder it ends in is where the next command starts, as long as that is inside the working "
    "directory. Output and errors come together, then the exit code. To read, find or edit "
    "files, use Read, Grep, Glob and Edit.",
    parameters(
        "command",
        command=string("What to run.", minLength=1),
        timeout_seconds={"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
    ),
)


def bash_tool() -> Tool:
    return Tool(_SPEC, run=_run, access=_access, headline=_bash_headline, clearable=True)


def _access(arguments: Arguments, workplace: Workplace) -> Access:
    command: str = arguments["command"]
    folder = _start_folder(workplace)
    if not reads_only(command) or not starts_nothing(command, folder, workplace.environment):
        return "run"
    # Read-only commands run in parallel: the `cd` of one must not affect the others.
    workplace.judged[command] = folder
    return "read"


def _bash_headline(arguments: Arguments) -> str:
    first, *more = arguments["command"].strip().split("\n")
    return f"$ {first}" + (" …" if more else "")


@dataclass(slots=True)
class Capture:
    """Keeps the beginning and the end of an output; the middle is only counted."""

    most: int = MOST_OUTPUT
    head: bytes = b""
    tail: bytes = b""
    left_out: int = 0

    def take(self, data: bytes) -> bool:
        half = self.most // 2
        room = half - len(self.head)
        self.head += data[:room]
        tail = self.tail + data[room:]
        over = max(0, len(tail) - half)
        self.left_out += over
        self.tail = tail[over:]
        return True

    @property
    def text(self) -> str:
        if not self.left_out:
            return _decoded(self.head + self.tail)
        # Cut at line ends, if there are any, so that no character and no line is split.
        head, _, torn_head = self.head.rpartition(b"\n")
        torn_tail, _, tail = self.tail.partition(b"\n")
        if not head or not tail:
            head, torn_head, tail, torn_tail = self.head, b"", self.tail, b""
        left_out = self.left_out + len(torn_head) + len(torn_tail)
        return f"{_decoded(head)}\n[{left_out:,} bytes left out]\n{_decoded(tail)}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a command ended; `code` is None when it timed out."""

    output: str
    code: int | None
    folder: str
    left_running: bool


async def _run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
    command: str = arguments["command"]
    seconds = arguments.get("timeout_seconds", DEFAULT_SECONDS)
    environment = workplace.environment
    folder = workplace.judged.pop(command, None) or _start_folder(workplace)
    if reads_only(command):
        environment = reading_environment(environment)
    ended = await _execute(command, folder, environment, seconds)
    notes = [_how_it_ended(ended, seconds), _move(ended.folder, workplace)]
    if ended.left_running and ended.code is not None:
        notes.append("what it left running in the background was ended")
    output = ended.output.rstrip("\n") or "(no output)"
    text = "\n".join([output, *(f"[{note}]" for note in notes if note)])
    return ToolOutput((Text(text),), is_error=ended.code != 0)


async def _execute(
    command: str, folder: Path, environment: Mapping[str, str], seconds: int
) -> _Ended:
    output, final_folder = Capture(), Capture()
    shell = found_program("bash", environment) or "/bin/sh"
    async with inlet(output.take) as written, inlet(final_folder.take) as moved:
        words = [shell, "-c", _SCRIPT, "bash", str(moved.writing_end), command]
        async with program(
            words,
            folder=folder,
            environment=environment,
            output=written,
            inherited=(moved.writing_end,),
        ) as process:
            code = await _code_within(process, seconds)
            left_running = await end_group(process)
        await written.drained(_DRAIN_SECONDS)
        await moved.drained(_DRAIN_SECONDS)
    return _Ended(output.text, code, final_folder.text.removesuffix("\n"), left_running)


async def _code_within(process: Process, seconds: int) -> int | None:
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None


def _how_it_ended(ended: _Ended, seconds: int) -> str:
    if ended.code is None:
        return f"time-out after {seconds} s: ended before it was done, with all it had started"
    if ended.code < 0:
        return f"ended by signal {-ended.code} ({signal.strsignal(-ended.code)})"
    return f"exit code {ended.code}"


def _start_folder(workplace: Workplace) -> Path:
    folder = workplace.shell_folder
    return folder if folder is not None and folder.is_dir() else workplace.root


def _move(folder: str, workplace: Workplace) -> str:
    """Keep the folder the command ended in, if it is inside the root; a note when it changed."""
    root = workplace.root.resolve()
    before = (workplace.shell_folder or root).resolve()
    now = Path(folder) if folder else before
    if not now.is_relative_to(root):
        workplace.shell_folder = None
        where = printable(folder)
        return f"{where} is outside the working directory; the next command starts inside again"
    workplace.shell_folder = now
    if now == before:
        return ""
    return f"now in {printable(str(now.relative_to(root)))}"


_ITEM = parameters(
    *("text", "status"),
    text=string(minLength=1, maxLength=500),
    status={"enum": ["open", "doing", "done"]},
)
_TODO = ToolSpec.of(
    "Todo",
    "Keep a list of what is to be done, for work of three steps or more. Each call gives the whole "
    "list in order; it replaces the one before. Mark one item as doing before you start on it, and "
    "as done as soon as it is, not later. An empty list clears it.",
    parameters("todos", todos={"type": "array", "maxItems": 100, "items": _ITEM}),
)


def todo_tool() -> Tool:
    # A call changes nothing outside the session.
    return Tool(_TODO, run=_run_todo, access=always("read"), headline=_headline)


def _todos(arguments: Arguments) -> tuple[Todo, ...]:
    return tuple(Todo(item["text"].strip(), item["status"]) for item in arguments["todos"])


def _headline(arguments: Arguments) -> str:
    todos = _todos(arguments)
    doing = next((todo.text for todo in todos if todo.status == "doing"), None)
    done = sum(todo.status == "done" for todo in todos)
    return f"Todo {done}/{len(todos)}" + (f": {doing}" if doing else "")


async def _run_todo(arguments: Arguments, workplace: Workplace) -> str:
    todos = _todos(arguments)
    wrong = objection(todos)
    if wrong:
        raise InputError(f"The list was not changed: {wrong}")
    workplace.todos = todos
    return render(todos) if todos else "The list is empty."


def standard_kit() -> tuple[Tool, ...]:
    """The tools of every agent. `web_fetch_tool` is not one of them."""
    makers = (read_tool, grep_tool, glob_tool, bash_tool, edit_tool, write_tool, todo_tool)
    return tuple(make() for make in makers)
