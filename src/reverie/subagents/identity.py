"""Ways for letters to leave the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from reverie.agent.background import Broadcast
from reverie.agent.permissions import Call, Decision, Mode, Permission, nothing
from reverie.agent.turns import OUT_OF_REQUESTS, calls_of
from reverie.conversation.conversation import Conversation
from reverie.core.messages import Attachment, Block
from reverie.errors import InputError
from reverie.events import Event, Replied, TurnEnded
from reverie.subagents.letters import Letter, letter_ids, render_letters
from reverie.subagents.members import Brief, Member
from reverie.subagents.types import AgentType

if TYPE_CHECKING:
    from reverie.agent.fork import Forks


class Mail(Protocol):
    """Letters from and to other processes of the team; a reason where one is refused."""

    def names(self) -> tuple[str, ...]: ...

    def send(self, letter: Letter) -> str | None: ...

    def waiting(self) -> bool:
        """Is there something to take?"""
        ...

    def take(self, room: int) -> Sequence[Letter]:
        """What came for us, in order, of about so many characters; it comes again unless acknowledged."""
        ...

    def acknowledge(self, letters: Sequence[Letter]) -> None: ...


class Wire(Protocol):
    """Letters to other sessions: `uds:PATH`, `bridge:ID`."""

    async def send(self, address: str, letter: Letter) -> str | None: ...


class NoMail:
    """Where there is nobody outside."""

    def names(self) -> tuple[str, ...]:
        return ()

    def send(self, letter: Letter) -> str | None:
        return f"nobody here is called {letter.to!r}"

    def waiting(self) -> bool:
        return False

    def take(self, room: int) -> Sequence[Letter]:
        return ()

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        return None


LETTERS = "letters"
# How often a box is looked into that another process writes to.
LOOK_SECONDS = 0.25
# What waits is told in portions: letters must not fill a window at once.
MOST_CHARACTERS = 64_000
MOST_UNREAD = 200


@dataclass(slots=True)
class Approval:
    """A plan must be approved by whoever hired this agent before it may change anything."""

    by: str
    asked: str | None = None
    given: bool = False

    def hear(self, letter: Letter) -> None:
        """Only the answer to our own question, by the right agent, counts."""
        answers = letter.kind == "plan_approval_response" and letter.reply_to == self.asked
        if answers and letter.sender == self.by and self.asked is not None:
            self.given = bool(letter.agreed)

    def first(self, planning: Permission, afterwards: Permission) -> Permission:
        """Plan until approved; then do."""

        def decide(call: Call) -> Decision:
            return (afterwards if self.given else planning)(call)

        return decide


@dataclass(slots=True)
class AgentIdentity:
    """Whom it is, what it may do and therefore give to others, and its letters.

    Conversation, forks and permission are set once the session was put together.
    """

    name: str
    depth: int
    parent: str
    mode: Mode
    folder: str
    agent_type: AgentType | None = None
    model: str | None = None
    # Can the person be asked for it?
    asks: bool = True
    mail: Mail = field(default_factory=NoMail)
    approval: Approval | None = None
    conversation: Conversation | None = None
    forks: Forks | None = None
    permission: Permission = nothing
    # It has agreed to end: it finishes the step, and is gone.
    leaving: bool = False
    _letters: list[Letter] = field(default_factory=list)
    _told: list[Letter] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def may(self) -> Mode:
        """What whom it hires may do at most."""
        return self.mode if self.approval is None or self.approval.given else "plan"

    def receive(self, letter: Letter) -> str | None:
        """A letter from this process; it is told at the next boundary between tools."""
        if len(self._letters) >= MOST_UNREAD:
            return f"{self.name} has {MOST_UNREAD} unread letters already; wait until it reads them"
        self._letters.append(letter)
        self._arrived.set()
        return None

    def take_unread(self) -> tuple[Letter, ...]:
        """Nobody will read any more: what was not read, to be given back."""
        left, self._letters = tuple(self._letters), []
        return left

    @property
    def has_mail(self) -> bool:
        return bool(self._letters) or self.mail.waiting()

    async def mail_arrives(self) -> None:
        """Wait until somebody has written."""
        look = None if isinstance(self.mail, NoMail) else LOOK_SECONDS
        while not self.has_mail:
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(look):
                    await self._arrived.wait()

    def new_letters(self) -> Attachment | None:
        """Everything that came since the last time, as one piece of text."""
        self.settle()
        letters = self._portion()
        room = MOST_CHARACTERS - sum(len(letter.text) for letter in letters)
        letters += self._from_outside(room) if room > 0 else ()
        if not letters:
            return None
        for letter in letters:
            if self.approval is not None:
                self.approval.hear(letter)
        return Attachment(LETTERS, render_letters(letters))

    def settle(self) -> None:
        """What was told is in the transcript by now: it need not come again."""
        self.mail.acknowledge(self._told)
        self._told = []

    def _portion(self) -> list[Letter]:
        portion: list[Letter] = []
        room = MOST_CHARACTERS
        while self._letters and (not portion or len(self._letters[0].text) <= room):
            portion.append(self._letters.pop(0))
            room -= len(portion[-1].text)
        return portion

    def _from_outside(self, room: int) -> Iterator[Letter]:
        """What was told before a crash and comes again is not told twice."""
        taken = self.mail.take(room)
        self._told = list(taken)
        known = self._known() if taken else frozenset()
        return (letter for letter in taken if letter.id not in known)

    def _known(self) -> frozenset[str]:
        if self.conversation is None:
            return frozenset()
        blocks = (block for message in self.conversation.state.messages for block in message.blocks)
        told = (b.text for b in blocks if isinstance(b, Attachment) and b.label == LETTERS)
        return frozenset().union(*(letter_ids(text) for text in told))


class AgentSession(Protocol):
    """A session, as far as a crew cares."""

    @property
    def conversation(self) -> Conversation: ...

    @property
    def announce(self) -> Broadcast: ...

    def run(self, prompt: str, *blocks: Block) -> AsyncGenerator[Event, None]: ...

    def attend(self) -> AsyncGenerator[Event, None]: ...


class AgentHost(Protocol):
    """Where agents work."""

    def transcript(self, brief: Brief) -> str:
        """Where the agent's own conversation will be written."""
        ...

    def open(
        self, member: Member, identity: AgentIdentity
    ) -> AbstractAsyncContextManager[AgentSession]:
        """A session for an agent in this process."""
        ...

    async def launch(self, member: Member) -> None:
        """Run an agent in a process of its own, until it ends; cancelling ends it."""
        ...


Report = Callable[[AgentIdentity, Member], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What was said after the last tool of a turn, and why the turn ended."""

    text: str
    why: str


async def listen(turn: AsyncGenerator[Event, None]) -> TurnResult:
    """To a whole turn."""
    said = why = ""
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, Replied):
                said = "" if calls_of(event.reply) else said + event.reply.text
            if isinstance(event, TurnEnded):
                why = event.why
    return TurnResult(said, why)


async def answer(turn: AsyncGenerator[Event, None]) -> str:
    """What comes of a turn, whatever ended it."""
    return (await listen(turn)).text


async def complete(turn: AsyncGenerator[Event, None], member: Member) -> None:
    """A turn of an agent: its answer is the agent's; a turn that was cut off is an error."""
    heard = await listen(turn)
    member.answer = heard.text
    if heard.why == OUT_OF_REQUESTS:
        raise InputError("it reached its limit of requests")


async def see_through(
    session: AgentSession, identity: AgentIdentity, hired: Callable[[], bool]
) -> str | None:
    """Stay until whoever was hired has ended; what is said to their answers, if anything is."""
    said = None
    while hired() or identity.has_mail:
        await identity.mail_arrives()
        said = await answer(session.attend())
    return said


async def serve(
    session: AgentSession, identity: AgentIdentity, member: Member, report: Report
) -> None:
    """Do the task, report, and go on whenever somebody writes, until it agrees to leave."""
    await complete(session.run(member.brief.task), member)
    while not identity.leaving:
        await report(identity, member)
        member.reported = True
        await identity.mail_arrives()
        await complete(session.attend(), member)
    identity.settle()
