"""OpenTelemetry for the service: a span for each request and job, and the duration of requests.

It is off unless `telemetry.enabled` is set. Only the API is used: the operator configures for the
process where spans go (`opentelemetry-instrument reverie serve`). Names, statuses and times are
exported, never contents or keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reverie.models.failures import sdk_missing

if TYPE_CHECKING:
    from opentelemetry.context import Context

# Adds an attribute to a span.
Tell = Callable[[str, str | int], object]


class Telemetry:
    """Spans and metrics, or nothing."""

    def __init__(self, *, enabled: bool = False) -> None:
        self._enabled = enabled
        if enabled:
            with sdk_missing("telemetry"):
                from opentelemetry import metrics, trace
            self._tracer = trace.get_tracer("reverie")
            meter = metrics.get_meter("reverie")
            self._seconds = meter.create_histogram("reverie.server.duration", unit="s")

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str] | None = None) -> Iterator[Tell]:
        """A span around some work; it belongs to the caller's trace if the headers name one."""
        if not self._enabled:
            yield lambda name, value: None
            return
        with self._tracer.start_as_current_span(name, context=_callers(headers)) as current:
            yield current.set_attribute

    def observe(self, route: str, status: int, seconds: float) -> None:
        """How long a request took."""
        if self._enabled:
            labels: dict[str, str | int] = {
                "http.route": route,
                "http.response.status_code": status,
            }
            self._seconds.record(seconds, labels)


def _callers(headers: Mapping[str, str] | None) -> Context | None:
    if not headers or "traceparent" not in headers:
        return None
    from opentelemetry.propagate import extract

    return extract(dict(headers))
