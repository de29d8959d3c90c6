"""The event loop, in a thread of its own, that all adapters share; callers need no loop themselves."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_CLOSING_SECONDS = 10.0


class Closeable(Protocol):
    """An object that must be closed before the program ends."""

    def closing(self) -> Future[None]: ...


_OPEN: WeakSet[Closeable] = WeakSet()
_STARTING = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def close_at_exit(thing: Closeable) -> None:
    """Close this object when the program ends, unless it was collected before."""
    _OPEN.add(thing)


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine in the shared loop."""
    global _loop
    with _STARTING:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_loop.run_forever, name="reverie", daemon=True)
            thread.start()
            atexit.register(_stop, _loop, thread)
    return asyncio.run_coroutine_threadsafe(work, _loop)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Close what is still open, within a time limit, then stop the loop."""
    wait([thing.closing() for thing in _OPEN], _CLOSING_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_CLOSING_SECONDS)
    if not thread.is_alive():
        loop.close()
