"""`reverie chat -p`: one question, one answer, for scripts and pipes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from reverie.agent.fork import calls_of
from reverie.cli.invocation import late_recall, printable, printable_json
from reverie.cli.talk.actions import remember
from reverie.cli.talk.output import Json, event_json, opened_json, result_json
from reverie.cli.talk.slash import Called, read_line
from reverie.cli.talk.terminal import OFFLINE_NOTE, Tally
from reverie.errors import InputError, RequestRefused, ReverieError
from reverie.events import CapReached, Event, MemoriesLate, Replied, TroubleNoted, TurnEnded
from reverie.models.selection import OFFLINE
from reverie.session.build import open_session
from reverie.subagents.identity import answer, run_until_reported

if TYPE_CHECKING:
    from reverie.session.options import SessionOptions
    from reverie.session.query import Session
    from reverie.workspace import Workspace

Format: TypeAlias = Literal["text", "json", "stream-json"]

DRAIN_SECONDS = 60.0


async def once(
    app: Workspace, options: SessionOptions, prompt: str, show: Format, *, quiet: bool
) -> None:
    """Run one turn and print the answer; an error is raised after the result is printed."""
    offline = (options.model or app.settings.model("main")) == OFFLINE
    typed = read_line(prompt, offline=offline)
    if isinstance(typed, Called):
        _run_command(app, typed, prompt)
        return
    async with open_session(app, options) as session:
        printer = TurnPrinter(show, quiet=quiet)
        printer.opened(session, resumed=options.resume is not None)
        with session.announce.subscribed(printer.on_event):
            try:
                await _run_turn(session, prompt)
                printer.answered()
                printer.finishing(session.background.unfinished)
                await session.aclose(DRAIN_SECONDS)
                printer.require_answer(session.conversation.model.name)
            except ReverieError as error:
                printer.closed(session, str(error))
                raise
            finally:
                await session.background.cancel()
        printer.closed(session)


@dataclass(slots=True)
class TurnPrinter:
    """Prints one turn in the chosen format."""

    show: Format
    quiet: bool = False
    answer: str = ""
    tally: Tally = field(default_factory=Tally)
    _over: bool = False
    _refused: bool = False

    @property
    def _so_far(self) -> str:
        """The answer so far in this turn; empty once the turn is over."""
        return "" if self._over else self.answer

    def opened(self, session: Session, *, resumed: bool) -> None:
        conversation = session.conversation
        name, window = conversation.model.name, session.upkeep.window.tokens
        if self.show == "stream-json":
            self._line(opened_json(conversation.state.session, name, window, resumed=resumed))
        elif name == OFFLINE and not self.quiet:
            click.echo(f"note: {OFFLINE_NOTE}", err=True)

    def on_event(self, event: Event) -> None:
        self.tally.on_event(event)
        if isinstance(event, Replied):
            # A cut-off reply and its continuation are one answer; a tool call starts a new one.
            self.answer = "" if calls_of(event.reply) else self._so_far + event.reply.text
        if isinstance(event, TurnEnded):
            self._refused = event.why == "refusal"
        self._over = isinstance(event, TurnEnded) or (self._over and not isinstance(event, Replied))
        if self.show == "stream-json":
            self._line(event_json(event))
        elif isinstance(event, TroubleNoted | CapReached | MemoriesLate) and not self.quiet:
            click.echo(f"note: {printable(_note(event))}", err=True)

    def answered(self) -> None:
        """Print text at once: the reader must not wait for background work."""
        if self.show == "text" and (self.answer or not self._refused):
            click.echo(printable(self.answer))

    def require_answer(self, model: str) -> None:
        """A script must not mistake a refusal for an answer."""
        if self._refused:
            what = "refused to continue" if self.answer else "refused to answer"
            raise RequestRefused(f"{model} {what}; rephrase it, or choose another --model")

    def finishing(self, running: tuple[str, ...]) -> None:
        """On a terminal, say which background work is still running."""
        if running and not self.quiet and sys.stderr.isatty():
            click.echo(printable(f"note: finishing {', '.join(running)}…"), err=True)

    def closed(self, session: Session, error: str = "") -> None:
        if self.show != "text":
            id_ = session.conversation.state.session
            self._line(result_json(id_, self.answer, self.tally, error=error))

    def _line(self, data: Json) -> None:
        click.echo(printable_json(data))


async def _run_turn(session: Session, prompt: str) -> None:
    """Run the turn and wait for agents hired in the background: there is no later turn."""
    await answer(session.run(prompt))
    if session.place is not None:
        crew, identity = session.place.crew, session.place.identity
        await run_until_reported(session, identity, partial(crew.awaits_reports, identity.name))


def _run_command(app: Workspace, typed: Called, prompt: str) -> None:
    """Without a model, save "remember …"; slash commands need the interactive chat."""
    if prompt.lstrip().startswith("/"):
        name = typed.command.name
        raise InputError(f"/{name} works inside `reverie chat`; with -p, say what you want to know")
    click.echo(printable(remember(app, typed.rest)))


def _note(event: TroubleNoted | CapReached | MemoriesLate) -> str:
    match event:
        case TroubleNoted(where, what):
            return f"{where}: {what}"
        case CapReached(_, reason):
            return reason
        case MemoriesLate(seconds):
            return late_recall(seconds)
