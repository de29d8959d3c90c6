"""A teammate in a process of its own: `python -m reverie.cli.teammate`, started by a session.

Its task comes as one line of JSON on standard input, which then stays open for as long as the session
lives. How it gets on goes out as lines of JSON; letters go through the person's mail.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.running import run
from reverie.errors import InputError, ReverieError
from reverie.events import AgentEnded, Event, Replied, ToolStarted
from reverie.session.build import open_session
from reverie.session.subagents import unpacked
from reverie.subagents.identity import serve
from reverie.subagents.members import Member
from reverie.subagents.progress_lines import line_of_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reverie.session.query import Session
    from reverie.subagents.crew import Crew
    from reverie.subagents.identity import AgentIdentity

# One line holds the whole task.
LONGEST_LINE = 8 * 1024 * 1024


def main() -> None:
    tell = OutputPipe()
    try:
        run(_until_the_session_ends(tell))
    except ReverieError as error:
        tell(error=str(error))
        sys.exit(f"reverie: {error}")
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)


class OutputPipe:
    """What we were given as standard output; whatever else prints goes where errors go."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def __call__(self, **told: Any) -> None:
        # Nobody listens any more: then we are about to end, too.
        with suppress(BrokenPipeError):
            self._out.write(json.dumps(told, ensure_ascii=False) + "\n")
            self._out.flush()


async def _until_the_session_ends(tell: OutputPipe) -> None:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    packed = json.loads(await reader.readline())
    work = asyncio.create_task(_work(packed, tell))
    alive = asyncio.create_task(reader.read())
    await asyncio.wait({work, alive}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    alive.cancel()
    if not work.cancelled():
        work.result()


async def _work(packed: Mapping[str, Any], tell: OutputPipe) -> None:
    here = unpacked(packed, open_session)
    member = Member(here.brief, here.quarters.transcript(here.brief), here.app.clock.now())
    try:
        async with open_session(here.app, here.wish) as session:
            if session.place is None:
                raise InputError("features.agents is off")
            crew = session.place.crew

            async def report(seat: AgentIdentity, who: Member) -> None:
                await crew.send_report(seat, who)
                tell(reported=True)

            with session.announce.heard_by(_teller(session, member, crew, tell)):
                await serve(session, session.place.seat, member, report)
    finally:
        here.quarters.notice_memories(here.brief)
    tell(answer=member.answer)


def _teller(
    session: Session, member: Member, crew: Crew, tell: OutputPipe
) -> Callable[[Event], None]:
    """Tells what it and whom it hired have used, and what it does."""

    def hear(event: Event) -> None:
        match event:
            case Replied(reply):
                member.tokens += reply.usage.context
            case ToolStarted() | AgentEnded():
                pass
            case _:
                return
        line = line_of_calls(session.conversation.messages) or ""
        tell(line=line, tokens=member.tokens + crew.tokens)

    return hear


if __name__ == "__main__":
    main()
