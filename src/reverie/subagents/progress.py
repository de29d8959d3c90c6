"""Announces from time to time, in one line, what each running sub-agent is doing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from reverie.core.messages import Message
from reverie.errors import ReverieError
from reverie.events import TroubleNoted
from reverie.subagents.crew import Crew
from reverie.subagents.members import Member
from reverie.subagents.progress_lines import cleaned, line_of_calls

EVERY_SECONDS = 30.0

# Asks a model for a line on these messages; the second argument is the previous line.
Describe = Callable[[Sequence[Message], str], Awaitable[str]]


@dataclass(slots=True)
class Watch:
    """Describes running agents that have new messages: by a model, or else by their tool calls."""

    crew: Crew
    describe: Describe
    on: Callable[[], bool] = lambda: True
    every: float = EVERY_SECONDS
    _seen: dict[str, str] = field(default_factory=dict)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self) -> None:
        while not self._stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.every):
                    await self._stopped.wait()
                    return
            await self.look()

    def stop(self) -> None:
        self._stopped.set()

    async def look(self) -> None:
        """Update every agent once, unless it is switched off."""
        for member in self.crew.running if self.on() else ():
            identity = self.crew.identities.get(member.name)
            if (
                identity is None
                or identity.conversation is None
                or not identity.conversation.messages
            ):
                continue
            messages = identity.conversation.messages
            if self._seen.get(member.name) != messages[-1].id:
                self._seen[member.name] = messages[-1].id
                await self._update(member, messages)

    async def _update(self, member: Member, messages: Sequence[Message]) -> None:
        line = None
        try:
            line = cleaned(await self.describe(messages, member.line), member.line)
        except ReverieError as error:
            self.crew.announce(TroubleNoted("agents", f"no line for {member.name}: {error}"))
        line = line or line_of_calls(messages)
        if line:
            self.crew.progressed(member, line)
