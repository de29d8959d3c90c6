"""A teammate in a process of its own: `python -m reverie.surfaces.teammate`, started by a session.

Its task comes as one line of JSON on standard input, which then stays open for as long as the session
lives. How it gets on goes out as lines of JSON; letters go through the team's mailboxes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from reverie.app.crew import unpacked
from reverie.errors import ReverieError
from reverie.events import Event, Replied, ToolStarted
from reverie.layers.teamwork.lines import line_of_calls
from reverie.session.crew.members import Member
from reverie.session.crew.serving import serve
from reverie.surfaces.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reverie.session.query import Session

# One line holds the whole task.
LONGEST_LINE = 8 * 1024 * 1024


def main() -> None:
    try:
        run(_until_the_session_ends())
    except ReverieError as error:
        sys.exit(f"reverie: {error}")


async def _until_the_session_ends() -> None:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    packed = json.loads(await reader.readline())
    work = asyncio.create_task(_work(packed))
    alive = asyncio.create_task(reader.read())
    await asyncio.wait({work, alive}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    alive.cancel()
    if not work.cancelled():
        work.result()


async def _work(packed: Mapping[str, Any]) -> None:
    here = unpacked(packed)
    brief, quarters = here.brief, here.quarters
    member = Member(brief, quarters.transcript(brief), here.app.clock.now())
    async with here.app.session(quarters.wish_for(brief, None)) as session:
        if session.place is None:
            return
        with session.announce.heard_by(_teller(session, member)):
            await serve(session, session.place.seat, member, session.place.crew.send_report)
    quarters.notice_memories(brief)
    _tell(answer=member.answer, tokens=member.tokens)


def _teller(session: Session, member: Member) -> Callable[[Event], None]:
    def hear(event: Event) -> None:
        if isinstance(event, Replied):
            member.tokens += event.reply.usage.context
            _tell(tokens=member.tokens)
        elif isinstance(event, ToolStarted) and (
            line := line_of_calls(session.conversation.messages)
        ):
            _tell(line=line, tokens=member.tokens)

    return hear


def _tell(**told: Any) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
