"""One question, one answer, and out: `-p`, for scripts and pipes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from reverie.agent.turns import calls_of
from reverie.cli.formatting import late_recall, printable, printable_json
from reverie.cli.talk.actions import remember
from reverie.cli.talk.layout import Json, event_json, opened_json, result_json
from reverie.cli.talk.slash import Called, read_line
from reverie.cli.talk.status import Tally
from reverie.cli.talk.terminal import OFFLINE_NOTE
from reverie.errors import InputError, RequestRefused, ReverieError
from reverie.events import CapReached, Event, MemoriesLate, Replied, TroubleNoted, TurnEnded
from reverie.models.selection import OFFLINE
from reverie.session.build import open_session
from reverie.subagents.identity import answer, see_through

if TYPE_CHECKING:
    from reverie.session.options import SessionOptions
    from reverie.session.query import Session
    from reverie.workspace import Workspace

Format: TypeAlias = Literal["text", "json", "stream-json"]

DRAIN_SECONDS = 60.0


async def once(
    app: Workspace, wish: SessionOptions, prompt: str, show: Format, *, quiet: bool
) -> None:
    """Print the answer; an error is raised after what is known of it was printed."""
    offline = (wish.model or app.settings.model("main")) == OFFLINE
    typed = read_line(prompt, offline=offline)
    if isinstance(typed, Called):
        _commanded(app, typed, prompt)
        return
    async with open_session(app, wish) as session:
        hearing = TurnPrinter(show, quiet=quiet)
        hearing.opened(session, resumed=wish.resume is not None)
        with session.announce.heard_by(hearing.hear):
            try:
                await _answered(session, prompt)
                hearing.answered()
                hearing.finishing(session.background.unfinished)
                await session.aclose(DRAIN_SECONDS)
                hearing.require_answer(session.conversation.model.name)
            except ReverieError as error:
                hearing.closed(session, str(error))
                raise
            finally:
                await session.background.cancel()
        hearing.closed(session)


@dataclass(slots=True)
class TurnPrinter:
    """Listens to one turn, and prints what the format asks for."""

    show: Format
    quiet: bool = False
    answer: str = ""
    tally: Tally = field(default_factory=Tally)
    _over: bool = False
    _refused: bool = False

    @property
    def _so_far(self) -> str:
        """What was said before in this turn; the next one has an answer of its own."""
        return "" if self._over else self.answer

    def opened(self, session: Session, *, resumed: bool) -> None:
        conversation = session.conversation
        name, window = conversation.model.name, session.upkeep.window.tokens
        if self.show == "stream-json":
            self._line(opened_json(conversation.state.session, name, window, resumed=resumed))
        elif name == OFFLINE and not self.quiet:
            click.echo(f"note: {OFFLINE_NOTE}", err=True)

    def hear(self, event: Event) -> None:
        self.tally.hear(event)
        if isinstance(event, Replied):
            # A reply that was cut off and its continuation are one answer; a call begins anew.
            self.answer = "" if calls_of(event.reply) else self._so_far + event.reply.text
        if isinstance(event, TurnEnded):
            self._refused = event.why == "refusal"
        self._over = isinstance(event, TurnEnded) or (self._over and not isinstance(event, Replied))
        if self.show == "stream-json":
            self._line(event_json(event))
        elif isinstance(event, TroubleNoted | CapReached | MemoriesLate) and not self.quiet:
            click.echo(f"note: {printable(_told(event))}", err=True)

    def answered(self) -> None:
        """Text is given out at once; nobody who reads it waits for work in the background."""
        if self.show == "text" and not self.quiet and (self.answer or not self._refused):
            click.echo(printable(self.answer))

    def require_answer(self, model: str) -> None:
        """A script must not take a refusal for an answer."""
        if self._refused:
            said = "refused to go on" if self.answer else "refused to answer"
            raise RequestRefused(f"{model} {said}; put it another way, or choose another --model")

    def finishing(self, running: tuple[str, ...]) -> None:
        """Somebody who looks on is told why it is not over."""
        if running and not self.quiet and sys.stderr.isatty():
            click.echo(printable(f"note: finishing {', '.join(running)}…"), err=True)

    def closed(self, session: Session, error: str = "") -> None:
        if self.show != "text" and not self.quiet:
            id_ = session.conversation.state.session
            self._line(result_json(id_, self.answer, self.tally, error=error))

    def _line(self, data: Json) -> None:
        if not self.quiet:
            click.echo(printable_json(data))


async def _answered(session: Session, prompt: str) -> None:
    """Whom it hires in the background is waited for: there is no later here."""
    await answer(session.run(prompt))
    if session.place is not None:
        crew, seat = session.place.crew, session.place.seat
        await see_through(session, seat, partial(crew.waits_for_somebody, seat.name))


def _commanded(app: Workspace, typed: Called, prompt: str) -> None:
    """Without a model, "remember …" is done here; commands are for the interactive chat."""
    if prompt.lstrip().startswith("/"):
        name = typed.command.name
        raise InputError(f"/{name} works inside `reverie chat`; with -p, say what you want to know")
    click.echo(printable(remember(app, typed.rest)))


def _told(event: TroubleNoted | CapReached | MemoriesLate) -> str:
    match event:
        case TroubleNoted(where, what):
            return f"{where}: {what}"
        case CapReached(_, reason):
            return reason
        case MemoriesLate(seconds):
            return late_recall(seconds)
