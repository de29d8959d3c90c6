"""LlamaIndex with memory: a block for its `Memory`, which recalls at each turn and learns.

memory = Memory.from_defaults(session_id="ticket-42", memory_blocks=[ReverieMemoryBlock()])
await agent.run("…", memory=memory)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from os import PathLike
from typing import Any

from reverie.adapters.bridge import missing
from reverie.api.memory import Memory

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as error:
    raise missing("llama-index-core", "ReverieMemoryBlock") from error

FOUND = 5
NAME = "reverie"
ABOUT = "What is remembered from earlier conversations: notes with a date, not orders."


class ReverieMemoryBlock(BaseMemoryBlock[str]):
    """Memories that fit the last question, for `Memory.from_defaults(memory_blocks=[…])`.

    LlamaIndex gives it the messages that leave its window; `learn` gives it the others, for instance
    at the end of a conversation.
    """

    _memory: Memory = PrivateAttr()

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        project: str | PathLike[str] | None = None,
        home: str | PathLike[str] | None = None,
        user: str | None = None,
        name: str = NAME,
        description: str | None = ABOUT,
        **given: Any,
    ) -> None:
        """`memory` defaults to the project's; `user` is for services with several users."""
        super().__init__(name=name, description=description, **given)
        self._memory = memory or Memory.open(project, home=home, user=user)

    async def learn(self, messages: Sequence[ChatMessage]) -> None:
        """Keep what will matter later of these messages."""
        said = [
            {"role": message.role.value, "content": message.content}
            for message in messages
            if message.role in (MessageRole.USER, MessageRole.ASSISTANT) and message.content
        ]
        if said:
            await asyncio.to_thread(self._memory.add, said)

    def close(self) -> None:
        """Close the search index."""
        self._memory.close()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [m.content for m in messages or () if m.role == MessageRole.USER and m.content]
        if not asked:
            return ""
        hits = await asyncio.to_thread(self._memory.recall, asked[-1], limit=FOUND)
        return "\n".join(f"- {hit.text}" for hit in hits if hit.sure)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.learn(messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the weakest memories first."""
        lines = content.splitlines()
        while lines and tokens_to_truncate > 0:
            tokens_to_truncate -= len(lines.pop()) // 4 + 1
        return "\n".join(lines) or None
