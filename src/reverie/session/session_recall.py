"""Recall for one session: it knows from the transcript what was shown, and what the agent has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.tools import Workplace
from reverie.core.messages import Message
from reverie.recall.gate import Surfaced
from reverie.recall.pipeline import Recall, Recollection
from reverie.session.conversation import Conversation


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
    ) -> Recollection:
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
