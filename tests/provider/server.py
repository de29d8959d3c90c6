"""The HTTP server: a thread, a socket that is already bound, and routes to the current provider."""

import asyncio
import contextlib
import json
import socket
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from tests.provider.anthropic_api import AnthropicApi
from tests.provider.blocks import Json
from tests.provider.openai_api import OpenAiApi
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest, redacted
from tests.provider.rejection import Rejection
from tests.provider.script import HttpError
from tests.provider.transport import Delivery, error_delivery, json_delivery

BAD_KEY = "bad"
Api: TypeAlias = AnthropicApi | OpenAiApi
Handler: TypeAlias = Callable[[RecordedRequest, str], Delivery]


def _key(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token
    return request.headers.get("x-api-key")


def _authenticate(request: Request, api: Api) -> None:
    key = _key(request)
    if key is None:
        message = (
            "authentication required: send Authorization: Bearer <key>"
            if isinstance(api, AnthropicApi)
            else "You didn't provide an API key in an Authorization header."
        )
        raise Rejection("auth", message, status=401)
    if key == BAD_KEY:
        raise Rejection("auth", "Incorrect API key provided", status=401)


def _parse(raw: bytes, method: str, kind: str) -> Json:
    bare = method == "DELETE" or (method == "POST" and not raw)
    if method == "GET" or bare or kind.startswith("multipart/"):
        return {}
    try:
        parsed = json.loads(raw)
    except ValueError as error:
        raise Rejection("json", f"The request body is not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise Rejection("json", "The request body must be a JSON object")
    return parsed


class _Site:
    """Routes of both providers; the two share `/v1/models`, told apart by a header."""

    def __init__(self) -> None:
        self.provider = Provider()

    def routes(self) -> list[Route]:
        post, get = ["POST"], ["GET"]
        return [
            Route("/v1/messages", self._endpoint("anthropic.messages"), methods=post),
            Route("/v1/messages/count_tokens", self._endpoint("anthropic.count"), methods=post),
            Route("/v1/chat/completions", self._endpoint("openai.chat"), methods=post),
            Route("/v1/responses", self._endpoint("openai.responses"), methods=post),
            Route("/v1/responses/compact", self._endpoint("openai.compact"), methods=post),
            Route("/v1/responses/input_tokens", self._endpoint("openai.count"), methods=post),
            Route("/v1/embeddings", self._endpoint("openai.embeddings"), methods=post),
            *self._batch_routes(),
            Route("/v1/models", self._endpoint("models"), methods=get),
            Route("/v1/models/{name}", self._endpoint("model"), methods=get),
        ]

    def _batch_routes(self) -> list[Route]:
        table = (
            ("POST", "/v1/messages/batches", "anthropic.batches.create"),
            ("GET", "/v1/messages/batches", "anthropic.batches.list"),
            ("GET", "/v1/messages/batches/{id}", "anthropic.batches.retrieve"),
            ("DELETE", "/v1/messages/batches/{id}", "anthropic.batches.delete"),
            ("POST", "/v1/messages/batches/{id}/cancel", "anthropic.batches.cancel"),
            ("GET", "/v1/messages/batches/{id}/results", "anthropic.batches.results"),
            ("POST", "/v1/files", "openai.batches.upload"),
            ("GET", "/v1/files", "openai.batches.files"),
            ("GET", "/v1/files/{id}/content", "openai.batches.content"),
            ("DELETE", "/v1/files/{id}", "openai.batches.remove"),
            ("POST", "/v1/batches", "openai.batches.create"),
            ("GET", "/v1/batches", "openai.batches.list"),
            ("GET", "/v1/batches/{id}", "openai.batches.retrieve"),
            ("POST", "/v1/batches/{id}/cancel", "openai.batches.cancel"),
        )
        return [Route(path, self._endpoint(name), methods=[verb]) for verb, path, name in table]

    def _endpoint(self, name: str) -> Callable[[Request], Awaitable[Delivery]]:
        async def endpoint(request: Request) -> Delivery:
            return await self._handle(name, request)

        return endpoint

    async def _handle(self, name: str, request: Request) -> Delivery:
        # A request belongs to the provider that was current when it arrived.
        provider = self.provider
        raw = await request.body()
        name = _full_name(name, request)
        api: Api = AnthropicApi(provider) if name.startswith("anthropic") else OpenAiApi(provider)
        request_id = provider.number("req")
        problem: Rejection | None = None
        body: Json = {}
        try:
            _authenticate(request, api)
            body = _parse(raw, request.method, request.headers.get("content-type", ""))
        except Rejection as rejection:
            problem = rejection
        record = provider.receive(
            RecordedRequest(
                0, name, request.method, request.url.path, redacted(request.headers), raw, body
            )
        )
        try:
            if problem is not None:
                raise problem
            return _handler(api, name)(record, request_id)
        except Rejection as rejection:
            return _refuse(provider, api, record, rejection, request_id)
        # A mistake in this server must fail the test by name, not look like a flaky 500.
        except Exception:  # noqa: BLE001
            mistake = Rejection("server", traceback.format_exc(), status=500)
            return _refuse(provider, api, record, mistake, request_id)


def _full_name(name: str, request: Request) -> str:
    if name not in {"models", "model"}:
        return name
    return f"{'anthropic' if 'anthropic-version' in request.headers else 'openai'}.{name}"


def _handler(api: Api, name: str) -> Handler:
    verb = name.split(".")[1]
    if verb == "batches":
        return lambda record, _: api.batches.handle(name.split(".")[2], record)
    if isinstance(api, AnthropicApi):
        return {
            "messages": api.messages,
            "count": api.count_tokens,
            "models": api.models,
            "model": api.model,
        }[verb]
    return {
        "chat": api.chat,
        "responses": api.responses,
        "compact": api.compact,
        "count": api.count,
        "embeddings": api.embeddings,
        "models": api.models,
        "model": api.model,
    }[verb]


def _refuse(
    provider: Provider, api: Api, record: RecordedRequest, rejection: Rejection, request_id: str
) -> Delivery:
    provider.refuse(record, rejection)
    if rejection.extra:
        return json_delivery(rejection.status, rejection.extra, {"request-id": request_id})
    error = HttpError(rejection.status, rejection.message, rejection.code, param=rejection.param)
    return error_delivery(api.family, error, request_id)


class _Uvicorn(uvicorn.Server):
    """Uvicorn without its polling: one event says it is up, another asks it to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self._stop.wait()

    def stop(self) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)


class ProviderServer:
    """One server thread; `serve` puts a fresh provider behind its address."""

    def __init__(self, port: int = 0) -> None:
        self._site = _Site()
        # The protocol is named so that asyncio turns off Nagle's delay, 40 ms on each response.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            Starlette(routes=self._site.routes()),
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            ws="none",
            http="h11",
            loop="asyncio",
            date_header=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = _Uvicorn(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="provider"
        )

    def start(self) -> None:
        self._thread.start()
        if not self._server.ready.wait(10):
            raise RuntimeError("the provider's server did not come up within 10 seconds")

    def stop(self) -> None:
        self._site.provider.close()
        self._server.stop()
        self._thread.join(10)
        self._socket.close()

    def serve(self, provider: Provider) -> Provider:
        """Answer from this provider from now on."""
        self._site.provider.close()
        provider.base_url = self.url
        self._site.provider = provider
        return provider


@contextlib.contextmanager
def serving(provider: Provider, port: int = 0) -> Iterator[Provider]:
    """A provider behind a server of its own."""
    server = ProviderServer(port)
    server.start()
    try:
        yield server.serve(provider)
    finally:
        provider.close()
        server.stop()
