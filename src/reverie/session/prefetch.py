"""Recall beside the turn: started with the person's message, ready before or at a boundary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

from reverie.agent.tools import Workplace
from reverie.conversation.conversation import Conversation
from reverie.core.messages import Message
from reverie.events import Announce, MemoriesLate, TroubleNoted
from reverie.recall.attachment import Surfaced
from reverie.recall.pipeline import Recall, RecallOutcome

Late: TypeAlias = Literal["inject", "drop"]


class Recaller(Protocol):
    """Finds the memories that fit a message."""

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = ...,
        seen: frozenset[str] = ...,
        tools: Sequence[str] = ...,
    ) -> RecallOutcome: ...

    def replied(self, reply: str) -> None:
        """A reply came: some of what was found may have helped."""
        ...


class Prefetch:
    """One message's recall. Leaving the `with` block cancels what is not done, on every path."""

    def __init__(
        self,
        recall: Recaller | None,
        message: Message,
        announce: Announce,
        *,
        enabled: bool,
        late: Late = "inject",
        tools: Sequence[str] = (),
    ) -> None:
        self._announce = announce
        self._late = late
        self._task: asyncio.Task[RecallOutcome] | None = None
        if recall is not None and enabled:
            work = recall.recollect(message, tools=tools)
            self._task = asyncio.create_task(work, name="recall")

    async def ready(self, seconds: float | None) -> RecallOutcome | None:
        """What was found, if it is found within so long; it is given once, and a miss is told."""
        if self._task is None:
            return None
        await asyncio.wait({self._task}, timeout=seconds)
        if self._task.done():
            return self._take()
        self._announce(MemoriesLate(seconds or 0.0))
        return None

    def at_boundary(self) -> RecallOutcome | None:
        """A late answer, at the end of a tool round or turn: taken now, or dropped, by setting."""
        if self._task is None:
            return None
        if self._late == "drop":
            self._task.cancel()
            self._task = None
            return None
        return self._take() if self._task.done() else None

    def __enter__(self) -> Prefetch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()

    def _take(self) -> RecallOutcome | None:
        task, self._task = self._task, None
        if task is None or task.cancelled():
            return None
        error = task.exception()
        if error is not None:
            self._announce(TroubleNoted("recall", f"{error!r}; going on without memories"))
            return None
        return task.result()


@dataclass(frozen=True, slots=True)
class SessionRecall:
    """What was shown already, or read by the agent itself, is not found again."""

    recall: Recall
    conversation: Conversation
    workplace: Workplace
    # The name of the memory that lies at a path, if one does.
    label_of: Callable[[Path], str | None]

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = True,
        seen: frozenset[str] = frozenset(),
        tools: Sequence[str] = (),
    ) -> RecallOutcome:
        shown = self.conversation.state.memories_shown
        files = {file for record in shown for file in record.files}
        self.recall.surfaced = Surfaced(files, sum(record.bytes for record in shown))
        read = seen | self._read_by_the_agent()
        return await self.recall.recollect(message, enabled=enabled, seen=read, tools=tools)

    def _read_by_the_agent(self) -> frozenset[str]:
        """Memories it has opened with its own tools: it knows what they say."""
        return frozenset(filter(None, map(self.label_of, self.workplace.reads.recent())))

    def replied(self, reply: str) -> None:
        """Count what the reply made use of; what was said before the memories proves nothing."""
        last = (m.text for m in reversed(self.conversation.state.messages) if m.origin == "user")
        self.recall.replied(reply, next(last, ""))
