"""The sub-agents of one session: started within limits, watched, sent letters, and stopped."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from reverie import events
from reverie.agent.fork import Task
from reverie.conversation.records import AgentHired, AgentLeft, Record
from reverie.errors import InputError, ReverieError
from reverie.subagents.identity import (
    AgentHost,
    AgentIdentity,
    AgentSession,
    Wire,
    complete,
    run_until_reported,
    serve,
)
from reverie.subagents.letters import (
    LEAD,
    LONGEST_SUMMARY,
    Kind,
    Letter,
    name_problem,
    no_such_agent,
)
from reverie.subagents.members import (
    DONE,
    Brief,
    CrewUsage,
    Limits,
    Member,
    fork_directive,
    out_of_time,
    over_tokens,
    refusal,
)
from reverie.subagents.progress_lines import line_of_calls
from reverie.subagents.types import AgentType

if TYPE_CHECKING:
    from reverie.ports import Clock, Scrubber

# Why an agent ended when its session's process did not end properly.
LOST = "it ended with its session"
STOPPED = "it was stopped"
CLOSED = "the session was closed"
FORK_TURNS = 30
LONGEST_REPORT = 200_000


def unrecorded(record: Record) -> None:
    return None


@dataclass(slots=True)
class Crew:
    """All agents of a session in this process, at every depth.

    `members` are the agents hired so far; `identities` are the agents that run in this process.
    """

    types: Mapping[str, AgentType]
    host: AgentHost
    announce: events.Announce
    clock: Clock
    wire: Wire
    limits: Limits = field(default_factory=Limits)
    record: Callable[[Record], None] = unrecorded
    members: dict[str, Member] = field(default_factory=dict)
    identities: dict[str, AgentIdentity] = field(default_factory=dict)
    # Names that were used before this process began.
    taken: frozenset[str] = frozenset()
    # Prefix of generated names, so that two processes do not generate the same one.
    prefix: str = ""
    scrubber: Scrubber | None = None

    # --- members ---

    @property
    def running(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members.values() if member.running)

    @property
    def tokens(self) -> int:
        return sum(member.tokens for member in self.members.values())

    def children_of(self, name: str) -> tuple[Member, ...]:
        return tuple(member for member in self.running if member.brief.by == name)

    def awaits_reports(self, name: str) -> bool:
        """Whether a sub-agent of this agent will still report; an idle teammate will not."""
        return any(m.brief.how != "teammate" or not m.reported for m in self.children_of(name))

    def refusal(self, identity: AgentIdentity) -> str | None:
        """Why this agent may not hire another one now, for its model; None when it may."""
        return refusal(self.limits, CrewUsage(identity.depth, len(self.running), self.tokens))

    def free_name(self, identity: AgentIdentity, wanted: str | None, agent_type: str) -> str:
        """The requested name, or one generated from the type; InputError when it cannot be used."""
        used = {
            LEAD,
            identity.parent,
            *self.members,
            *self.identities,
            *self.taken,
            *identity.mail.names(),
        }
        if wanted is None:
            kind = f"{self.prefix}{agent_type}"[:40]
            return next(name for i in count(1) if (name := f"{kind}-{i}") not in used)
        if wrong := name_problem(wanted):
            raise InputError(wrong)
        if wanted in used:
            raise InputError(f"there is or was an agent called {wanted!r}; choose another name")
        return wanted

    # --- hiring ---

    async def hire(self, identity: AgentIdentity, brief: Brief) -> Member:
        """Start a sub-agent; it is running when this returns."""
        member = Member(brief, self.host.transcript(brief), self.clock.now())
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
        self.announce(
            events.AgentStarted(brief.name, brief.agent_type.name, brief.how, brief.summary)
        )
        work = self._watched(member, self._kind_of_work(identity, member))
        member.work = asyncio.create_task(work, name=f"agent {brief.name}")
        member.work.add_done_callback(lambda _: self._left(member, member.stopped_for or STOPPED))
        try:
            # A fork branches off in its first step: run that before its parent continues.
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.stop_soon(member, "the agent that hired it was interrupted")
            raise
        return member

    def _kind_of_work(
        self, identity: AgentIdentity, member: Member
    ) -> Callable[[], Awaitable[None]]:
        brief = member.brief
        if brief.how == "fork":
            return partial(self._fork, identity, member)
        if brief.apart:
            return partial(self.host.launch, member)
        return partial(self._session, member)

    async def _fork(self, identity: AgentIdentity, member: Member) -> None:
        if identity.forks is None:
            raise InputError("there is no model to fork here")
        brief = member.brief
        turns = min(brief.agent_type.max_turns or FORK_TURNS, FORK_TURNS)
        directive = fork_directive(brief.task)
        task = Task(f"agent:{brief.name}", directive, identity.permission, turns, hooked=True)
        done = await identity.forks.run(task, partial(self._count, member))
        member.answer = done.reply.text
        if done.cut_short:
            raise InputError(f"it reached its limit of {turns} requests")

    async def _session(self, member: Member) -> None:
        brief = member.brief
        identity = AgentIdentity(
            brief.name,
            brief.depth,
            brief.by,
            brief.mode,
            brief.folder,
            brief.agent_type,
            brief.model,
            brief.asks,
        )
        self.identities[brief.name] = identity
        try:
            async with self.host.open(member, identity) as session:
                with session.announce.subscribed(partial(self._on_event, member, session)):
                    await self._serve(member, identity, session)
                self._close_mailbox(identity)
        finally:
            self._close_mailbox(identity)

    async def _serve(self, member: Member, identity: AgentIdentity, session: AgentSession) -> None:
        if member.brief.how == "teammate":
            await serve(session, identity, member, self.send_report)
            return
        await complete(session.run(member.brief.task), member)
        later = await run_until_reported(
            session, identity, partial(self.awaits_reports, identity.name)
        )
        member.answer = later or member.answer

    def _close_mailbox(self, identity: AgentIdentity) -> None:
        """Remove an agent that ended, and tell the senders of its unread letters."""
        self.identities.pop(identity.name, None)
        for letter in identity.take_unread():
            sender = self.identities.get(letter.sender)
            if sender is not None and letter.kind == "message":
                lost = f"{identity.name} ended before it read: {letter.summary}"[:200]
                sender.receive(self.letter(identity.name, letter.sender, lost, lost))

    async def _watched(self, member: Member, work: Callable[[], Awaitable[None]]) -> None:
        """Run an agent; when it ends, stop its sub-agents and report the outcome."""
        why = await self._outcome(member, work)
        # An agent that is ending must not be stopped meanwhile.
        member.stopped_for = member.stopped_for or why
        await _uninterrupted(
            self.stop_children_of(member.name, f"{member.name}, which had hired it, has ended")
        )
        self._left(member, why)

    async def _outcome(self, member: Member, work: Callable[[], Awaitable[None]]) -> str:
        limit = asyncio.timeout(self.limits.seconds)
        try:
            async with limit:
                await work()
        except asyncio.CancelledError:
            return member.stopped_for or STOPPED
        except (ReverieError, OSError) as error:
            # TimeoutError is an OSError, whether the limit or the work itself raised it.
            return out_of_time(self.limits) if limit.expired() else str(error)
        except Exception as error:  # noqa: BLE001 - the task is not awaited: the error would be lost
            return repr(error)
        return DONE

    def _left(self, member: Member, why: str) -> None:
        """Report an agent's end once: to its parent, as an event, in the journal."""
        if member.why is not None:
            return
        member.ended = self.clock.now()
        parent = self.identities.get(member.brief.by)
        if parent is not None and member.brief.how != "wait":
            kind = "finished" if why == DONE else "ended early"
            summary = f"{kind}: {member.brief.summary}"[:200]
            text = member.report_of(why)[:LONGEST_REPORT]
            parent.receive(self.letter(member.name, member.brief.by, text, summary))
        member.why = why
        self.announce(events.AgentEnded(member.name, why, member.tokens))
        try:
            self.record(AgentLeft(member.name, why, member.tokens, round(member.ended, 3)))
        except (ReverieError, OSError) as error:
            self.announce(events.TroubleNoted("agents", f"not recorded in the transcript: {error}"))

    def letter(
        self, sender: str, to: str, text: str, summary: str, kind: Kind = "message"
    ) -> Letter:
        """A new letter, without secrets, as it is stored in mailboxes and transcripts."""
        at, id_ = round(self.clock.now(), 3), secrets.token_hex(8)
        if self.scrubber is not None:
            text, summary = (self.scrubber.scrub(part).text for part in (text, summary))
        return Letter(sender, to, text, summary[:LONGEST_SUMMARY], kind, at, id_)

    # --- progress ---

    def _on_event(self, member: Member, session: AgentSession, event: events.Event) -> None:
        match event:
            case events.Replied():
                self._count(member, event)
            case events.ToolStarted():
                line = line_of_calls(session.conversation.messages)
                if line:
                    self.progressed(member, line)
            case (
                events.MoneySpent()
                | events.CapReached()
                | events.TroubleNoted()
                | events.CacheBroke()
            ):
                self.announce(event)
            case _:
                pass

    def _count(self, member: Member, event: events.Event) -> None:
        if isinstance(event, events.Replied):
            self._used(member, member.tokens + event.reply.usage.context)

    def _used(self, member: Member, tokens: int) -> None:
        member.tokens = tokens
        if wrong := over_tokens(self.limits, self.tokens):
            self.stop_soon(member, wrong)

    def remote_progress(self, member: Member, tokens: int, line: str) -> None:
        """Progress of an agent in another process: the tokens it has used, and what it is doing."""
        self._used(member, max(member.tokens, tokens))
        if line:
            self.progressed(member, line)

    def progressed(self, member: Member, line: str) -> None:
        if line != member.line:
            member.line = line
            self.announce(events.AgentProgressed(member.name, line))

    # --- letters ---

    async def send(self, letter: Letter) -> str | None:
        """Deliver a letter, in this process or by mail; the reason when that is not possible."""
        sender = self.identities.get(letter.sender)
        identity = self.identities.get(letter.to)
        member = self.members.get(letter.to)
        if identity is not None:
            wrong = identity.receive(letter)
        elif member is not None and not (member.reachable and member.brief.apart):
            ended = "a fork, which gets no letters" if member.running else f"gone ({member.why})"
            wrong = f"{letter.to} is {'about to end' if member.reachable else ended}"
        elif letter.to in self.taken:
            wrong = f"{letter.to} is gone: {LOST}"
        else:
            wrong = no_such_agent(letter.to) if sender is None else sender.mail.send(letter)
        if wrong is None:
            self.announce(events.LetterSent(letter.sender, letter.to, letter.kind, letter.summary))
        return wrong

    async def send_report(self, identity: AgentIdentity, member: Member) -> None:
        """Send a teammate's answer at the end of a turn to its parent."""
        if not member.answer.strip():
            return
        summary = f"waiting, after: {member.brief.summary}"[:200]
        text = member.answer[:LONGEST_REPORT]
        wrong = await self.send(self.letter(identity.name, identity.parent, text, summary))
        if wrong is not None:
            member.left_behind = f"Its last report could not be delivered: {wrong}."

    def recipients(self, identity: AgentIdentity) -> tuple[str, ...]:
        """The names that this agent can write to."""
        names = {*self.identities, *identity.mail.names()} - {identity.name}
        return tuple(sorted(names))

    # --- ending ---

    def stop_soon(self, member: Member, why: str) -> None:
        """Cancel an agent without waiting for it; `stop` also waits."""
        if member.running and member.work is not None and member.stopped_for is None:
            member.stopped_for = why
            member.work.cancel()

    async def stop(self, name: str, why: str) -> None:
        """Stop an agent and its sub-agents."""
        await self._stop([self.members[name]], why)

    async def stop_children_of(self, name: str, why: str) -> None:
        await self._stop(self.children_of(name), why)

    async def _stop(self, members: Iterable[Member], why: str) -> None:
        """Cancel all members first, then wait for them."""
        chosen = list(members)
        for member in chosen:
            self.stop_soon(member, why)
        if works := {member.work for member in chosen if member.work is not None}:
            await asyncio.wait(works)

    async def aclose(self) -> None:
        """Stop all agents at the end of the session."""
        await _uninterrupted(self._stop(self.running, CLOSED))


async def _uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Finish this work even when the waiting is cancelled."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


@dataclass(frozen=True, slots=True)
class Place:
    """An agent's place in a crew: the crew, and the agent's own identity."""

    crew: Crew
    identity: AgentIdentity
