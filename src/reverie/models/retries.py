"""A model that tries again when its provider asks for that, for a bounded time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from reverie.core.request import Request, StreamItem
from reverie.core.usage import Prices
from reverie.core.window import Capabilities
from reverie.errors import ModelError, Overloaded, TimedOut, Unreachable
from reverie.ports import Model

# Waits for that many seconds: tests do not.
Sleep = Callable[[float], Awaitable[None]]

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 16.0
# A provider that asks for more than this is told to the person instead of waited for.
_LONGEST_ASKED = 60.0
# No connection is more often a wrong address than a passing fault.
_UNREACHABLE_TRIES = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PatientModel:
    """Repeats a call that failed before anything of its reply was heard; never one that was."""

    model: Model
    retries: int
    sleep: Sleep = asyncio.sleep

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def capabilities(self) -> Capabilities:
        return self.model.capabilities

    @property
    def prices(self) -> Prices | None:
        return self.model.prices

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        tried = 0
        while True:
            heard = False
            try:
                async for item in self.model.stream(request):
                    heard = True
                    yield item
            except (Overloaded, Unreachable) as error:
                wait = None if heard else self._wait(error, tried)
                if wait is None:
                    raise
                log.info("%s; trying again in %.1f s", error, wait)
            else:
                return
            tried += 1
            await self.sleep(wait)

    async def aclose(self) -> None:
        await self.model.aclose()

    def _wait(self, error: ModelError, tried: int) -> float | None:
        """How long to wait before the next try; None when there is none."""
        if isinstance(error, TimedOut) or tried >= self.retries:
            return None
        if isinstance(error, Unreachable) and tried >= _UNREACHABLE_TRIES:
            return None
        asked = error.retry_after if isinstance(error, Overloaded) else None
        if asked is not None and asked > _LONGEST_ASKED:
            return None
        usual: float = min(_FIRST_WAIT * 2**tried, _LONGEST_WAIT)
        return max(usual, asked or 0.0)
