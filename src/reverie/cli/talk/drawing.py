"""The redrawn part of the screen (activity, questions, drafts) for prompt_toolkit. Pure."""

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

from reverie.cli.invocation import printable
from reverie.cli.screen import Screen
from reverie.cli.talk import render
from reverie.cli.talk.terminal import Question

TICK = 0.1
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Rows reserved for the conversation, the input and the status line.
_RESERVED_ROWS = 8
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
    """Draws renderables for a screen of this size."""

    width: int
    height: int

    @property
    def room(self) -> int:
        """The most rows the redrawn part may take."""
        return max(1, self.height - _RESERVED_ROWS)

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
        # Rich pads lines to the full width; copied text should not have trailing spaces.
        return _TRAILING_SPACES.sub(r"\1", drawn.get())

    def fits(self, question: Question) -> bool:
        """Does the whole question fit on the screen?"""
        return self.ansi(*question.shown).count("\n") <= self.room

    def asked(self, question: Question) -> str:
        """The question and its keys; a question that does not fit was printed above."""
        keys = Text("Allow? ", "bold")
        keys.append(f"y yes · a always ({printable(question.scope)}) · n no", "yellow")
        return self.ansi("", *(question.shown if self.fits(question) else ()), keys)

    def draft(self, text: str) -> list[RenderableType]:
        """The last rows of the text that is still streaming in."""
        if not text.strip():
            return []
        rows = max(1, self.room // 2)
        # Wrap only the end of a long draft.
        tail = Text(printable(text[-rows * self.width :].strip("\n")), "dim")
        return ["", *tail.wrap(self.console, self.width)[-rows:]]


def activity(what: Text, now: float, since: float, hints: list[str]) -> Text:
    """The current activity, its duration, and key hints."""
    frame = _SPINNER[int(now / TICK) % len(_SPINNER)]
    line = Text(f"{frame} ", "cyan", no_wrap=True, overflow="ellipsis").append_text(what)
    return line.append(f"  {' · '.join([f'{now - since:.0f} s', *hints])}", "dim")


def lines(text: Callable[[], str]) -> Window:
    """A window as high as the text the function returns."""
    control = FormattedTextControl(lambda: ANSI(text().rstrip("\n")))
    return Window(control, dont_extend_height=True, height=Dimension(min=1))


def rule() -> Window:
    return Window(height=1, char="─", style="class:rule")
