"""A model that answers from a script, over the same port: for tests, demos and examples."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeAlias

from reverie.core.capabilities import Capabilities
from reverie.core.messages import Block, Text, ToolUse
from reverie.core.reply import Reply, StopReason, StreamItem, TextDelta, ToolUseStarted
from reverie.core.request import Request, canonical_bytes
from reverie.core.tokens import block_tokens
from reverie.core.usage import FREE, Prices, Usage
from reverie.errors import ModelError

# A turn is what the model says, or the failure it has, or a function of the request.
Turn: TypeAlias = str | Sequence[Block] | ModelError | Callable[[Request], "Turn"]


class ScriptedModel:
    """Plays its turns one by one; when they run out it repeats `otherwise`."""

    def __init__(
        self,
        turns: Iterable[Turn] = (),
        *,
        otherwise: Turn = "Done.",
        name: str = "scripted",
        capabilities: Capabilities | None = None,
        prices: Prices | None = FREE,
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(window=200_000)
        self.prices = prices
        self.requests: list[Request] = []
        self._turns = iter(turns)
        self._otherwise = otherwise

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        blocks = self._play(next(self._turns, self._otherwise), request)
        for block in blocks:
            match block:
                case Text(text):
                    yield TextDelta(text)
                case ToolUse(id_, name, _):
                    yield ToolUseStarted(id_, name)
        yield self._reply(request, blocks)

    async def aclose(self) -> None:
        return None

    def _play(self, turn: Turn, request: Request) -> tuple[Block, ...]:
        if isinstance(turn, ModelError):
            raise turn
        if callable(turn):
            return self._play(turn(request), request)
        return (Text(turn),) if isinstance(turn, str) else tuple(turn)

    def _reply(self, request: Request, blocks: tuple[Block, ...]) -> Reply:
        sent = canonical_bytes(request)
        digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
        calls = any(isinstance(block, ToolUse) for block in blocks)
        stop: StopReason = "tool_use" if calls else "end"
        usage = Usage(input=len(sent) // 4, output=sum(map(block_tokens, blocks)))
        return Reply(f"scripted_{len(self.requests)}_{digest}", self.name, blocks, stop, usage)
