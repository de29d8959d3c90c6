"""What a crew needs from outside: somewhere for agents to work."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from reverie.core.messages import Block
from reverie.events import Event
from reverie.session.broadcast import Broadcast
from reverie.session.conversation import Conversation
from reverie.session.crew.members import Brief, Member
from reverie.session.crew.seat import Seat


class Working(Protocol):
    """A session, as far as a crew cares."""

    @property
    def conversation(self) -> Conversation: ...

    @property
    def announce(self) -> Broadcast: ...

    def run(self, prompt: str, *blocks: Block) -> AsyncGenerator[Event, None]: ...

    def attend(self) -> AsyncGenerator[Event, None]: ...


class Quarters(Protocol):
    """Where agents work."""

    def transcript(self, brief: Brief) -> str:
        """Where the agent's own conversation will be written."""
        ...

    def open(self, member: Member, seat: Seat) -> AbstractAsyncContextManager[Working]:
        """A session for an agent in this process."""
        ...

    async def launch(self, member: Member) -> None:
        """Run an agent in a process of its own, until it ends; cancelling ends it."""
        ...
