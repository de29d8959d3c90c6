"""The ASGI application: routes, problem+json, metrics, and the probes of an orchestrator."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import reverie
from reverie.errors import ReverieError
from reverie.server.calls import LARGEST_BODY, Answer, Parts, Problem, answered
from reverie.server.routes import ENDPOINTS, Endpoint, openapi
from reverie.server.telemetry import Telemetry

log = logging.getLogger(__name__)

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Service:
    """The application and its metrics; `draining` makes it not ready for new work."""

    def __init__(self, parts: Parts, telemetry: Telemetry | None = None) -> None:
        self.parts = parts
        self.telemetry = telemetry or Telemetry()
        self.draining = False
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "reverie_requests", "Answered requests.", ("endpoint", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "reverie_request_seconds",
            "Time to answer.",
            ("endpoint",),
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.app = Starlette(
            routes=[
                Route("/livez", self._live),
                Route("/readyz", self._ready),
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._openapi),
                *(Route(e.path, self._endpoint(e), methods=[e.method]) for e in ENDPOINTS),
            ],
            exception_handlers={HTTPException: _http_problem},
            lifespan=self._lifespan,
        )

    def drain(self) -> None:
        """Report that it is no longer ready; requests that still arrive are answered."""
        self.draining = True

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.parts.database.close)

    def _endpoint(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        name = f"{endpoint.method} {endpoint.path}"

        async def answer(request: Request) -> Response:
            begun = perf_counter()
            with self.telemetry.span(name, request.headers) as tell:
                made = await self._answered(endpoint, request)
                tell("http.response.status_code", made.status)
            seconds = perf_counter() - begun
            self._requests.labels(name, str(made.status)).inc()
            self._seconds.labels(name).observe(seconds)
            self.telemetry.observe(name, made.status, seconds)
            return Response(made.body, made.status, dict(made.headers))

        return answer

    async def _answered(self, endpoint: Endpoint, request: Request) -> Answer:
        try:
            raw = await _body(request)
        except Problem as problem:
            return problem.answer
        except ClientDisconnect:
            return Answer(499)
        headers = {key.lower(): value for key, value in request.headers.items()}
        path = {key: str(value).replace("\0", "") for key, value in request.path_params.items()}
        query = {key: value.replace("\0", "") for key, value in request.query_params.items()}
        asked = f"{request.method} {request.url.path}?{request.url.query}"
        try:
            return await run_in_threadpool(
                answered, self.parts, endpoint.handler, headers, raw, asked, (path, query)
            )
        except Exception:  # the caller gets a problem, the log the reason
            log.exception("%s failed", asked.partition("?")[0])
            return Problem(500, "this is a bug in the service", "its log says more").answer

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"alive": True})

    async def _ready(self, request: Request) -> Response:
        if self.draining:
            return JSONResponse({"ready": False, "reason": "shutting down"}, 503)
        try:
            await run_in_threadpool(self.parts.database.asked, "SELECT 1 AS one")
        except ReverieError as error:
            return JSONResponse({"ready": False, "reason": str(error)}, 503)
        return JSONResponse({"ready": True})

    async def _metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(openapi(reverie.__version__))


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise Problem(413, "the body is too large", f"at most {LARGEST_BODY:,} bytes")
    return bytes(body)


async def _http_problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    made = Problem(status, "no such endpoint" if status == 404 else "not allowed here").answer
    return Response(made.body, made.status, dict(made.headers))
