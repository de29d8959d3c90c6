"""Models around other models: the common part, and a model that gets no thinking."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from reverie.core.request import Request, StreamItem
from reverie.core.transcript import without_thinking
from reverie.core.usage import Prices
from reverie.core.window import Capabilities
from reverie.ports import Model


class ModelWrapper:
    """Has the name, capabilities and prices of `model`, and closes it."""

    __slots__ = ()
    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def capabilities(self) -> Capabilities:
        return self.model.capabilities

    @property
    def prices(self) -> Prices | None:
        return self.model.prices

    async def aclose(self) -> None:
        await self.model.aclose()


@dataclass(frozen=True, slots=True)
class UnthinkingModel(ModelWrapper):
    """Removes thinking from requests, for a model that would refuse another model's thinking."""

    model: Model

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        messages = tuple(map(without_thinking, request.messages))
        # Drop messages that had only thinking.
        kept = tuple(message for message in messages if message.blocks)
        return self.model.stream(replace(request, messages=kept))
