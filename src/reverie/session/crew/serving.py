"""How an agent works: one task and its answer, or on and on, as letters come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from reverie.agent.turns import calls_of
from reverie.events import Event, Replied
from reverie.session.crew.members import Member
from reverie.session.crew.quarters import Working
from reverie.session.crew.seat import Seat

Report = Callable[[Seat, Member], Awaitable[None]]


async def answer(turn: AsyncGenerator[Event, None]) -> str:
    """Listen to a whole turn; what was said after the last tool is the answer."""
    said = ""
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, Replied):
                said = "" if calls_of(event.reply) else said + event.reply.text
    return said


async def see_through(session: Working, seat: Seat, hired: Callable[[], bool]) -> str | None:
    """Stay until whoever was hired has ended; what is said to their answers, if anything is."""
    said = None
    while hired() or seat.has_mail:
        await seat.mail_arrives()
        said = await answer(session.attend())
    return said


async def serve(session: Working, seat: Seat, member: Member, report: Report) -> None:
    """Do the task, report, and go on whenever somebody writes, until it agrees to leave."""
    member.answer = await answer(session.run(member.brief.task))
    while not seat.leaving:
        await report(seat, member)
        await seat.mail_arrives()
        member.answer = await answer(session.attend())
    seat.settle()
