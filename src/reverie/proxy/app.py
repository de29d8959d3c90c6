"""The HTTP side of the proxy: access, and requests and responses forwarded as they arrive.

A request that Reverie does not read is streamed through. Any other is read, given to the engine,
and sent as the engine decides, or unchanged if the engine fails or is late.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import httpcore2

from reverie.proxy import dialects
from reverie.proxy.access import Access, Refusal
from reverie.proxy.connections import library_known
from reverie.proxy.upstream import (
    Family,
    Headers,
    Route,
    Upstreams,
    forwarded,
    header,
    returned,
    route,
)

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from reverie.proxy.dialects import Dialect

log = logging.getLogger(__name__)

STATUS_PATH = "/_reverie/status"
# A larger body is streamed through without being read.
LARGEST_READ = 48 * 1024 * 1024
# A longer error body is forwarded without being read.
LARGEST_ERROR = 256 * 1024
_BODILESS = frozenset({204, 304})
# Errors of a provider that cannot be reached, or breaks the protocol.
_BROKEN = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError)


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose body was read."""

    dialect: Dialect
    route: Route
    headers: Headers
    body: bytes


class Exchange(Protocol):
    """One call as it will be sent; it also receives the response."""

    @property
    def body(self) -> bytes: ...

    def hear(self, status: int, headers: Headers) -> None:
        """The response began."""
        ...

    def feed(self, chunk: bytes) -> None:
        """A piece of the response body, unchanged."""
        ...

    async def again(self, status: int, body: bytes) -> bytes | None:
        """Another body to send once after a refusal; None to return the refusal."""
        ...

    def end(self, *, whole: bool) -> None:
        """The response ended; not `whole` if the provider or the client broke it off."""
        ...


class Engine(Protocol):
    """Handles the requests that are read."""

    def reads(self, call: Dialect) -> bool:
        """Whether requests of this kind are read at all."""
        ...

    async def open(self, call: Call) -> Exchange | Refusal:
        """The exchange for a call. It never raises: on failure, the client's own bytes are sent."""
        ...

    def status(self) -> dict[str, Any]: ...

    async def aclose(self) -> None: ...


class ProxyApp:
    """The ASGI application: passes each request to its provider, and the response back."""

    def __init__(self, engine: Engine, upstreams: Upstreams, access: Access) -> None:
        self._engine = engine
        self._upstreams = upstreams
        self._access = access
        self._pools: dict[Family, httpcore2.AsyncConnectionPool] = {}

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the connection pools when the server starts; close them with the engine."""
        await receive()
        self._pools = self._upstreams.pools()
        with library_known():
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._engine.aclose()
            for pool in self._pools.values():
                await pool.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        reply = _ResponseWriter(send)
        target = scope["raw_path"] + (b"?" + query if (query := scope["query_string"]) else b"")
        way = route(target, scope["headers"])
        dialect = dialects.find(scope["method"], way.family, way.target)
        reply.dialect = dialect or dialects.of_family(way.family)
        if problem := self._refusal(scope["headers"]):
            await reply.error(problem.status, problem.reason)
            return
        if scope["path"] == STATUS_PATH:
            await reply.json(200, self._engine.status())
            return
        incoming = _Incoming(scope, receive)
        if dialect is not None and self._engine.reads(dialect):
            body = await incoming.read(LARGEST_READ)
            if incoming.gone:
                return
            if body is not None:
                await self._exchange(scope, way, dialect, body, incoming, reply)
                return
        await self._stream_through(scope, way, incoming, reply)

    def _refusal(self, headers: Headers) -> Refusal | None:
        if header(headers, b"upgrade").lower() == "websocket":
            return Refusal(426, "WebSockets are not offered here; use HTTP")
        return self._access.problem(headers)

    async def _stream_through(
        self, scope: Scope, way: Route, incoming: _Incoming, reply: _ResponseWriter
    ) -> None:
        headers = forwarded(scope["headers"])
        length = header(scope["headers"], b"content-length")
        if length:
            headers.append((b"content-length", length.encode("latin-1")))
        content = incoming.chunks() if incoming.has_body else None
        await self._send(_Outgoing(way, scope["method"], headers, content), reply, incoming, None)

    async def _exchange(
        self,
        scope: Scope,
        way: Route,
        dialect: Dialect,
        body: bytes,
        incoming: _Incoming,
        reply: _ResponseWriter,
    ) -> None:
        headers = forwarded(scope["headers"])
        exchange = await self._engine.open(Call(dialect, way, headers, body))
        if isinstance(exchange, Refusal):
            await reply.error(exchange.status, exchange.reason)
            return
        whole = False
        try:
            outgoing = _Outgoing(way, scope["method"], headers, exchange.body)
            whole = await self._send(outgoing, reply, incoming, exchange)
        finally:
            exchange.end(whole=whole)

    async def _send(
        self,
        outgoing: _Outgoing,
        reply: _ResponseWriter,
        incoming: _Incoming,
        exchange: Exchange | None,
    ) -> bool:
        """Send a request and pass its response on; whether all of it arrived."""
        work = asyncio.create_task(self._answer(outgoing, reply, exchange))
        leaving = asyncio.create_task(incoming.left())
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
            with suppress(asyncio.CancelledError):
                return await work
            return False
        finally:
            work.cancel()
            leaving.cancel()

    async def _answer(
        self, outgoing: _Outgoing, reply: _ResponseWriter, exchange: Exchange | None
    ) -> bool:
        host = self._upstreams.addresses[outgoing.way.family].host
        try:
            return await self._pass_on(outgoing, reply, exchange)
        except httpcore2.TimeoutException:
            await reply.error(504, f"the provider at {host} did not answer in time")
        except _BROKEN as error:
            await reply.error(502, f"the provider at {host} broke off: {error!r}")
        return False

    async def _pass_on(
        self, outgoing: _Outgoing, reply: _ResponseWriter, exchange: Exchange | None
    ) -> bool:
        response = await self._response(outgoing)
        try:
            if exchange is not None and response.status in (400, 413):
                refused = await _refused_body(response)
                if refused is None:
                    return await self._relay(response, reply, exchange)
                other = await exchange.again(response.status, refused)
                if other is None:
                    await reply.begin(response)
                    await reply.write(refused)
                    await reply.finish()
                    return True
                await response.aclose()
                response = await self._response(replace(outgoing, content=other))
            return await self._relay(response, reply, exchange)
        finally:
            await response.aclose()

    async def _response(self, outgoing: _Outgoing) -> httpcore2.Response:
        way, headers, content = outgoing.way, outgoing.headers, outgoing.content
        request = self._upstreams.request(way, outgoing.method, headers, content)
        return await self._pools[way.family].handle_async_request(request)

    async def _relay(
        self, response: httpcore2.Response, reply: _ResponseWriter, exchange: Exchange | None
    ) -> bool:
        """Forward every piece as it arrives, first to the client and then to the exchange."""
        if exchange is not None:
            exchange.hear(response.status, returned(response.headers))
        await reply.begin(response)
        async for chunk in response.aiter_stream():
            await reply.write(chunk)
            if exchange is not None:
                exchange.feed(chunk)
        await reply.finish()
        return True


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A request as it is sent to a provider."""

    way: Route
    method: str
    headers: Headers
    content: bytes | AsyncIterator[bytes] | None


async def _refused_body(response: httpcore2.Response) -> bytes | None:
    """The body of an error; None if it is too long to be one."""
    length = header(returned(response.headers), b"content-length")
    if not length.isdigit() or int(length) > LARGEST_ERROR:
        return None
    return b"".join([chunk async for chunk in response.aiter_stream()])


class _Incoming:
    """The body of a client's request, read as a whole or forwarded in pieces."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        names = {name for name, _ in scope["headers"]}
        self.has_body = bool(names & {b"content-length", b"transfer-encoding"})
        self.gone = False
        self._receive = receive
        self._read: list[bytes] = []
        self._whole = False
        self._done = asyncio.Event()

    async def read(self, most: int) -> bytes | None:
        """The whole body; None if it is longer than `most` or was broken off."""
        size = 0
        while not self._whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                return None
            self._take(message)
            size += len(message.get("body", b""))
            if size > most:
                return None
        self._done.set()
        return b"".join(self._read)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What was already read, then the rest as it arrives."""
        for chunk in self._read:
            yield chunk
        self._read.clear()
        while not self._whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                raise httpcore2.ReadError("the client left before its request was complete")
            self._take(message)
            if self._read:
                yield self._read.pop()
        self._done.set()

    def _take(self, message: Message) -> None:
        self._whole = not message.get("more_body", False)
        if body := message.get("body", b""):
            self._read.append(body)

    async def left(self) -> None:
        """Return when the client closes its connection."""
        if self.has_body:
            await self._done.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _ResponseWriter:
    """Writes one response to the client; an error only if nothing was written yet."""

    def __init__(self, send: Send) -> None:
        self._send: Callable[[Message], Awaitable[None]] = send
        self._begun = False
        self.dialect: Dialect | None = None

    async def begin(self, response: httpcore2.Response) -> None:
        self._begun = True
        headers = returned(response.headers)
        if response.status in _BODILESS:
            headers = [(name, value) for name, value in headers if name != b"content-length"]
        await self._send(
            {"type": "http.response.start", "status": response.status, "headers": headers}
        )

    async def write(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def error(self, status: int, reason: str) -> None:
        """Send an error in the provider's own format. A response that has begun is broken off instead."""
        if self._begun:
            log.warning("%s, in the middle of a response", reason)
            return
        shape = self.dialect.error(status, reason) if self.dialect else {"error": reason}
        await self.json(status, shape, (b"x-reverie-proxy", b"error"))

    async def json(self, status: int, value: Any, *headers: tuple[bytes, bytes]) -> None:
        self._begun = True
        body = json.dumps(value).encode()
        own = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        start = {"type": "http.response.start", "status": status, "headers": [*own, *headers]}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
