"""What a conversation needs of a screen and a keyboard; a real terminal, or a dumb one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, Group, RenderableType

from reverie.agent.permissions import Answer
from reverie.cli.formatting import printable
from reverie.cli.invocation import console
from reverie.cli.talk.status import Status
from reverie.errors import InputError
from reverie.models.selection import OFFLINE

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Question:
    """What a tool wants to do, shown in full, and what "always" would cover."""

    shown: tuple[RenderableType, ...]
    scope: str


class Screen(Protocol):
    """Where things are shown."""

    @property
    def markdown(self) -> bool:
        """Can it show more than plain text?"""

    @property
    def width(self) -> int:
        """How many cells a line has."""

    def show(self, *renderables: RenderableType) -> None:
        """Print whole lines; they stay."""

    def under_way(self, what: Text | None, draft: str = "") -> None:
        """Say what is being done, and show the text that is not finished; None: nothing is."""


class Terminal(Screen, Protocol):
    """A screen with somebody in front of it."""

    # Called when the person wants to stop what runs; says whether anything did.
    on_interrupt: Callable[[], bool]

    def follow(self, status: Callable[[], Status]) -> None:
        """Keep telling how it stands, where there is a status line."""

    async def line(self) -> str | None:
        """The next thing the person types; None when they leave."""

    async def ask(self, question: Question) -> Answer:
        """May it be done?"""


OFFLINE_NOTE = (
    "No model is set: memory works, answers do not; choose one with --model or models.main"
)


def require_model(app: Workspace, name: str) -> None:
    """Raise, with what to do, for a model nobody serves or whose key is missing."""
    provider = app.provider_of(name)
    if provider is None or provider.api_key_env is None or app.has_key(provider):
        return
    raise InputError(
        f"{name} has no key: set the environment variable {provider.api_key_env}, "
        f"or go on without a model (--model {OFFLINE})"
    )


_ANSWERS: dict[str, Answer] = {"y": "yes", "yes": "yes", "a": "always", "always": "always"}


class PlainTerminal:
    """Prompt, line, answer, prompt; nothing is drawn over."""

    markdown = False

    def __init__(self) -> None:
        self.on_interrupt: Callable[[], bool] = lambda: False
        self._console: Console = console()
        self._typed = b""
        # Lines of an unfinished message: kept when the waiting for the next one is cut off.
        self._lines: list[str] = []
        # Done with False when the person wants to leave rather than type.
        self._reading: asyncio.Future[bool] | None = None
        self._warned = False

    async def __aenter__(self) -> PlainTerminal:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    @property
    def width(self) -> int:
        return self._console.width

    def show(self, *renderables: RenderableType) -> None:
        self._console.print(Group(*renderables))

    def under_way(self, what: Text | None, draft: str = "") -> None:
        """Nothing here can be shown and taken back."""

    def follow(self, status: Callable[[], Status]) -> None:
        """There is no status line: /context and /cost tell it."""

    async def line(self) -> str | None:
        """A line, and the next ones while they end in a backslash."""
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
        """One line of the keyboard; None at its end. Nothing is left behind when it is cancelled."""
        self._print(prompt)
        keyboard = sys.stdin.fileno()
        while b"\n" not in self._typed:
            more = _taken(keyboard) if await self._touched(keyboard) else b""
            if not more:
                self._print("\n")
                return None
            self._typed += more
        self._warned = False
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def _touched(self, keyboard: int) -> bool:
        """Wait for the keyboard; False when the person leaves instead."""
        loop = asyncio.get_running_loop()
        self._reading = loop.create_future()
        loop.add_reader(keyboard, self._wake, True)  # noqa: FBT003 - what the future is given
        try:
            return await self._reading
        finally:
            loop.remove_reader(keyboard)
            self._reading = None

    def _wake(self, goes_on: bool) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(goes_on)

    def _interrupt(self) -> None:
        """Stop what runs; where nothing does, the second time, leave."""
        if self.on_interrupt() or self._reading is None:
            return
        if self._warned:
            self._wake(goes_on=False)
        else:
            self._warned = True
            self._print("\nCtrl-C again leaves\n> ")

    def _print(self, text: str) -> None:
        sys.stdout.write(printable(text))
        sys.stdout.flush()


def _taken(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 65_536)
    except OSError:
        # The terminal is gone.
        return b""
