"""A model with OpenTelemetry: one span and two metrics per call, by the GenAI conventions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from reverie.core.request import Reply, Request, StreamItem
from reverie.core.usage import MAIN, Purpose, Usage
from reverie.errors import ReverieError
from reverie.models.failures import sdk_missing
from reverie.models.wrappers import ModelWrapper
from reverie.ports import Clock, Model

if TYPE_CHECKING:
    from opentelemetry.trace import Span


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
