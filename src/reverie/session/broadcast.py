"""One announcement, many listeners: the turn's own stream, the terminal, whoever asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from reverie.events import Announce, Event

log = logging.getLogger(__name__)


class Broadcast:
    """Every part announces here; a listener hears what happens while it listens."""

    def __init__(self) -> None:
        self._listeners: list[Announce] = []

    def __call__(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                # A listener is somebody else's code: it cannot fail the turn it listens to.
                log.exception("a listener failed on %s", type(event).__name__)

    @contextmanager
    def heard_by(self, listener: Announce) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def during(self, work: asyncio.Task[None]) -> AsyncGenerator[Event, None]:
        """The events until `work` is done; its failure is raised here, after its last event."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work.add_done_callback(lambda _: queue.put_nowait(None))
        with self.heard_by(queue.put_nowait):
            while (event := await queue.get()) is not None:
                yield event
        await work
