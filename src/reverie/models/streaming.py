"""An SDK's stream as ours: both SDKs stream the same way, only their events differ."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from reverie.core.request import Reply, StreamItem
from reverie.models.failures import Call


class Accumulator(Protocol):
    """Turns a provider's events into deltas and, at the end, the whole reply."""

    def feed(self, event: dict[str, Any]) -> list[StreamItem]: ...

    def reply(self) -> Reply: ...


# How long a provider may say nothing, and how long a connection may take.
IDLE_SECONDS = 180.0
CONNECT_SECONDS = 10.0


async def streamed(events: Any, accumulator: Accumulator, call: Call) -> AsyncIterator[StreamItem]:
    """Deltas as they come, then the reply; the connection is given back whatever happens."""
    try:
        async for event in events:
            call.began = True
            for item in accumulator.feed(event.model_dump(mode="json", warnings=False)):
                yield item
    finally:
        await events.close()
    yield accumulator.reply()
