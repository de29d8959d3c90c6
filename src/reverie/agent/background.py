"""Background tasks of a session, and the broadcast of its events to listeners."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from reverie.errors import ReverieError
from reverie.events import Announce, Event, TroubleNoted


class Background:
    """Named tasks, one at a time for each name. Failures are announced, never raised."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, Callable[[], None]] = {}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(name for name, task in self._tasks.items() if not task.done())

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Running tasks that cannot be stopped without loss."""
        return tuple(name for name in self.running if name not in self._stops)

    def start(
        self, name: str, work: Coroutine[Any, Any, None], stop: Callable[[], None] | None = None
    ) -> bool:
        """Start work unless a task of that name is running; `stop` ends it early, without loss."""
        if name in self.running:
            work.close()
            return False
        if stop is not None:
            self._stops[name] = stop
        self._tasks[name] = asyncio.create_task(self._watched(name, work), name=name)
        return True

    async def drain(self, seconds: float | None = None) -> None:
        """Wait for running tasks for at most `seconds`, then cancel them."""
        for stop in self._stops.values():
            stop()
        tasks = [task for task in self._tasks.values() if not task.done()]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=seconds)
        finally:
            await self.cancel()

    async def cancel(self, name: str | None = None) -> None:
        tasks = [task for key, task in self._tasks.items() if name in (None, key)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watched(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - the task is not awaited: the error would be lost
            known = isinstance(error, ReverieError | OSError)
            self._announce(TroubleNoted(name, str(error) if known else repr(error)))


log = logging.getLogger(__name__)


class Broadcast:
    """Passes every announced event to the listeners registered at that time."""

    def __init__(self) -> None:
        self._listeners: list[Announce] = []

    def __call__(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                # A listener is foreign code: its failure must not fail the turn.
                log.exception("a listener failed on %s", type(event).__name__)

    @contextmanager
    def subscribed(self, listener: Announce) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def during(self, work: asyncio.Task[None]) -> AsyncGenerator[Event, None]:
        """Yield events until `work` is done; its exception is raised after the last event."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work.add_done_callback(lambda _: queue.put_nowait(None))
        with self.subscribed(queue.put_nowait):
            while (event := await queue.get()) is not None:
                yield event
        await work
