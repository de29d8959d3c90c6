"""One thread with a loop of its own: adapters work there, whichever loop, or none, calls them."""

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


class Closing(Protocol):
    """What has something to finish before the program ends."""

    def closing(self) -> Future[None]: ...


_ALL: WeakSet[Closing] = WeakSet()
_STARTING = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def close_at_exit(thing: Closing) -> None:
    """Close it at the end of the program, unless it is gone by then."""
    _ALL.add(thing)


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Begin a piece of work in the loop that all adapters share."""
    global _loop
    with _STARTING:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_loop.run_forever, name="reverie", daemon=True)
            thread.start()
            atexit.register(_stop, _loop, thread)
    return asyncio.run_coroutine_threadsafe(work, _loop)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """What was left open is closed while there is time."""
    wait([thing.closing() for thing in _ALL], _CLOSING_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_CLOSING_SECONDS)
    if not thread.is_alive():
        loop.close()
