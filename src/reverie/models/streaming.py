"""Convert an SDK's event stream to stream items; both SDKs stream alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from reverie.core.request import Reply, StreamItem
from reverie.models.failures import Call


class Accumulator(Protocol):
    """Turns a provider's events into deltas and, at the end, a complete reply."""

    def feed(self, event: dict[str, Any]) -> list[StreamItem]: ...

    def reply(self) -> Reply: ...


# Default time-outs: between two events, and for connecting.
IDLE_SECONDS = 180.0
CONNECT_SECONDS = 10.0


async def streamed(events: Any, accumulator: Accumulator, call: Call) -> AsyncIterator[StreamItem]:
    """Yield deltas as they arrive, then the reply; always close the connection."""
    try:
        async for event in events:
            call.began = True
            for item in accumulator.feed(event.model_dump(mode="json", warnings=False)):
                yield item
    finally:
        await events.close()
    yield accumulator.reply()
