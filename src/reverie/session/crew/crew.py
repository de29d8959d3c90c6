"""The agents of one session: hired within limits, heard, stopped, and all gone when it ends."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from reverie.agent.fork import Task
from reverie.core.agent_mail import Kind, Letter, name_problem
from reverie.errors import InputError, ReverieError
from reverie.events import (
    AgentEnded,
    AgentProgressed,
    AgentStarted,
    Announce,
    CacheBroke,
    CapReached,
    Event,
    LetterSent,
    MoneySpent,
    Replied,
    ToolStarted,
    TroubleNoted,
)
from reverie.layers.teamwork.agent_types import AgentType
from reverie.layers.teamwork.limits import Limits, Standing, out_of_time, over_tokens, refusal
from reverie.layers.teamwork.lines import line_of_calls
from reverie.session.crew.mail import Wire
from reverie.session.crew.members import DONE, LEAD, Brief, Member
from reverie.session.crew.prompts import fork_directive
from reverie.session.crew.quarters import Quarters, Working
from reverie.session.crew.seat import Seat
from reverie.session.crew.serving import answer, see_through, serve
from reverie.session.records import AgentHired, AgentLeft, Record

if TYPE_CHECKING:
    from reverie.ports import Clock

# Agents of a session whose process ended without them.
LOST = "it ended with its session"
FORK_TURNS = 30


def unrecorded(record: Record) -> None:
    return None


@dataclass(slots=True)
class Crew:
    """Shared by every agent of a session in this process, however deep."""

    types: Mapping[str, AgentType]
    quarters: Quarters
    announce: Announce
    clock: Clock
    wire: Wire
    limits: Limits = field(default_factory=Limits)
    record: Callable[[Record], None] = unrecorded
    members: dict[str, Member] = field(default_factory=dict)
    seats: dict[str, Seat] = field(default_factory=dict)
    # Names that were used before this process began.
    taken: frozenset[str] = frozenset()

    # --- who is there ---

    @property
    def running(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members.values() if member.running)

    @property
    def tokens(self) -> int:
        return sum(member.tokens for member in self.members.values())

    def waits_for_somebody(self, name: str) -> bool:
        """Has it hired somebody who will come to an end? A teammate does not, by itself."""
        hired = (member for member in self.running if member.brief.by == name)
        return any(member.brief.how != "teammate" for member in hired)

    def refusal(self, seat: Seat) -> str | None:
        """Why this agent may not hire another one now, in words for its model."""
        return refusal(self.limits, Standing(seat.depth, len(self.running), self.tokens))

    def free_name(self, wanted: str | None, agent_type: str) -> str:
        """The name that was asked for, or one made from the type; raises InputError."""
        used = {*self.members, *self.seats, *self.taken}
        if wanted is None:
            return next(n for i in count(1) if (n := f"{agent_type[:40]}-{i}") not in used)
        if wrong := name_problem(wanted):
            raise InputError(wrong)
        if wanted in used:
            raise InputError(f"there was an agent called {wanted!r} already; choose another name")
        return wanted

    # --- hiring ---

    async def hire(self, seat: Seat, brief: Brief) -> Member:
        """Begin; the agent is at work when this returns."""
        member = Member(brief, self.quarters.transcript(brief), self.clock.now())
        self.members[brief.name] = member
        self.record(
            AgentHired(
                brief.name,
                brief.agent_type.name,
                brief.how,
                brief.summary,
                brief.by,
                member.transcript,
                round(member.began, 3),
            )
        )
        self.announce(AgentStarted(brief.name, brief.agent_type.name, brief.how, brief.summary))
        work = self._watched(member, self._kind_of_work(seat, member))
        member.work = asyncio.create_task(work, name=f"agent {brief.name}")
        # A fork branches off in its first step: before whoever hired it goes on.
        await asyncio.sleep(0)
        return member

    def _kind_of_work(self, seat: Seat, member: Member) -> Callable[[], Awaitable[None]]:
        brief = member.brief
        if brief.how == "fork":
            return partial(self._fork, seat, member)
        if brief.apart:
            return partial(self.quarters.launch, member)
        return partial(self._session, member)

    async def _fork(self, seat: Seat, member: Member) -> None:
        if seat.forks is None:
            raise InputError("there is no model to fork here")
        brief = member.brief
        turns = brief.agent_type.max_turns or FORK_TURNS
        directive = fork_directive(brief.task)
        task = Task(f"agent:{brief.name}", directive, seat.permission, turns)
        done = await seat.forks.run(task)
        member.tokens = done.usage.context
        member.answer = done.reply.text
        if done.cut_short:
            raise InputError(f"it reached its limit of {turns} requests")

    async def _session(self, member: Member) -> None:
        brief = member.brief
        seat = Seat(brief.name, brief.depth, brief.by)
        self.seats[brief.name] = seat
        try:
            async with self.quarters.open(member, seat) as session:
                with session.announce.heard_by(partial(self._hear, member, session)):
                    if brief.how == "teammate":
                        await serve(session, seat, member, self.send_report)
                    else:
                        member.answer = await answer(session.run(brief.task))
                        waits = partial(self.waits_for_somebody, brief.name)
                        later = await see_through(session, seat, waits)
                        member.answer = later or member.answer
        finally:
            del self.seats[brief.name]

    async def _watched(self, member: Member, work: Callable[[], Awaitable[None]]) -> None:
        """However it ends, everybody who must know is told, and nobody it hired stays."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                await work()
            why = DONE
        except TimeoutError:
            why = out_of_time(self.limits)
        except asyncio.CancelledError:
            why = member.stopped_for or "it was stopped"
        except (ReverieError, OSError) as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - nobody awaits it: what is not told here is lost
            why = repr(error)
        await self._end_hired_by(member.name)
        self._left(member, why)

    def _left(self, member: Member, why: str) -> None:
        member.why, member.ended = why, self.clock.now()
        self.record(AgentLeft(member.name, why, member.tokens, round(member.ended, 3)))
        self.announce(AgentEnded(member.name, why, member.tokens))
        employer = self.seats.get(member.brief.by)
        if employer is not None and member.brief.how != "wait":
            kind = "finished" if why == DONE else "ended early"
            employer.receive(self._notice(member, f"{kind}: {member.brief.summary}"[:200]))

    def _notice(self, member: Member, summary: str) -> Letter:
        to = member.brief.by
        return self.letter(member.name, to, member.report, summary)

    def letter(
        self, sender: str, to: str, text: str, summary: str, kind: Kind = "message"
    ) -> Letter:
        return Letter(
            sender, to, text, summary, kind, round(self.clock.now(), 3), secrets.token_hex(8)
        )

    # --- hearing ---

    def _hear(self, member: Member, session: Working, event: Event) -> None:
        match event:
            case Replied(reply):
                member.tokens += reply.usage.context
                if wrong := over_tokens(self.limits, self.tokens):
                    self.stop_soon(member, wrong)
            case ToolStarted():
                line = line_of_calls(session.conversation.messages)
                if line:
                    self.progressed(member, line)
            case MoneySpent() | CapReached() | TroubleNoted() | CacheBroke():
                self.announce(event)
            case _:
                pass

    def heard_from_afar(self, member: Member, tokens: int, line: str) -> None:
        """An agent in another process tells how it gets on: all it used so far, and what it does."""
        member.tokens = max(member.tokens, tokens)
        if line:
            self.progressed(member, line)
        if wrong := over_tokens(self.limits, self.tokens):
            self.stop_soon(member, wrong)

    def progressed(self, member: Member, line: str) -> None:
        if line != member.line:
            member.line = line
            self.announce(AgentProgressed(member.name, line))

    # --- letters ---

    async def send(self, letter: Letter) -> str | None:
        """Deliver by whatever way leads there; the reason when none does."""
        sender = self.seats.get(letter.sender)
        seat = self.seats.get(letter.to)
        if seat is not None:
            seat.receive(letter)
            wrong = None
        elif (member := self.members.get(letter.to)) is not None and not member.hears:
            ended = "a fork, which hears nobody" if member.running else f"gone ({member.why})"
            wrong = f"{letter.to} is {ended}"
        else:
            wrong = _nobody(letter) if sender is None else sender.mail.send(letter)
        if wrong is None:
            self.announce(LetterSent(letter.sender, letter.to, letter.kind, letter.summary))
        return wrong

    async def send_report(self, seat: Seat, member: Member) -> None:
        """What a teammate has to say at the end of a turn goes to whoever hired it."""
        if not member.answer.strip():
            return
        summary = f"waiting, after: {member.brief.summary}"[:200]
        wrong = await self.send(self.letter(seat.name, seat.hired_by, member.answer, summary))
        if wrong is not None:
            member.left_behind = f"Its last report could not be delivered: {wrong}."

    def recipients(self, seat: Seat) -> tuple[str, ...]:
        """Everybody this agent can write to by name."""
        names = {*self.seats, *seat.mail.names()} - {seat.name}
        return tuple(sorted(names))

    # --- ending ---

    def stop_soon(self, member: Member, why: str) -> None:
        """It is told to stop; `stop` also waits until it has."""
        if member.running and member.work is not None and member.stopped_for is None:
            member.stopped_for = why
            member.work.cancel()

    async def stop(self, name: str, why: str) -> None:
        """End an agent and everybody it hired."""
        member = self.members[name]
        self.stop_soon(member, why)
        if member.work is not None:
            await asyncio.wait({member.work})

    async def _end_hired_by(self, name: str) -> None:
        for member in self.running:
            if member.brief.by == name:
                await self.stop(member.name, f"{name}, which had hired it, has ended")

    async def aclose(self) -> None:
        """Nobody stays when the session ends."""
        await self._end_hired_by(LEAD)
        for member in self.running:
            await self.stop(member.name, LOST)


@dataclass(frozen=True, slots=True)
class Place:
    """An agent's place: the crew it belongs to, and its own seat there."""

    crew: Crew
    seat: Seat


def _nobody(letter: Letter) -> str:
    return f"nobody here is called {letter.to!r}"
