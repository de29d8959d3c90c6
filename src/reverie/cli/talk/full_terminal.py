"""A full terminal: the conversation scrolls up above the activity, the input and the status line.

The input is always there, so that the next message can be typed while the agent works. Finished
lines are written above it; prompt_toolkit draws the rest and changes only the cells that differ.
"""

from __future__ import annotations

import asyncio
import io
import re
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Group, RenderableType
from rich.text import Text

from reverie.agent.permissions import Answer
from reverie.cli.invocation import printable
from reverie.cli.screen import Screen
from reverie.cli.talk import render
from reverie.cli.talk.slash import Pastes
from reverie.cli.talk.terminal import Question, Status, status_line

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History

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


def text_window(text: Callable[[], str]) -> Window:
    """A window as high as the text the function returns."""
    control = FormattedTextControl(lambda: ANSI(text().rstrip("\n")))
    return Window(control, dont_extend_height=True, height=Dimension(min=1))


def rule_window() -> Window:
    return Window(height=1, char="─", style="class:rule")


_ANSWERS: dict[str, Answer] = {"y": "yes", "a": "always", "n": "no"}
# Ignore answers for this long if the user was typing when the question came up.
_READING_SECONDS = 0.8


@dataclass(slots=True)
class _Waiting:
    """A question without an answer yet; keys before `not_before` are ignored."""

    question: Question
    answer: asyncio.Future[Answer]
    not_before: float


class FullTerminal:
    """Use as `async with`, which restores the terminal at the end."""

    markdown = True

    def __init__(self, completer: Completer, history: History, *, colour: bool = True) -> None:
        self.on_interrupt: Callable[[], bool] = lambda: False
        self._status: Callable[[], Status | None] = lambda: None
        self._buffer = Buffer(
            completer=completer,
            history=history,
            multiline=True,
            complete_while_typing=True,
            on_text_changed=lambda _: self._reset_warning(),
        )
        self._output = Vt100_Output.from_pty(sys.stdout)
        # The cursor position is not needed, and not every terminal reports it.
        self._output.enable_cpr = False
        self._queue: deque[str] = deque()
        self._pastes = Pastes()
        self._changed = asyncio.Event()
        self._drawn = asyncio.Event()
        self._leaving = False
        self._warned = False
        self._what: Text | None = None
        self._draft = ""
        self._since = 0.0
        self._waiting: _Waiting | None = None
        self._app = self._application(None if colour else ColorDepth.MONOCHROME)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> FullTerminal:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        running = asyncio.create_task(self._run())
        running.add_done_callback(lambda _: self._leave())
        self._tasks = [running, asyncio.create_task(self._tick())]
        # Opening a session takes time: draw the screen first.
        await self._drawn.wait()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    @property
    def width(self) -> int:
        return self._canvas.width

    def show(self, *renderables: RenderableType) -> None:
        text = self._canvas.ansi(*renderables)
        # The terminal may be closed; the journal has the conversation.
        with suppress(OSError):
            if self._app.is_running:
                self._app.renderer.erase()
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()
        self._app.invalidate()

    def under_way(self, what: Text | None, draft: str = "") -> None:
        if self._what is None:
            self._since = asyncio.get_running_loop().time()
        self._what, self._draft = what, draft
        self._app.invalidate()

    def follow(self, status: Callable[[], Status]) -> None:
        self._status = status
        self._app.invalidate()

    async def line(self) -> str | None:
        while not self._queue:
            if self._leaving:
                return None
            self._changed.clear()
            await self._changed.wait()
        text = self._queue.popleft()
        self.show("", render.spoken(text))
        return text

    async def ask(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        delay = _READING_SECONDS if self._buffer.text else 0.0
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting = _Waiting(question, answer, loop.time() + delay)
        if not self._canvas.fits(question):
            self.show("", *question.shown)
        self._app.invalidate()
        try:
            return await answer
        finally:
            self._waiting = None
            self._app.invalidate()

    # --- keys ---

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        asking = Condition(lambda: self._waiting is not None)
        typing = Condition(lambda: self._app.layout.has_focus(self._buffer))
        keys.add("enter", filter=typing & ~asking)(self._enter)
        keys.add("c-j", filter=typing & ~asking)(_newline)
        keys.add("escape", "enter", filter=typing & ~asking)(_newline)
        keys.add(Keys.BracketedPaste, filter=typing & ~asking)(self._paste)
        keys.add("c-c", eager=True)(lambda event: self._interrupt())
        empty = Condition(lambda: not self._buffer.text)
        keys.add("c-d", filter=empty & ~asking, eager=True)(lambda event: self._leave())
        keys.add("c-z")(lambda event: event.app.suspend_to_background())
        keys.add(Keys.Any, filter=asking, eager=True)(self._answer)
        keys.add("enter", filter=asking, eager=True)(lambda event: None)
        return keys

    def _enter(self, event: KeyPressEvent) -> None:
        buffer = self._buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
            return
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
            return
        if not buffer.text.strip():
            return
        self._queue.append(self._pastes.unfolded(buffer.text))
        buffer.append_to_history()
        buffer.reset()
        self._changed.set()

    def _paste(self, event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(self._pastes.folded(event.data))

    def _answer(self, event: KeyPressEvent) -> None:
        waiting = self._waiting
        answer = _ANSWERS.get(event.data.lower())
        now = asyncio.get_running_loop().time()
        if waiting and answer and now >= waiting.not_before and not waiting.answer.done():
            waiting.answer.set_result(answer)

    def _interrupt(self) -> None:
        """Stop what is running, or clear the line, or leave the second time."""
        if self.on_interrupt():
            # Queued messages no longer fit: put them back into the input.
            drafts = [*self._queue, *([self._buffer.text] if self._buffer.text else [])]
            self._queue.clear()
            self._buffer.text = "\n".join(drafts)
            self._buffer.cursor_position = len(self._buffer.text)
        elif self._buffer.text:
            self._buffer.reset()
        elif self._warned:
            self._leave()
        else:
            self._warned = True
        self._app.invalidate()

    def _reset_warning(self) -> None:
        """Typing takes back the first Ctrl-C."""
        self._warned = False

    def _leave(self) -> None:
        self._leaving = True
        self._drawn.set()
        self._changed.set()
        self._app.invalidate()

    # --- layout ---

    def _application(self, depth: ColorDepth | None) -> Application[None]:
        search = SearchToolbar()
        entry = Window(
            BufferControl(
                self._buffer,
                input_processors=[BeforeInput("❯ ", style="class:prompt")],
                search_buffer_control=search.control,
            ),
            height=Dimension(min=1),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=lambda number, wrapped: "  " if number or wrapped else "",
        )
        active = Condition(lambda: self._waiting is not None or self._what is not None)
        layout = HSplit(
            [
                ConditionalContainer(text_window(self._activity), active),
                rule_window(),
                entry,
                search,
                CompletionsMenu(max_height=8, extra_filter=has_completions),
                rule_window(),
                text_window(self._status_line),
            ],
            align=VerticalAlign.TOP,
        )
        return Application(
            Layout(layout, focused_element=entry),
            key_bindings=self._keys(),
            style=STYLE,
            color_depth=depth,
            output=self._output,
            erase_when_done=True,
            after_render=lambda _: self._drawn.set(),
        )

    def _activity(self) -> str:
        canvas = self._canvas
        if self._waiting is not None:
            return canvas.asked(self._waiting.question)
        hints = ["Ctrl-C interrupts"]
        hints += [f"{len(self._queue)} waiting"] if self._queue else []
        hints += ["leaving then"] if self._leaving else []
        now = asyncio.get_running_loop().time()
        doing = activity(self._what or Text(), now, self._since, hints)
        return canvas.ansi(*canvas.draft(self._draft), doing)

    def _status_line(self) -> str:
        if self._warned and self._what is None:
            return self._canvas.ansi(Text(" Ctrl-C again leaves", "yellow"))
        return self._canvas.ansi(status_line(self._status(), self.width))

    @property
    def _canvas(self) -> Canvas:
        size = self._output.get_size()
        return Canvas(max(1, size.columns), max(1, size.rows))

    # --- running ---

    async def _run(self) -> None:
        # A closed keyboard means the user has left.
        with suppress(EOFError, OSError):
            await self._app.run_async(handle_sigint=False, set_exception_handler=False)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            if self._what is not None:
                self._app.invalidate()


def _newline(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")
