"""Google ADK with memory: a memory service over Reverie's store.

runner = Runner(app_name="desk", agent=agent, session_service=…, memory_service=ReverieMemoryService())
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from reverie.adapters.bridge import missing
from reverie.api.memory import Memory
from reverie.errors import InputError

try:
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", "ReverieMemoryService") from error

if TYPE_CHECKING:
    from os import PathLike

    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from reverie.api.location import Overrides

# How many users' memories stay open, and for how many sessions the read events are remembered.
MOST_OPEN = 64
MOST_SESSIONS = 1_024
FOUND = 5


class MemoryOptions(TypedDict, total=False):
    """Where memory is, as for `reverie.Memory`."""

    project: str | PathLike[str] | None
    home: str | PathLike[str] | None
    settings: Overrides | None


class ReverieMemoryService(BaseMemoryService):
    """For `Runner(memory_service=…)`; each user of each app has a memory of their own.

    Sessions that are added are searched for what will matter later; `load_memory` and
    `preload_memory`, ADK's own tools, find it again.
    """

    def __init__(self, **options: Unpack[MemoryOptions]) -> None:
        self._options = options
        self._open: OrderedDict[str, Memory] = OrderedDict()
        # How many events of a session were read: a session may be added again after each turn.
        self._read: OrderedDict[str, int] = OrderedDict()
        self._lock = asyncio.Lock()

    async def add_session_to_memory(self, session: Session) -> None:
        """Learn from what is new in a session."""
        key = f"{session.app_name}/{session.user_id}/{session.id}"
        async with self._lock:
            events = session.events[self._read.get(key, 0) :]
            self._read[key] = len(session.events)
            self._read.move_to_end(key)
            while len(self._read) > MOST_SESSIONS:
                self._read.popitem(last=False)
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=events
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Learn from these events."""
        said = [
            {"role": "user" if event.author == "user" else "assistant", "content": text}
            for event in events
            if (text := _text(event.content))
        ]
        if said:
            memory = await self._memory(app_name, user_id)
            await asyncio.to_thread(memory.add, said, metadata=_plain(custom_metadata))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Save these as they are, unless they are known."""
        memory = await self._memory(app_name, user_id)
        for entry in memories:
            text = _text(entry.content)
            metadata = {**_plain(custom_metadata), **_plain(entry.custom_metadata)}
            if text:
                await asyncio.to_thread(memory.add, text, metadata=metadata)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The memories of this user that fit."""
        memory = await self._memory(app_name, user_id)
        return await asyncio.to_thread(_searched, memory, query)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Remove a memory by the id that a search gave; the history keeps it."""
        if memory_id is None:
            raise InputError("memory_id is missing; give the id of an entry that a search returned")
        memory = await self._memory(app_name, user_id)
        await asyncio.to_thread(memory.delete, memory_id)

    def close(self) -> None:
        """Close the search indexes."""
        while self._open:
            self._open.popitem()[1].close()

    async def _memory(self, app_name: str, user_id: str) -> Memory:
        user = f"{app_name}/{user_id}"
        async with self._lock:
            found = self._open.pop(user, None)
            if found is None:
                found = await asyncio.to_thread(lambda: Memory.open(user=user, **self._options))
            self._open[user] = found
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)[1].close()
        return found


def _searched(memory: Memory, query: str) -> SearchMemoryResponse:
    entries = []
    for hit in memory.recall(query, limit=FOUND):
        stored = memory.get(hit.file) if hit.sure else None
        if stored is not None:
            content = types.Content(role="user", parts=[types.Part(text=stored.memory)])
            entries.append(
                MemoryEntry(
                    id=stored.id,
                    content=content,
                    author="memory",
                    timestamp=stored.updated_at or stored.created_at,
                    custom_metadata=dict(stored.metadata),
                )
            )
    return SearchMemoryResponse(memories=entries)


def _text(content: types.Content | None) -> str:
    parts = content.parts if content is not None and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _plain(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    values = (metadata or {}).items()
    return {key: value for key, value in values if isinstance(value, str | int | float | bool)}
