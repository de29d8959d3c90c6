"""One agent's place in the crew: through it the agent hires, writes, and hears from others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reverie.agent.permissions import Call, Decision, Mode, Permission, nothing
from reverie.core.agent_mail import Letter
from reverie.core.messages import Attachment
from reverie.layers.teamwork.agent_types import AgentType
from reverie.layers.teamwork.letters import render_letters, told_ids
from reverie.session.crew.mail import Mail, NoMail

if TYPE_CHECKING:
    from reverie.session.conversation import Conversation
    from reverie.session.forks import Forks

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
class Seat:
    """Whom it is, what it may do and therefore give to others, and its letters.

    Conversation, forks and permission are set once the session was put together.
    """

    name: str
    depth: int
    hired_by: str
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

    def vacate(self) -> tuple[Letter, ...]:
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

    def news(self) -> Attachment | None:
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
        return frozenset().union(*(told_ids(text) for text in told))
