"""A model without a provider that replies from a script.

With a `PromptCache`, the scripted model reports the usage that a provider's cache would give.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.messages import Block, GrowingMap, Text, ToolUse
from reverie.core.prompt_cache.breakpoints import Mark
from reverie.core.prompt_cache.chain import Chain, extend, root_digest
from reverie.core.prompt_cache.simulator import Call, Simulator
from reverie.core.request import (
    Reply,
    Request,
    StopReason,
    StreamItem,
    TextDelta,
    ToolUseStarted,
    canonical_bytes,
    head_segments,
    message_segments,
)
from reverie.core.tokens import block_tokens
from reverie.core.usage import FREE, Prices, Usage
from reverie.core.window import CacheRules, Capabilities
from reverie.errors import ModelError
from reverie.ports import Clock

# A turn is the model's reply, an error to raise, or a function of the request.
Turn: TypeAlias = str | Sequence[Block] | ModelError | Callable[[Request], "Turn"]


@dataclass(frozen=True, slots=True)
class Bill:
    """The usage of a request, and the digest of its content."""

    usage: Usage
    digest: str


class PromptCache:
    """A simulated provider's cache; models that share an instance share their cached prompts."""

    def __init__(self, rules: CacheRules, clock: Clock) -> None:
        self._simulator = Simulator(rules)
        self._clock = clock
        self._segments = GrowingMap(message_segments)

    def bill(self, request: Request, output: int) -> Bill:
        """The usage of a request, which is in the cache afterwards."""
        chain = self._chain(request)
        call = Call(chain, self._clock.now(), output)
        return Bill(self._simulator.run(call, _marks(request, chain)), chain.digest)

    def _chain(self, request: Request) -> Chain:
        segments = list(head_segments(request.head))
        for message in self._segments(request.messages):
            segments += message
        return Chain(request.head, tuple(extend(None, root_digest(request.head), segments)))


class ScriptedModel:
    """Replies with its turns one by one, then repeats `otherwise`."""

    def __init__(
        self,
        turns: Iterable[Turn] = (),
        *,
        otherwise: Turn = "Done.",
        name: str = "scripted",
        capabilities: Capabilities | None = None,
        prices: Prices | None = FREE,
        cache: PromptCache | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(window=200_000)
        self.prices = prices
        self.requests: list[Request] = []
        self._cache = cache
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
        calls = any(isinstance(block, ToolUse) for block in blocks)
        stop: StopReason = "tool_use" if calls else "end"
        bill = self._bill(request, sum(map(block_tokens, blocks)))
        id_ = f"scripted_{len(self.requests)}_{bill.digest}"
        return Reply(id_, self.name, blocks, stop, bill.usage)

    def _bill(self, request: Request, output: int) -> Bill:
        if self._cache is not None:
            return self._cache.bill(request, output)
        sent = canonical_bytes(request)
        digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
        return Bill(Usage(input=len(sent) // 4, output=output), digest)


def _marks(request: Request, chain: Chain) -> tuple[Mark, ...]:
    """The breakpoints of a request as marks on its chain, in order."""
    segments = (link.segment for link in chain.links)
    positions = {(s.section, s.index, s.block): i for i, s in enumerate(segments)}
    marks = (Mark(positions[b.section, b.index, b.block], b.ttl) for b in request.breakpoints)
    return tuple(sorted(marks, key=lambda mark: mark.index))
