"""An agent as its crew sees it: its rights, its unread letters, and how its turns are run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from reverie.agent.fork import OUT_OF_REQUESTS, calls_of
from reverie.agent.permissions import Call, Decision, Mode, Permission, nothing
from reverie.agent.processes import Broadcast
from reverie.conversation.conversation import Conversation
from reverie.core.messages import Attachment, Block
from reverie.errors import InputError
from reverie.events import Event, Replied, TurnEnded
from reverie.subagents.letters import Letter, letter_ids, no_such_agent, render_letters
from reverie.subagents.members import Brief, Member
from reverie.subagents.types import AgentType

if TYPE_CHECKING:
    from reverie.agent.fork import Forks


class Mail:
    """Letters from and to other processes of the team. The default is for a team within this process."""

    # Whether other processes may write: then it is polled.
    polled = False

    def names(self) -> tuple[str, ...]:
        return ()

    def send(self, letter: Letter) -> str | None:
        """Send a letter; the reason when it is refused."""
        return no_such_agent(letter.to)

    def waiting(self) -> bool:
        """Whether there are letters to take."""
        return False

    def take(self, room: int) -> Sequence[Letter]:
        """The next letters, about `room` characters; those not acknowledged come again."""
        return ()

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        return None


class Wire(Protocol):
    """Letters to other sessions: `uds:PATH`, `bridge:ID`."""

    async def send(self, address: str, letter: Letter) -> str | None: ...


LETTERS = "letters"
# How often a mailbox that other processes write to is polled.
LOOK_SECONDS = 0.25
# Letters are shown in portions, so that they do not fill a window at once.
MOST_CHARACTERS = 64_000
MOST_UNREAD = 200


@dataclass(slots=True)
class Approval:
    """An agent's plan, which its parent must approve before the agent may change anything."""

    by: str
    asked: str | None = None
    given: bool = False

    def receive(self, letter: Letter) -> None:
        """Take the parent's answer to our own request; other letters do not count."""
        answers = letter.kind == "plan_approval_response" and letter.reply_to == self.asked
        if answers and letter.sender == self.by and self.asked is not None:
            self.given = bool(letter.agreed)

    def first(self, planning: Permission, afterwards: Permission) -> Permission:
        """The permission for planning until the plan is approved, then the other one."""

        def decide(call: Call) -> Decision:
            return (afterwards if self.given else planning)(call)

        return decide


@dataclass(slots=True)
class AgentIdentity:
    """An agent in this process: its name, its rights (which its sub-agents inherit), and its letters.

    Conversation, forks and permission are set once the session is built.
    """

    name: str
    depth: int
    parent: str
    mode: Mode
    folder: str
    agent_type: AgentType | None = None
    model: str | None = None
    # Whether it may ask the person for permission.
    asks: bool = True
    mail: Mail = field(default_factory=Mail)
    approval: Approval | None = None
    conversation: Conversation | None = None
    forks: Forks | None = None
    permission: Permission = nothing
    # Whether it has agreed to shut down, and ends after this step.
    leaving: bool = False
    _letters: list[Letter] = field(default_factory=list)
    # Taken from the mail and shown, not acknowledged yet.
    _shown: list[Letter] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def may(self) -> Mode:
        """The mode that its sub-agents get."""
        return self.mode if self.approval is None or self.approval.given else "plan"

    def receive(self, letter: Letter) -> str | None:
        """Queue a letter from this process; the agent sees it after its current tools."""
        if len(self._letters) >= MOST_UNREAD:
            return f"{self.name} has {MOST_UNREAD} unread letters already; wait until it reads them"
        self._letters.append(letter)
        self._arrived.set()
        return None

    def take_unread(self) -> tuple[Letter, ...]:
        """Remove and return the unread letters."""
        unread, self._letters = tuple(self._letters), []
        return unread

    @property
    def has_mail(self) -> bool:
        return bool(self._letters) or self.mail.waiting()

    async def mail_arrives(self) -> None:
        """Wait until there is a letter."""
        seconds = LOOK_SECONDS if self.mail.polled else None
        while not self.has_mail:
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._arrived.wait()

    def new_letters(self) -> Attachment | None:
        """The letters that came since the last call, as one attachment."""
        self.acknowledge()
        letters = self._portion()
        room = MOST_CHARACTERS - sum(len(letter.text) for letter in letters)
        letters += self._from_outside(room) if room > 0 else ()
        if not letters:
            return None
        for letter in letters:
            if self.approval is not None:
                self.approval.receive(letter)
        return Attachment(LETTERS, render_letters(letters))

    def acknowledge(self) -> None:
        """Acknowledge the letters shown last, which are now in the transcript."""
        self.mail.acknowledge(self._shown)
        self._shown = []

    def _portion(self) -> list[Letter]:
        portion: list[Letter] = []
        room = MOST_CHARACTERS
        while self._letters and (not portion or len(self._letters[0].text) <= room):
            portion.append(self._letters.pop(0))
            room -= len(portion[-1].text)
        return portion

    def _from_outside(self, room: int) -> Iterator[Letter]:
        """Letters by mail, without those that were shown before a crash."""
        taken = self.mail.take(room)
        self._shown = list(taken)
        known = self._shown_before() if taken else frozenset()
        return (letter for letter in taken if letter.id not in known)

    def _shown_before(self) -> frozenset[str]:
        if self.conversation is None:
            return frozenset()
        blocks = (block for message in self.conversation.state.messages for block in message.blocks)
        texts = (b.text for b in blocks if isinstance(b, Attachment) and b.label == LETTERS)
        return frozenset().union(*(letter_ids(text) for text in texts))


class AgentSession(Protocol):
    """The part of a session that a crew uses."""

    @property
    def conversation(self) -> Conversation: ...

    @property
    def announce(self) -> Broadcast: ...

    def run(self, prompt: str, *blocks: Block) -> AsyncGenerator[Event, None]: ...

    def run_mail(self) -> AsyncGenerator[Event, None]: ...


class AgentHost(Protocol):
    """Opens and runs sub-agents."""

    def transcript(self, brief: Brief) -> str:
        """The path of the agent's own transcript."""

    def open(
        self, member: Member, identity: AgentIdentity
    ) -> AbstractAsyncContextManager[AgentSession]:
        """A session for an agent in this process."""

    async def launch(self, member: Member) -> None:
        """Run an agent in its own process until it ends; cancelling ends it."""


Report = Callable[[AgentIdentity, Member], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The text after the last tool call of a turn, and why the turn ended."""

    text: str
    why: str


async def turn_result(turn: AsyncGenerator[Event, None]) -> TurnResult:
    """Run a turn to its end."""
    text = why = ""
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, Replied):
                text = "" if calls_of(event.reply) else text + event.reply.text
            if isinstance(event, TurnEnded):
                why = event.why
    return TurnResult(text, why)


async def answer(turn: AsyncGenerator[Event, None]) -> str:
    """Run a turn and return its answer, however it ended."""
    return (await turn_result(turn)).text


async def complete(turn: AsyncGenerator[Event, None], member: Member) -> None:
    """Run a turn of a sub-agent and keep its answer; InputError when the turn was cut off."""
    result = await turn_result(turn)
    member.answer = result.text
    if result.why == OUT_OF_REQUESTS:
        raise InputError("it reached its limit of requests")


async def run_until_reported(
    session: AgentSession, identity: AgentIdentity, busy: Callable[[], bool]
) -> str | None:
    """Run turns until no sub-agent is left to report; the last answer, if there was a turn."""
    last = None
    while busy() or identity.has_mail:
        await identity.mail_arrives()
        last = await answer(session.run_mail())
    return last


async def serve(
    session: AgentSession, identity: AgentIdentity, member: Member, report: Report
) -> None:
    """Run a teammate: do the task and report, then a turn for each letter, until it shuts down."""
    await complete(session.run(member.brief.task), member)
    while not identity.leaving:
        await report(identity, member)
        member.reported = True
        await identity.mail_arrives()
        await complete(session.run_mail(), member)
    identity.acknowledge()
