"""The event loop, in its own thread, that runs the conversations of a program.

`Context` and the adapters do their work there: the caller's loop only waits for the answer, so its own
tasks go on, and callers without a loop need none. There is one such thread in a process.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from reverie.events import Event
from reverie.recall.engine import WORK

T = TypeVar("T")

_CLOSING_SECONDS = 10.0
# Threads for blocking work of conversations. Each takes the interpreter from the caller's loop.
_WORKERS = 1


class Closeable(Protocol):
    """An object that must be closed before the program ends."""

    def closing(self) -> Future[None]: ...


class SharedLoop:
    """The loop, and the work submitted to it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(_WORKERS, "reverie-work"))
        self._thread = threading.Thread(target=self.loop.run_forever, name="reverie", daemon=True)
        self._thread.start()
        self._process = os.getpid()
        self._given: deque[Callable[[], object]] = deque()
        self._looking = False
        self._turn = asyncio.Lock()
        self._loaded = False
        WORK.run_in_place_on(self.loop)
        atexit.register(self._stop)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine.

        Waking the loop is a system call, during which another thread may take the interpreter; a
        caller with many conversations would wait for each. A busy loop checks for new work by
        itself.
        """
        future: Future[T] = Future()
        self._given.append(lambda: _settle(future, self.loop.create_task(work)))
        if not self._looking:
            self._looking = True
            self.loop.call_soon_threadsafe(self._look)
        return future

    async def turn(self) -> None:
        """Wait until no other conversation begins a long piece of work in this iteration of the loop."""
        async with self._turn:
            await asyncio.sleep(0)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Exclude what the first conversation loads from full garbage collections.

        Modules, tables and the index live as long as the process. A full collection over them holds
        the interpreter for tens of milliseconds, in which the caller's own loop stops.
        """
        if self._loaded or not gc.isenabled():
            yield
            return
        gc.disable()
        try:
            yield
        finally:
            self._loaded = True
            # Collect young garbage first, because frozen objects are never collected.
            gc.collect(1)
            gc.freeze()
            gc.enable()

    def _look(self) -> None:
        if not self._given:
            self._looking = False
            # Work submitted between the two lines above.
            if not self._given:
                return
            self._looking = True
        while self._given:
            self._given.popleft()()
        self.loop.call_soon(self._look)

    def _stop(self) -> None:
        """Close what is still open, within a time limit, then stop the loop."""
        if self._process != os.getpid():
            return
        wait([thing.closing() for thing in _OPEN], _CLOSING_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_CLOSING_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()


def _settle(future: Future[T], task: asyncio.Task[T]) -> None:
    """Pass the task's result to the future, and a cancellation of the future to the task."""

    def ended(done: asyncio.Task[T]) -> None:
        if done.cancelled():
            future.cancel()
            return
        if not future.set_running_or_notify_cancel():
            return
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)

    def cancelled(given_up: Future[T]) -> None:
        if given_up.cancelled():
            task.get_loop().call_soon_threadsafe(task.cancel)

    task.add_done_callback(ended)
    future.add_done_callback(cancelled)


_OPEN: WeakSet[Closeable] = WeakSet()
_STARTING = threading.Lock()
_shared: SharedLoop | None = None


def close_at_exit(thing: Closeable) -> None:
    """Close this object when the program ends, unless it was collected before."""
    _OPEN.add(thing)


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine in the shared loop."""
    return _started().begin(work)


async def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that runs in the shared loop; on that loop itself, it runs in place."""
    if _shared is not None and asyncio.get_running_loop() is _shared.loop:
        return await work
    return await asyncio.wrap_future(begin(work))


async def turn() -> None:
    """Wait until it is this conversation's turn to begin a long piece of work in the shared loop."""
    await _started().turn()


def loading() -> AbstractContextManager[None]:
    """Wrap the first loading of everything; see SharedLoop.loading."""
    return _started().loading()


def _started() -> SharedLoop:
    global _shared
    with _STARTING:
        _shared = _shared or SharedLoop()
    return _shared


def _forked() -> None:
    """The thread stayed in the parent; a child starts its own when needed."""
    global _shared, _STARTING
    _shared = None
    _STARTING = threading.Lock()
    _OPEN.clear()


os.register_at_fork(after_in_child=_forked)


class Delivery:
    """Brings events from the shared loop to the listener of a program, in the program's own thread.

    In a program with a loop they arrive as they happen; without one, before a call returns.
    """

    def __init__(self, listener: Callable[[Event], None] | None) -> None:
        self._listener = listener
        self._waiting: deque[Event] = deque()
        self._home: asyncio.AbstractEventLoop | None = None

    def called_here(self) -> None:
        """Remember the loop of the calling program."""
        with suppress(RuntimeError):
            self._home = asyncio.get_running_loop()

    def hear(self, event: Event) -> None:
        if self._listener is None:
            return
        self._waiting.append(event)
        if self._home is None:
            return
        if _shared is not None and self._home is _shared.loop:
            self.deliver()
            return
        # A program may have closed its loop before its Context.
        with suppress(RuntimeError):
            self._home.call_soon_threadsafe(self.deliver)

    def deliver(self) -> None:
        while self._listener is not None and self._waiting:
            self._listener(self._waiting.popleft())
