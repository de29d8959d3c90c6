"""Models around other models: without thinking, with retries, and with OpenTelemetry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reverie.core.request import Reply, Request, StreamItem
from reverie.core.transcript import without_thinking
from reverie.core.usage import MAIN, Prices, Purpose, Usage
from reverie.core.window import Capabilities
from reverie.errors import ModelError, Overloaded, ReverieError, TimedOut, Unreachable
from reverie.models.failures import sdk_missing
from reverie.ports import Clock, Model

if TYPE_CHECKING:
    from opentelemetry.trace import Span


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
                    if isinstance(error, Overloaded):
                        error.in_reply = received
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


class TracedModel(ModelWrapper):
    """Exports names, sizes and outcomes of calls, never the content of messages."""

    def __init__(self, model: Model, clock: Clock, purpose: Purpose = MAIN) -> None:
        with sdk_missing("telemetry"):
            from opentelemetry import metrics, trace
        self.model = model
        self._clock = clock
        self._purpose = purpose
        self._tracer = trace.get_tracer("reverie")
        self._error = trace.StatusCode.ERROR
        meter = metrics.get_meter("reverie")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", unit="{token}")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", unit="s")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        asked: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": request.model,
            "gen_ai.request.max_tokens": request.options.max_tokens,
            "reverie.purpose": self._purpose,
        }
        began = self._clock.now()
        # Do not make it the current span: the caller's code runs in this context between two items,
        # and an abandoned stream is closed in another context.
        span = self._tracer.start_span(f"chat {request.model}", attributes=asked)
        try:
            async for item in self.model.stream(request):
                if isinstance(item, Reply):
                    self._answered(span, item)
                yield item
        except ReverieError as error:
            # Record only the type: the message may quote the request.
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(self._error)
            raise
        finally:
            span.end()
            self._seconds.record(self._clock.now() - began, self._labels)

    @property
    def _labels(self) -> dict[str, str]:
        return {"gen_ai.request.model": self.name, "reverie.purpose": self._purpose}

    def _answered(self, span: Span, reply: Reply) -> None:
        span.set_attributes(
            {
                "gen_ai.response.id": reply.id,
                "gen_ai.response.model": reply.model,
                "gen_ai.response.finish_reasons": [reply.stop],
                **_usage_attributes(reply.usage),
            }
        )
        sizes = (("input", reply.usage.prompt), ("output", reply.usage.output))
        for kind, tokens in sizes:
            self._tokens.record(tokens, self._labels | {"gen_ai.token.type": kind})


def _usage_attributes(usage: Usage) -> dict[str, int]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
