"""The interactive loop: a line is typed, obeyed, and the next one may come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from rich.text import Text

from reverie import __version__
from reverie.cli.memories import shown_path
from reverie.cli.talk import render
from reverie.cli.talk.actions import ACTIONS, Leave, Next
from reverie.cli.talk.chat_session import ChatSession, EventPrinter
from reverie.cli.talk.consent import question
from reverie.cli.talk.slash import Called, Mistyped, Said, read_line
from reverie.cli.talk.terminal import OFFLINE_NOTE
from reverie.errors import ReverieError
from reverie.models.selection import OFFLINE
from reverie.session.build import open_session

if TYPE_CHECKING:
    from reverie.agent.permissions import Answer, Asked, Call
    from reverie.cli.talk.terminal import Terminal
    from reverie.events import Event
    from reverie.session.options import SessionOptions
    from reverie.workspace import Workspace

DRAIN_SECONDS = 60.0


class Chat:
    """One sitting after another at the same terminal, until the person leaves."""

    def __init__(self, app: Workspace, terminal: Terminal, *, quiet: bool = False) -> None:
        self._app = app
        self._terminal = terminal
        self._telling = EventPrinter(terminal, quiet=quiet)
        self._quiet = quiet
        self._last = ""
        self._asking = asyncio.Lock()

    def greet(self, wish: SessionOptions) -> None:
        """Where one is; and, in one line, that there is no model."""
        if self._quiet:
            return
        name = wish.model or self._app.settings.model("main")
        place = shown_path(self._app, self._app.place)
        title = Text(f"reverie {__version__}", "bold").append(f"  {place}  /help", "dim")
        lines = [title, Text(OFFLINE_NOTE, "yellow")] if name == OFFLINE else [title]
        self._terminal.show(*lines)

    async def run(self, wish: SessionOptions, prompt: str = "") -> None:
        """`prompt` is said first, as if it had been typed."""
        found: Next = replace(wish, ask=self._ask)
        while found is not None and not isinstance(found, Leave):
            found = await self._sit(found, prompt)
            prompt = ""

    async def _sit(self, wish: SessionOptions, prompt: str) -> Next:
        async with open_session(self._app, wish) as session:
            id_ = session.conversation.state.session
            before = [entry for entry in self._app.ledger.entries() if entry.session == id_]
            sitting = ChatSession(self._app, session, self._terminal, self._telling, wish, before)
            self._terminal.follow(sitting.status)
            self._introduce(sitting)
            with session.announce.heard_by(sitting.hear):
                try:
                    found = await self._converse(sitting, prompt)
                    await self._finish(sitting)
                except BaseException:
                    # Whatever ends it now, nobody waits for work in the background.
                    await session.background.cancel()
                    raise
        self._drop_when_empty(sitting)
        return found

    async def _converse(self, sitting: ChatSession, prompt: str) -> Next:
        if prompt:
            self._terminal.show("", render.spoken(prompt))
        line: str | None = prompt or await self._next_line(sitting)
        while line is not None:
            found = await self._obey(sitting, line)
            if found is not None:
                return found
            line = await self._next_line(sitting)
        return Leave()

    async def _next_line(self, sitting: ChatSession) -> str | None:
        """What the person types; what other agents write meanwhile is attended to at once."""
        while True:
            typing = asyncio.ensure_future(self._terminal.line())
            mail = asyncio.ensure_future(_mail(sitting))
            try:
                await asyncio.wait({typing, mail}, return_when=asyncio.FIRST_COMPLETED)
                if typing.done():
                    return typing.result()
            finally:
                await _cancelled(typing, mail)
            try:
                await self._stoppable(sitting, lambda: _listen(sitting.session.attend()))
            except ReverieError as error:
                sitting.show(render.failure(str(error)))

    async def _obey(self, sitting: ChatSession, line: str) -> Next:
        """Do what a line asks for; failures are told, and the next line may come."""
        typed = read_line(line, offline=sitting.offline)
        try:
            match typed:
                case None:
                    return None
                case Said(text):
                    return await self._stoppable(sitting, lambda: _say(sitting, text))
                case Called(command, rest):
                    action = ACTIONS[command.name]
                    return await self._stoppable(sitting, lambda: action(sitting, rest))
                case Mistyped(advice):
                    sitting.show(render.failure(advice))
                    return None
                case _:
                    assert_never(typed)
        except ReverieError as error:
            sitting.show(render.failure(str(error)))
            return None

    async def _stoppable(self, sitting: ChatSession, work: Callable[[], Awaitable[Next]]) -> Next:
        """Let it run until it is done or the person interrupts it."""
        self._telling.began()
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
            self._telling.ended()
            sitting.show(Text("interrupted", "yellow"))
            return None
        finally:
            self._terminal.on_interrupt = lambda: False
            self._telling.ended()
            sitting.refresh()

    async def _finish(self, sitting: ChatSession) -> None:
        """Background work may finish, unless the person does not want to wait."""
        running = sitting.session.background.unfinished
        if not running:
            return
        sitting.show(render.aside(f"finishing {', '.join(running)}… Ctrl-C to skip"))
        await self._stoppable(sitting, lambda: _drain(sitting))
        await sitting.session.background.cancel()

    async def _ask(self, call: Call, asked: Asked) -> Answer:
        # Agents side by side may ask at the same time: one after the other.
        async with self._asking:
            return await self._terminal.ask(question(call, asked))

    def _introduce(self, sitting: ChatSession) -> None:
        """What begins: another model, another conversation, or an old one, with how it stood."""
        state = sitting.session.conversation.state
        first, same = not self._last, state.session == self._last
        self._last = state.session
        if same:
            name = sitting.session.conversation.model.name
            sitting.show(render.aside(f"{name} answers from here on"))
        elif state.messages:
            what = render.aside(f"going on with {state.session}")
            sitting.show(what, render.recap(state.messages))
        elif not first:
            sitting.show(render.aside("a new conversation"))

    def _drop_when_empty(self, sitting: ChatSession) -> None:
        """A session in which nothing was said leaves no journal behind."""
        state = sitting.session.conversation.state
        if sitting.wish.resume is None and not state.messages:
            self._app.project.journal(state.session).unlink(missing_ok=True)


async def _say(sitting: ChatSession, text: str) -> None:
    """One turn; what happens in it is heard by the sitting itself."""
    await _listen(sitting.session.run(text))


async def _listen(turn: AsyncGenerator[Event, None]) -> None:
    async with aclosing(turn) as events:
        async for _ in events:
            pass


async def _mail(sitting: ChatSession) -> None:
    """Until another agent has written; for ever where there is none."""
    place = sitting.session.place
    if place is None:
        await asyncio.Event().wait()
    else:
        await place.seat.mail_arrives()


async def _cancelled(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _drain(sitting: ChatSession) -> None:
    await sitting.session.aclose(DRAIN_SECONDS)
