"""A model with OpenTelemetry and the real SDK: exports names, sizes and outcomes, no contents."""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.models.test_metered import REPLY, REQUEST, USAGE, Streaming
from tests.place import FixedClock

from reverie.core.request import TextDelta
from reverie.errors import InputError, Overloaded
from reverie.models.wrappers import TracedModel
from reverie.ports import Model, complete

SECRET = "a secret the person typed"


class Collected:
    """The spans and metrics that an exporter would have sent."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()

    @property
    def span(self) -> ReadableSpan:
        [found] = self.spans.get_finished_spans()
        return found

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        found = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return [
            point for metric in found if metric.name == name for point in metric.data.data_points
        ]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    found = Collected()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(found.spans))
    metering = MeterProvider([found.reader], shutdown_on_exit=False)
    # The process-wide providers can be set only once; a test wants its own.
    monkeypatch.setattr(trace, "get_tracer", tracing.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", metering.get_meter)
    yield found
    tracing.shutdown()
    metering.shutdown()


def traced(model: Model, clock: FixedClock) -> TracedModel:
    return TracedModel(model, clock, "recall")


async def test_a_call_is_one_span(collected: Collected, clock: FixedClock) -> None:
    await complete(traced(Streaming(TextDelta("hi"), REPLY), clock), REQUEST)
    assert collected.span.name == "chat m"
    assert dict(collected.span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 100,
        "reverie.purpose": "recall",
        "gen_ai.response.id": "r1",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("end",),
        "gen_ai.usage.input_tokens": USAGE.prompt,
        "gen_ai.usage.output_tokens": USAGE.output,
        "gen_ai.usage.cache_read.input_tokens": USAGE.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": USAGE.cache_write,
    }
    assert collected.span.status.is_ok


async def test_and_three_measurements(collected: Collected, clock: FixedClock) -> None:
    class Slow(Streaming):
        async def stream(self, request: Any) -> Any:
            clock.advance(2.5)
            yield REPLY

    await complete(traced(Slow(), clock), REQUEST)
    sizes = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in collected.points("gen_ai.client.token.usage")
    }
    assert sizes == {"input": USAGE.prompt, "output": USAGE.output}
    [seconds] = collected.points("gen_ai.client.operation.duration")
    assert seconds.sum == 2.5
    assert dict(seconds.attributes) == {"gen_ai.request.model": "m", "reverie.purpose": "recall"}


async def test_a_failure_is_named_by_its_type_alone(
    collected: Collected, clock: FixedClock
) -> None:
    with pytest.raises(Overloaded):
        await complete(traced(Streaming(Overloaded(SECRET)), clock), REQUEST)
    assert (collected.span.attributes or {})["error.type"] == "Overloaded"
    assert not collected.span.status.is_ok
    assert SECRET not in collected.span.to_json()
    assert len(collected.points("gen_ai.client.operation.duration")) == 1


async def test_contents_never_leave(collected: Collected, clock: FixedClock) -> None:
    await complete(traced(Streaming(TextDelta("hi"), REPLY), clock), REQUEST)
    exported = collected.span.to_json()
    assert "word" not in exported
    assert '"hi"' not in exported


async def test_a_stream_nobody_reads_to_its_end_still_ends_its_span(
    collected: Collected, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    stream = traced(Streaming(TextDelta("hi"), REPLY), clock).stream(REQUEST)
    await anext(stream)
    # The caller's work between two items is not part of the call.
    assert not trace.get_current_span().get_span_context().is_valid
    with caplog.at_level(logging.DEBUG):
        await stream.aclose()  # type: ignore[attr-defined]
    assert collected.span.name == "chat m"
    assert caplog.records == []


async def test_it_is_the_model_it_traces(collected: Collected, clock: FixedClock) -> None:
    inner = Streaming(REPLY)
    model = traced(inner, clock)
    assert (model.name, model.capabilities, model.prices) == ("m", inner.capabilities, inner.prices)
    await model.aclose()
    assert inner.closed


def test_without_the_extra_it_says_how_to_get_it(
    clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InputError, match=r"pip install 'reverie\[telemetry\]'"):
        traced(Streaming(REPLY), clock)
