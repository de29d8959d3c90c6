"""A teammate agent in its own process: `python -m reverie.cli.teammate`, started by a session.

The task arrives as one line of JSON on standard input, which then stays open as long as the session
lives. Progress is written as lines of JSON to standard output; letters go through the mail store.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.screen import run
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

# The whole task is one line.
LONGEST_LINE = 8 * 1024 * 1024


def main() -> None:
    send = OutputPipe()
    try:
        run(_run_until_session_ends(send))
    except ReverieError as error:
        send(error=str(error))
        sys.exit(f"reverie: {error}")
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)


class OutputPipe:
    """The original standard output, for JSON lines only; other prints are redirected to stderr."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def __call__(self, **fields: Any) -> None:
        # The session closed the pipe; this process is about to end, too.
        with suppress(BrokenPipeError):
            self._out.write(json.dumps(fields, ensure_ascii=False) + "\n")
            self._out.flush()


async def _run_until_session_ends(send: OutputPipe) -> None:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    packed = json.loads(await reader.readline())
    work = asyncio.create_task(_work(packed, send))
    session_closed = asyncio.create_task(reader.read())
    await asyncio.wait({work, session_closed}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    session_closed.cancel()
    if not work.cancelled():
        work.result()


async def _work(packed: Mapping[str, Any], send: OutputPipe) -> None:
    job = unpacked(packed, open_session)
    member = Member(job.brief, job.host.transcript(job.brief), job.app.clock.now())
    try:
        async with open_session(job.app, job.options) as session:
            if session.place is None:
                raise InputError("features.agents is off")
            crew = session.place.crew

            async def report(identity: AgentIdentity, reporter: Member) -> None:
                await crew.send_report(identity, reporter)
                send(reported=True)

            with session.announce.subscribed(_progress_listener(session, member, crew, send)):
                await serve(session, session.place.identity, member, report)
    finally:
        job.host.notice_memories(job.brief)
    send(answer=member.answer)


def _progress_listener(
    session: Session, member: Member, crew: Crew, send: OutputPipe
) -> Callable[[Event], None]:
    """Report tokens used, by hired agents too, and the current activity after each event."""

    def on_event(event: Event) -> None:
        match event:
            case Replied(reply):
                member.tokens += reply.usage.context
            case ToolStarted() | AgentEnded():
                pass
            case _:
                return
        line = line_of_calls(session.conversation.messages) or ""
        send(line=line, tokens=member.tokens + crew.tokens)

    return on_event


if __name__ == "__main__":
    main()
