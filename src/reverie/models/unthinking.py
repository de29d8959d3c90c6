"""A model that is sent no thinking: for conversations whose requests somebody else puts into words.

Thinking is bound to the bytes it was made under. Where another program writes them, a request of ours
beside its own has other bytes, and the provider would refuse it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from reverie.core.capabilities import Capabilities
from reverie.core.reply import StreamItem
from reverie.core.request import Request
from reverie.core.thinking import without_thinking
from reverie.core.usage import Prices
from reverie.ports import Model


class UnthinkingModel:
    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities

    @property
    def prices(self) -> Prices | None:
        return self._model.prices

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        messages = tuple(map(without_thinking, request.messages))
        # A message of thinking alone is none any more.
        kept = tuple(message for message in messages if message.blocks)
        return self._model.stream(replace(request, messages=kept))

    async def aclose(self) -> None:
        await self._model.aclose()
