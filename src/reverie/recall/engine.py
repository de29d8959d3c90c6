"""The recall engines of a process: everything that recalls from one memory shares its index and model.

Opening an index, reading a directory and loading a model take far longer than a search. So the
first caller opens an engine, others lease it, and a few idle ones stay open. Searches run in two
threads, or on an event loop dedicated to them: each further thread would block the caller's event
loop for longer.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from reverie.errors import ReverieError
from reverie.files.locks import ThreadLock
from reverie.recall.index import RecallIndex
from reverie.recall.ranker import IndexRanker, Look

if TYPE_CHECKING:
    from reverie.events import Announce
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Clock, Embedder, WordVectors

T = TypeVar("T")

INDEX = "index.sqlite"
# How many idle engines stay open.
MOST_IDLE = 4
WORKERS = 2
# How many recalls may wait for a thread; further ones raise Busy.
MOST_WAITING = 512

Key: TypeAlias = tuple[object, ...]


class Busy(ReverieError):
    """Raised when too many recalls are waiting."""


@dataclass(slots=True)
class Engine:
    """The index and model of one memory, and its directory as last read."""

    memory: OpenMemory
    index: RecallIndex
    # Kept alive, so that no other object gets its id, which is part of the key.
    embedder: Embedder | None
    look: Look = field(default_factory=Look)
    leases: int = 0

    def ranker(self, clock: Clock, notes: tuple[str, ...], announce: Announce) -> IndexRanker:
        uses = partial(self.memory.use_counts, "used")
        topics, look = self.memory.topics, self.look
        return IndexRanker(self.index, topics, clock, uses, notes, announce, look=look)


class Engines:
    """The engines of this process, least recently used first."""

    def __init__(self) -> None:
        self._open: OrderedDict[Key, Engine] = OrderedDict()
        self._lock = ThreadLock()

    @contextmanager
    def lease(
        self,
        memory: OpenMemory,
        embedder: Embedder | None,
        words: WordVectors | None = None,
        *,
        keep: bool = True,
    ) -> Iterator[Engine]:
        """Lease the engine of a memory; `keep` it open after the last lease, until its place is needed."""
        key = (*((part.scope, part.place) for part in memory.parts), id(embedder))
        with self._lock:
            engine = self._open.get(key) or self._opened(key, memory, embedder, words)
            engine.leases += 1
            self._open.move_to_end(key)
        try:
            yield engine
        finally:
            with self._lock:
                engine.leases -= 1
                if not keep and not engine.leases:
                    self._open.pop(key).index.close()
                self._close_idle(MOST_IDLE)

    def close(self) -> None:
        """Close idle engines."""
        with self._lock:
            self._close_idle(0)

    def _opened(
        self, key: Key, memory: OpenMemory, embedder: Embedder | None, words: WordVectors | None
    ) -> Engine:
        index = RecallIndex.open(memory.place.state / INDEX, embedder, words=words)
        self._open[key] = engine = Engine(memory, index, embedder)
        return engine

    def _close_idle(self, most: int) -> None:
        idle = [key for key, engine in self._open.items() if not engine.leases]
        for key in idle[: max(0, len(idle) - most)]:
            self._open.pop(key).index.close()


ENGINES = Engines()
atexit.register(ENGINES.close)


class Workers:
    """The threads that run searches, and the number of waiting searches."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0
        self._lock = ThreadLock()
        self._in_place: asyncio.AbstractEventLoop | None = None

    def run_in_place_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run work on this event loop's own thread, for loops that do nothing else."""
        self._in_place = loop

    async def run(self, work: Callable[[], T]) -> T:
        """Run in one of the threads; raises Busy if too many are waiting."""
        if asyncio.get_running_loop() is self._in_place:
            return work()
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise Busy(f"{self._waiting} recalls wait already; ask for fewer at once")
            if self._pool is None:
                self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="reverie-recall")
            self._waiting += 1
            future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._done)
        return await future

    def renew(self) -> None:
        """Forget the threads after a fork: the child process has none of them."""
        self._pool, self._waiting, self._in_place = None, 0, None

    def _done(self, future: asyncio.Future[T]) -> None:
        with self._lock:
            self._waiting -= 1


WORK = Workers()
os.register_at_fork(after_in_child=WORK.renew)
