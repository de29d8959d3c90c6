"""The interactive chat loop: read a line, run it, repeat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from rich.text import Text

from reverie import __version__
from reverie.agent.kit.files import compact_diff
from reverie.agent.permissions import Asked, Call
from reverie.cli.invocation import printable
from reverie.cli.memories import shown_path
from reverie.cli.talk import render
from reverie.cli.talk.actions import ACTIONS, Leave, Next
from reverie.cli.talk.chat_session import ChatSession, EventPrinter, pictures_in, run_shell
from reverie.cli.talk.slash import Called, Mistyped, Prompt, Shell, read_line, states_fact
from reverie.cli.talk.terminal import OFFLINE_NOTE, Question
from reverie.core.messages import Attachment
from reverie.errors import ReverieError
from reverie.models.selection import OFFLINE
from reverie.session.build import open_session

if TYPE_CHECKING:
    from reverie.agent.permissions import Answer
    from reverie.cli.talk.terminal import Terminal
    from reverie.events import Event
    from reverie.session.options import SessionOptions
    from reverie.workspace import Workspace

DRAIN_SECONDS = 60.0


class Chat:
    """Runs one session after another on the same terminal, until the user leaves."""

    def __init__(self, app: Workspace, terminal: Terminal, *, quiet: bool = False) -> None:
        self._app = app
        self._terminal = terminal
        self._printer = EventPrinter(terminal, quiet=quiet)
        self._quiet = quiet
        self._last = ""
        self._asking = asyncio.Lock()

    def greet(self, options: SessionOptions) -> None:
        """Show the version and folder, and a note if there is no model."""
        if self._quiet:
            return
        name = options.model or self._app.settings.model("main")
        place = shown_path(self._app, self._app.working_folder)
        title = Text(f"reverie {__version__}", "bold").append(f"  {place}  /help", "dim")
        lines = [title, Text(OFFLINE_NOTE, "yellow")] if name == OFFLINE else [title]
        self._terminal.show(*lines)

    async def run(self, options: SessionOptions, prompt: str = "") -> None:
        """Run sessions until the user leaves; `prompt` is sent first, as if typed."""
        found: Next = replace(options, ask=self._ask)
        while found is not None and not isinstance(found, Leave):
            found = await self._run_session(found, prompt)
            prompt = ""

    async def _run_session(self, options: SessionOptions, prompt: str) -> Next:
        async with open_session(self._app, options) as session:
            id_ = session.conversation.state.session
            before = [entry for entry in self._app.ledger.entries() if entry.session == id_]
            chat = ChatSession(self._app, session, self._terminal, self._printer, options, before)
            self._terminal.follow(chat.status)
            self._introduce(chat)
            with session.announce.subscribed(chat.on_event):
                try:
                    found = await self._converse(chat, prompt)
                    await self._finish(chat)
                except BaseException:
                    # Do not wait for background work after an error.
                    await session.background.cancel()
                    raise
        self._drop_when_empty(chat)
        if isinstance(found, Leave) and not self._quiet:
            self._say_goodbye(chat)
        return found

    async def _converse(self, chat: ChatSession, prompt: str) -> Next:
        if prompt:
            self._terminal.show("", render.spoken(prompt))
        line: str | None = prompt or await self._next_line(chat)
        while line is not None:
            found = await self._run_line(chat, line)
            if found is not None:
                return found
            line = await self._next_line(chat)
        return Leave()

    async def _next_line(self, chat: ChatSession) -> str | None:
        """The next line typed; letters from other agents are handled while waiting."""
        while True:
            typing = asyncio.ensure_future(self._terminal.line())
            mail = asyncio.ensure_future(_wait_for_mail(chat))
            try:
                await asyncio.wait({typing, mail}, return_when=asyncio.FIRST_COMPLETED)
                if typing.done():
                    return typing.result()
            finally:
                await _cancelled(typing, mail)
            try:
                await self._stoppable(chat, lambda: _consume(chat.session.run_mail()))
            except ReverieError as error:
                chat.show(render.failure(str(error)))

    async def _run_line(self, chat: ChatSession, line: str) -> Next:
        """Run one line; show an error instead of raising it."""
        typed = read_line(line, offline=chat.offline)
        try:
            match typed:
                case None:
                    return None
                case Prompt(text):
                    return await self._stoppable(chat, lambda: _run_turn(chat, text))
                case Shell(shell_command):
                    return await self._stoppable(chat, lambda: run_shell(chat, shell_command))
                case Called(command, rest):
                    action = ACTIONS[command.name]
                    return await self._stoppable(chat, lambda: action(chat, rest))
                case Mistyped(advice):
                    chat.show(render.failure(advice))
                    return None
                case _:
                    assert_never(typed)
        except ReverieError as error:
            chat.show(render.failure(str(error)))
            return None

    async def _stoppable(self, chat: ChatSession, work: Callable[[], Awaitable[Next]]) -> Next:
        """Run until done or until the user interrupts."""
        self._printer.began()
        task = asyncio.ensure_future(work())
        stopped = False

        def stop() -> bool:
            nonlocal stopped
            stopped = True
            return task.cancel()

        self._terminal.on_interrupt = stop
        try:
            return await task
        except asyncio.CancelledError:
            if not stopped:
                task.cancel()
                await asyncio.wait({task})
                raise
            self._printer.ended()
            chat.show(Text("interrupted", "yellow"))
            return None
        finally:
            self._terminal.on_interrupt = lambda: False
            self._printer.ended()
            chat.refresh()

    async def _finish(self, chat: ChatSession) -> None:
        """Wait for background work, unless the user interrupts."""
        running = chat.session.background.unfinished
        if not running:
            return
        chat.show(render.aside(f"finishing {', '.join(running)}… Ctrl-C to skip"))
        await self._stoppable(chat, lambda: chat.session.aclose(DRAIN_SECONDS))
        await chat.session.background.cancel()

    async def _ask(self, call: Call, asked: Asked) -> Answer:
        # Several agents may ask at the same time: ask one question after another.
        async with self._asking:
            return await self._terminal.ask(question(call, asked))

    def _introduce(self, chat: ChatSession) -> None:
        """Announce a changed model, a new conversation, or a resumed one with its last messages."""
        state = chat.session.conversation.state
        first, same = not self._last, state.session == self._last
        self._last = state.session
        if same:
            name = chat.session.conversation.model.name
            chat.show(render.aside(f"{name} answers from here on"))
        elif state.messages:
            what = render.aside(f"continuing {state.session}")
            chat.show(what, render.recap(state.messages))
        elif not first:
            chat.show(render.aside("a new conversation"))

    def _say_goodbye(self, chat: ChatSession) -> None:
        """Show how to continue this conversation."""
        state = chat.session.conversation.state
        if state.messages:
            chat.show(render.command_hint(f"continue with: reverie chat --resume {state.session}"))

    def _drop_when_empty(self, chat: ChatSession) -> None:
        """Delete the journal of a new session without messages."""
        state = chat.session.conversation.state
        if chat.options.resume is None and not state.messages:
            self._app.project.journal(state.session).unlink(missing_ok=True)


async def _run_turn(chat: ChatSession, text: str) -> None:
    """Run one turn; its events reach the chat through `on_event`."""
    pictures = pictures_in(text, chat.app.working_folder)
    ran, chat.shell_output = chat.shell_output, []
    # Next to the message, not in it: recall searches by what the user wrote.
    output = [Attachment("shell", "\n\n".join(ran))] if ran else []
    await _consume(chat.session.run(text, *output, *pictures))
    if chat.offline and states_fact(text):
        chat.show(render.command_hint(f"to save that: # {text}"))


async def _consume(turn: AsyncGenerator[Event, None]) -> None:
    async with aclosing(turn) as events:
        async for _ in events:
            pass


async def _wait_for_mail(chat: ChatSession) -> None:
    """Wait until another agent has written; forever without agents."""
    place = chat.session.place
    if place is None:
        await asyncio.Event().wait()
    else:
        await place.identity.mail_arrives()


async def _cancelled(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


_MOST_LINES = 40
# Marks that reverse the direction of text, and characters without a width.
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def question(call: Call, asked: Asked) -> Question:
    """The call with everything the user needs to judge it."""
    by = [render.aside(f"{asked.by} asks:")] if asked.by else []
    title = render.call_line(call.tool.name, call.headline)
    details = _details(call)
    where = [render.line(str(path), "dim", lead="  ") for path in call.paths]
    return Question((*by, title, *where, *details), _covered(call, asked.scope))


def _covered(call: Call, scope: str) -> str:
    """What "always" covers, in words; a single call is shown above, not repeated as JSON."""
    one_call = scope.startswith(f"{call.tool.name}: ")
    return f"this same {call.tool.name} call" if one_call else scope


def _details(call: Call) -> list[Text]:
    match dict(call.arguments):
        case {"command": str(command)}:
            return _block(command)
        case {"old_text": str(old), "new_text": str(new)}:
            return _change(*_edited(call, old, new))
        case {"content": str(content)}:
            return _change(_content(call), content)
        case _:
            return []


def _edited(call: Call, old: str, new: str) -> tuple[str, str]:
    """The whole file before and after, so that the diff has line numbers; else the two texts."""
    before = _content(call)
    if old not in before:
        return old, new
    times = -1 if call.arguments.get("replace_all") else 1
    return before, before.replace(old, new, times)


def _change(before: str, after: str) -> list[Text]:
    added = [f"+{row}" for row in after.splitlines()]
    rows = compact_diff(before, after).split("\n") if before else added
    return render.diff_lines([_visible(row) for row in rows], _MOST_LINES, whole=True)


def _block(text: str) -> list[Text]:
    """The text, wrapped rather than cut: the user must see what they allow."""
    rows = _visible(text).split("\n")
    shown = [Text(f"    {row}", "yellow") for row in rows[:_MOST_LINES]]
    more = len(rows) - _MOST_LINES
    return (
        [*shown, render.line(f"… {more:,} more lines", "red", lead="    ")] if more > 0 else shown
    )


def _visible(text: str) -> str:
    """Escape characters that reverse or hide text: the user must see what they allow."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), printable(text))


def _content(call: Call) -> str:
    """The file's current text; empty if it is missing or unreadable."""
    try:
        return call.paths[0].read_text("utf-8", "replace") if call.paths else ""
    except OSError:
        return ""
