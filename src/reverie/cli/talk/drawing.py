"""The parts of the screen that do not stay, as text for prompt_toolkit to draw. Pure."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.layout import Dimension, FormattedTextControl, Window
from prompt_toolkit.styles import Style
from rich.console import Group, RenderableType
from rich.text import Text

from reverie.cli.formatting import printable
from reverie.cli.screen import Screen
from reverie.cli.talk import render
from reverie.cli.talk.terminal import Question

TICK = 0.1
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Rows kept for what was said, the input and the status, however much is under way.
_REST = 8
_TRAILING_SPACES = re.compile(r" +((?:\x1b\[[0-9;]*m)*)(?=\n)")

STYLE = Style.from_dict(
    {
        "rule": "ansibrightblack",
        "prompt": "bold ansicyan",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit ansibrightblack",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)


@dataclass(frozen=True, slots=True)
class Canvas:
    """A screen's size, and how things look on it."""

    width: int
    height: int

    @property
    def room(self) -> int:
        """How many rows may be taken by what does not stay."""
        return max(1, self.height - _REST)

    @property
    def console(self) -> Screen:
        return Screen(
            file=io.StringIO(),
            width=self.width,
            force_terminal=True,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            theme=render.THEME,
        )

    def ansi(self, *what: RenderableType) -> str:
        console = self.console
        with console.capture() as drawn:
            console.print(Group(*what))
        # Rich fills lines up to the width; whoever copies text does not want that.
        return _TRAILING_SPACES.sub(r"\1", drawn.get())

    def fits(self, question: Question) -> bool:
        """Can all of it be seen at once?"""
        return self.ansi(*question.shown).count("\n") <= self.room

    def asked(self, question: Question) -> str:
        """The question and its keys; one that is too long was printed above."""
        keys = Text("Allow? ", "bold")
        keys.append(f"y yes · a always ({printable(question.scope)}) · n no", "yellow")
        return self.ansi("", *(question.shown if self.fits(question) else ()), keys)

    def draft(self, text: str) -> list[RenderableType]:
        """The end of the text that is still coming."""
        if not text.strip():
            return []
        rows = max(1, self.room // 2)
        # The rest of a very long draft need not be wrapped.
        tail = Text(printable(text[-rows * self.width :].strip("\n")), "dim")
        return ["", *tail.wrap(self.console, self.width)[-rows:]]


def activity(what: Text, now: float, since: float, hints: list[str]) -> Text:
    """What is being done, for how long, and what can be done about it."""
    frame = _SPINNER[int(now / TICK) % len(_SPINNER)]
    told = Text(f"{frame} ", "cyan", no_wrap=True, overflow="ellipsis").append_text(what)
    return told.append(f"  {' · '.join([f'{now - since:.0f} s', *hints])}", "dim")


def lines(text: Callable[[], str]) -> Window:
    """As many lines as the function makes."""
    control = FormattedTextControl(lambda: ANSI(text().rstrip("\n")))
    return Window(control, dont_extend_height=True, height=Dimension(min=1))


def rule() -> Window:
    return Window(height=1, char="─", style="class:rule")
