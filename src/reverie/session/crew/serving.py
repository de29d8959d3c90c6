"""How an agent works: one task and its answer, or on and on, as letters come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from reverie.agent.turns import calls_of
from reverie.errors import InputError
from reverie.events import Event, Replied, TurnEnded
from reverie.session.crew.members import Member
from reverie.session.crew.quarters import Working
from reverie.session.crew.seat import Seat
from reverie.session.limits import OUT_OF_REQUESTS

Report = Callable[[Seat, Member], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said after the last tool of a turn, and why the turn ended."""

    text: str
    why: str


async def listen(turn: AsyncGenerator[Event, None]) -> Heard:
    """To a whole turn."""
    said = why = ""
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, Replied):
                said = "" if calls_of(event.reply) else said + event.reply.text
            if isinstance(event, TurnEnded):
                why = event.why
    return Heard(said, why)


async def answer(turn: AsyncGenerator[Event, None]) -> str:
    """What comes of a turn, whatever ended it."""
    return (await listen(turn)).text


async def complete(turn: AsyncGenerator[Event, None], member: Member) -> None:
    """A turn of an agent: its answer is the agent's; a turn that was cut off is an error."""
    heard = await listen(turn)
    member.answer = heard.text
    if heard.why == OUT_OF_REQUESTS:
        raise InputError("it reached its limit of requests")


async def see_through(session: Working, seat: Seat, hired: Callable[[], bool]) -> str | None:
    """Stay until whoever was hired has ended; what is said to their answers, if anything is."""
    said = None
    while hired() or seat.has_mail:
        await seat.mail_arrives()
        said = await answer(session.attend())
    return said


async def serve(session: Working, seat: Seat, member: Member, report: Report) -> None:
    """Do the task, report, and go on whenever somebody writes, until it agrees to leave."""
    await complete(session.run(member.brief.task), member)
    while not seat.leaving:
        await report(seat, member)
        member.reported = True
        await seat.mail_arrives()
        await complete(session.attend(), member)
    seat.settle()
