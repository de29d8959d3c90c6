"""The screen and keyboard interface of a chat, and its version for dumb terminals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from reverie.agent.permissions import Answer
from reverie.cli.invocation import console, dollars, printable, tokens
from reverie.core.usage import Entry, Usage
from reverie.events import Event, LayerFired, MemoriesSurfaced, MoneySpent, Replied


@dataclass(frozen=True, slots=True)
class Question:
    """What a tool wants to do, in full, and what the answer "always" covers."""

    shown: tuple[RenderableType, ...]
    scope: str


class Screen(Protocol):
    """Shows output."""

    @property
    def markdown(self) -> bool:
        """Whether markdown is rendered."""

    @property
    def width(self) -> int:
        """The width of a line in cells."""

    def show(self, *renderables: RenderableType) -> None:
        """Print whole lines permanently."""

    def under_way(self, what: Text | None, draft: str = "") -> None:
        """Show the current activity and the unfinished text; None when idle."""


class Terminal(Screen, Protocol):
    """A screen with a keyboard."""

    # Called on Ctrl-C; returns whether anything was running.
    on_interrupt: Callable[[], bool]

    def follow(self, status: Callable[[], Status]) -> None:
        """Show this status in the status line, if there is one."""

    async def line(self) -> str | None:
        """The next message typed; None when the user leaves."""

    async def ask(self, question: Question) -> Answer:
        """Ask for permission."""


OFFLINE_NOTE = (
    "Offline: no model is chosen, answers come from memory; `reverie models` lists models"
)

_ANSWERS: dict[str, Answer] = {"y": "yes", "yes": "yes", "a": "always", "always": "always"}


class PlainTerminal:
    """A line-based terminal: prompt, line, answer; nothing is redrawn."""

    markdown = False

    def __init__(self) -> None:
        self.on_interrupt: Callable[[], bool] = lambda: False
        self._console: Console = console()
        self._typed = b""
        # Lines of an unfinished message, kept if waiting for the next line is cancelled.
        self._lines: list[str] = []
        # Set to False when the user leaves instead of typing.
        self._reading: asyncio.Future[bool] | None = None
        self._warned = False

    async def __aenter__(self) -> PlainTerminal:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        return self

    async def __aexit__(self, *error: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    @property
    def width(self) -> int:
        return self._console.width

    def show(self, *renderables: RenderableType) -> None:
        self._console.print(Group(*renderables))

    def under_way(self, what: Text | None, draft: str = "") -> None:
        """Not shown: this terminal cannot redraw."""

    def follow(self, status: Callable[[], Status]) -> None:
        """Not shown: there is no status line; /context and /cost show the same."""

    async def line(self) -> str | None:
        """Read a line, and further lines while they end in a backslash."""
        while True:
            read = await self._read("… " if self._lines else "> ")
            if read is None or not read.endswith("\\"):
                lines = [*self._lines, *([] if read is None else [read])]
                self._lines = []
                return "\n".join(lines) if lines else None
            self._lines.append(read.removesuffix("\\"))

    async def ask(self, question: Question) -> Answer:
        self.show("", *question.shown)
        read = await self._read(f"Allow? (y)es, (a)lways ({question.scope}), (n)o: ")
        return _ANSWERS.get((read or "").strip().lower(), "no")

    async def _read(self, prompt: str) -> str | None:
        """Read one line; None at the end of input. Safe to cancel: what was typed is kept."""
        self._print(prompt)
        keyboard = sys.stdin.fileno()
        while b"\n" not in self._typed:
            more = _read_bytes(keyboard) if await self._wait_for_input(keyboard) else b""
            if not more:
                self._print("\n")
                return None
            self._typed += more
        self._warned = False
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def _wait_for_input(self, keyboard: int) -> bool:
        """Wait for input; False when the user leaves instead."""
        loop = asyncio.get_running_loop()
        self._reading = loop.create_future()
        loop.add_reader(keyboard, self._wake, True)  # noqa: FBT003 - what the future is given
        try:
            return await self._reading
        finally:
            loop.remove_reader(keyboard)
            self._reading = None

    def _wake(self, has_input: bool) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(has_input)

    def _interrupt(self) -> None:
        """Stop what is running; if nothing is, leave the second time."""
        if self.on_interrupt() or self._reading is None:
            return
        if self._warned:
            self._wake(has_input=False)
        else:
            self._warned = True
            self._print("\nCtrl-C again leaves\n> ")

    def _print(self, text: str) -> None:
        sys.stdout.write(printable(text))
        sys.stdout.flush()


def _read_bytes(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 65_536)
    except OSError:
        # The terminal was closed.
        return b""


@dataclass(slots=True)
class Tally:
    """Usage counted from events: `usage` of the conversation alone, `spent` of all work."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    spent: list[Entry] = field(default_factory=list)
    layers: Counter[str] = field(default_factory=Counter)
    memories: list[str] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        match event:
            case Replied(reply):
                self.usage += reply.usage
                self.requests += 1
            case MoneySpent(entry):
                self.spent.append(entry)
            case LayerFired(layer):
                self.layers[layer] += 1
            case MemoriesSurfaced(files):
                self.memories += [file for file in files if file not in self.memories]
            case _:
                pass

    @property
    def cost(self) -> float:
        return cost_of(self.spent)

    @property
    def unpriced(self) -> int:
        """The number of calls without a known price."""
        return sum(entry.cost is None for entry in self.spent)


def cost_of(entries: Iterable[Entry]) -> float:
    return sum(entry.cost or 0.0 for entry in entries)


_BAR = 10
_FILL = {"ok": "green", "warning": "yellow", "compact": "yellow", "blocked": "red"}
_MODES = {"accept-edits": "edits accepted", "plan": "plan only", "bypass": "asks nothing"}


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line shows; `hit_rate` is None before the first reply."""

    model: str
    tokens: int
    window: int
    state: Literal["ok", "warning", "compact", "blocked"] = "ok"
    hit_rate: float | None = None
    cost: float = 0.0
    unpriced: int = 0
    mode: str = "ask"
    running: tuple[str, ...] = ()


def status_line(status: Status | None, width: int) -> Text:
    """The parts that fit, in order; the least important are dropped first. None: no session yet."""
    parts = [(0, Text("opening…", "dim"))] if status is None else _parts(status)
    kept = set(range(len(parts)))
    for dropped in sorted(kept, key=lambda at: parts[at][0], reverse=True):
        if _size(parts[at][1] for at in kept) <= width or len(kept) == 1:
            break
        kept.discard(dropped)
    shown = Text(" ", no_wrap=True, overflow="ellipsis").append_text(
        Text("  ").join(parts[at][1] for at in sorted(kept))
    )
    shown.truncate(max(width, 1), overflow="ellipsis")
    return shown


def _parts(status: Status) -> list[tuple[int, Text]]:
    """Each part with its rank: 0 is dropped last."""
    filled = status.tokens / max(status.window, 1)
    colour = _FILL[status.state]
    parts = [
        (1, Text(printable(status.model), "bold")),
        (5, bar(filled, colour)),
        (0, Text(f"{filled:.0%} of {tokens(status.window)}", colour)),
    ]
    if status.hit_rate is not None:
        parts.append((3, Text(f"cache {status.hit_rate:.0%}")))
    cost = dollars(status.cost) + (" + ?" if status.unpriced else "")
    parts.append((2, Text(cost)))
    if status.mode in _MODES:
        parts.append((4, Text(_MODES[status.mode], "yellow")))
    if status.running:
        parts.append((6, Text(f"{', '.join(status.running)}…", "dim")))
    return parts


def bar(filled: float, style: str, width: int = _BAR) -> Text:
    """A share as a bar; any share above 0 shows, and only a full one looks full."""
    cells = min(width, max(0, int(filled * width)))
    if filled > 0 and cells == 0:
        cells = 1
    return Text("█" * cells, style).append("░" * (width - cells), "dim")


def _size(parts: Iterable[Text]) -> int:
    """Cells, with one space before the first part and two between any two."""
    return sum(cell_len(part.plain) + 2 for part in parts) - 1
