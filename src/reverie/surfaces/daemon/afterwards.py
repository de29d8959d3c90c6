"""Work that nobody waits for: one piece at a time in a thread, dreams in processes of their own."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

Work = Callable[[], None]


class Afterwards:
    """A queue in which the newest work under a key takes the place of an older one."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Work] = {}
        self._task: asyncio.Task[None] | None = None
        self._dreams: list[subprocess.Popen[bytes]] = []

    @property
    def busy(self) -> bool:
        return self._task is not None

    def add(self, key: str, work: Work) -> None:
        """May be called from any thread."""
        self._loop.call_soon_threadsafe(self._put, key, work)

    def begin_dream(self, root: Path) -> None:
        """A dream takes its time: it gets a process that outlives ours."""
        command = [sys.executable, "-P", "-m", "reverie", "dream"]
        command += ["--project", str(root), "--home", str(self._home), "--quiet"]
        nowhere = subprocess.DEVNULL
        self._dreams.append(
            subprocess.Popen(
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
        )
        log.info("a dream of %s begins", root)

    def reap(self) -> None:
        self._dreams = [dream for dream in self._dreams if dream.poll() is None]

    async def drain(self, seconds: float) -> None:
        """Finish what waits, if that takes no longer than this."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    def _put(self, key: str, work: Work) -> None:
        self._waiting[key] = work
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                work = self._waiting.pop(next(iter(self._waiting)))
                await self._one(work)
        finally:
            self._task = None

    async def _one(self, work: Work) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception:
            log.exception("work after a hook failed")
