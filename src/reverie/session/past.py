"""Past conversations, brought into the index beside this one, a bounded piece at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from reverie.session.background import Background

NAME = "past sessions"


@dataclass(slots=True)
class PastIndexing:
    """`step` does a piece of work, and gives None when there is no more."""

    step: Callable[[], object | None]
    background: Background
    _stopped: bool = False

    def start(self) -> None:
        self.background.start(NAME, self._run(), self._stop)

    def _stop(self) -> None:
        """End after the piece that is under way; what is missing is brought in next time."""
        self._stopped = True

    async def _run(self) -> None:
        while not self._stopped and await asyncio.to_thread(self.step) is not None:
            pass
