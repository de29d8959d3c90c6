"""A door in the middle of a response, opened by the test."""

import asyncio
import contextlib
import threading
from collections.abc import Callable


class Gate:
    """Holds a response until `release`, or until `bound` seconds have passed.

    The bound keeps a forgotten gate from hanging a suite; nothing should depend on its length.
    """

    def __init__(self, bound: float = 10.0) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        self._open = False
        self._reached = threading.Event()
        self._waiters: list[Callable[[], object]] = []

    def release(self) -> None:
        """Let everything through, now and from now on."""
        with self._lock:
            self._open = True
            waiters, self._waiters = self._waiters, []
        for wake in waiters:
            # A loop that has closed has nobody left to wake.
            with contextlib.suppress(RuntimeError):
                wake()

    def wait_reached(self, timeout: float = 5.0) -> None:
        """Block the test until a response stands at the gate."""
        if not self._reached.wait(timeout):
            raise TimeoutError(f"no request reached the gate within {timeout} seconds")

    async def passage(self) -> None:
        """The server's side: wait until released."""
        loop = asyncio.get_running_loop()
        opened = asyncio.Event()
        with self._lock:
            if not self._open:
                self._waiters.append(lambda: loop.call_soon_threadsafe(opened.set))
            else:
                opened.set()
        self._reached.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(opened.wait(), self.bound)
