"""A model that retries calls when its provider is overloaded or unreachable."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from reverie.core.request import Request, StreamItem
from reverie.errors import ModelError, Overloaded, TimedOut, Unreachable
from reverie.models.wrappers import ModelWrapper
from reverie.ports import Model

# Replaced in tests, which do not wait.
Sleep = Callable[[float], Awaitable[None]]

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 16.0
# If a provider asks for a longer wait, the call fails instead.
_LONGEST_ASKED = 60.0
# A failed connection is more often a wrong address than a temporary fault.
_UNREACHABLE_TRIES = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PatientModel(ModelWrapper):
    """Retries a call that failed before the first item of its reply, never a later failure."""

    model: Model
    retries: int
    sleep: Sleep = asyncio.sleep

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        tried = 0
        while True:
            received = False
            try:
                async for item in self.model.stream(request):
                    received = True
                    yield item
            except (Overloaded, Unreachable) as error:
                wait = None if received else self._wait(error, tried)
                if wait is None:
                    raise
                log.info("%s; trying again in %.1f s", error, wait)
            else:
                return
            tried += 1
            await self.sleep(wait)

    def _wait(self, error: ModelError, tried: int) -> float | None:
        """Seconds to wait before the next attempt; None: give up."""
        if isinstance(error, TimedOut) or tried >= self.retries:
            return None
        if isinstance(error, Unreachable) and tried >= _UNREACHABLE_TRIES:
            return None
        asked = error.retry_after if isinstance(error, Overloaded) else None
        if asked is not None and asked > _LONGEST_ASKED:
            return None
        usual: float = min(_FIRST_WAIT * 2**tried, _LONGEST_WAIT)
        return max(usual, asked or 0.0)
