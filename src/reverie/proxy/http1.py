"""One HTTP/1.1 connection to a provider, whose replies are parsed by httptools.

httpcore reads replies with h11, which is written in Python: for a streamed reply that takes more
processor time than everything else. Data that arrives together is one piece here, however many
chunks the provider sent.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from typing import Literal, TypeAlias

import httpcore2
import httptools

State: TypeAlias = Literal["new", "active", "idle", "closed"]

_LARGEST_READ = 256 * 1024
_LARGEST_HEAD = 100 * 1024
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class ProviderPool(httpcore2.AsyncConnectionPool):
    """Httpcore's pool with connections of this module."""

    def __init__(
        self,
        context: ssl.SSLContext,
        backend: httpcore2.AsyncNetworkBackend,
        most_kept: int,
        kept_seconds: float | None,
    ) -> None:
        super().__init__(max_connections=None, max_keepalive_connections=most_kept)
        self._context = context
        self._backend = backend
        self._kept_seconds = kept_seconds

    def create_connection(self, origin: httpcore2.Origin) -> ProviderConnection:
        return ProviderConnection(origin, self._context, self._backend, self._kept_seconds)


class ProviderConnection(httpcore2.AsyncConnectionInterface):
    """Opened with its first request; used by one task at a time."""

    def __init__(
        self,
        origin: httpcore2.Origin,
        context: ssl.SSLContext,
        backend: httpcore2.AsyncNetworkBackend,
        kept_seconds: float | None,
    ) -> None:
        self._origin = origin
        self._context = context
        self._backend = backend
        self._kept_seconds = kept_seconds
        self._stream: httpcore2.AsyncNetworkStream | None = None
        self._state: State = "new"
        self._expires: float | None = None

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        if self._state not in ("new", "idle"):
            raise httpcore2.ConnectionNotAvailable
        self._state, self._expires = "active", None
        waits = request.extensions.get("timeout", {})
        try:
            if self._stream is None:
                self._stream = await self._connected(waits.get("connect"))
            reply = _Reply(
                self, self._stream, waits.get("read"), bodiless=request.method == b"HEAD"
            )
            # A provider may refuse a request before it has read all of it.
            with suppress(httpcore2.WriteError):
                await _send(self._stream, request, waits.get("write"))
                reply.asked = True
            await reply.head()
        except BaseException:
            await self.aclose()
            raise
        return httpcore2.Response(reply.status, headers=reply.headers, content=reply)

    async def _connected(self, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        host = self._origin.host.decode("ascii")
        stream = await self._backend.connect_tcp(host, self._origin.port, timeout=seconds)
        if self._origin.scheme != b"https":
            return stream
        self._context.set_alpn_protocols(["http/1.1"])
        try:
            return await stream.start_tls(self._context, server_hostname=host, timeout=seconds)
        except BaseException:
            await stream.aclose()
            raise

    async def released(self, *, reusable: bool) -> None:
        """The reply has ended; the connection may be reused if nothing of the reply is left."""
        if not reusable:
            await self.aclose()
        elif self._state == "active":
            self._state = "idle"
            if self._kept_seconds is not None:
                self._expires = time.monotonic() + self._kept_seconds

    async def aclose(self) -> None:
        self._state = "closed"
        if self._stream is not None:
            await self._stream.aclose()

    # --- what the pool asks ---

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return origin == self._origin

    def is_connected(self) -> bool:
        return self._stream is not None and self._state != "closed"

    def is_available(self) -> bool:
        return self._state == "idle"

    def is_idle(self) -> bool:
        return self._state == "idle"

    def is_closed(self) -> bool:
        return self._state == "closed"

    def has_expired(self) -> bool:
        if self._state != "idle" or self._stream is None:
            return False
        late = self._expires is not None and time.monotonic() > self._expires
        # On an idle connection, nothing but its end may arrive.
        return late or bool(self._stream.get_extra_info("is_readable"))

    def info(self) -> str:
        return f"{self._origin}, HTTP/1.1, {self._state}"


async def _send(
    stream: httpcore2.AsyncNetworkStream, request: httpcore2.Request, seconds: float | None
) -> None:
    lines = [request.method, b" ", request.url.target, b" HTTP/1.1\r\n"]
    chunked = False
    for name, value in request.headers:
        lines += (name, b": ", value, b"\r\n")
        chunked = chunked or name == b"transfer-encoding"
    lines.append(b"\r\n")
    await stream.write(b"".join(lines), seconds)
    if isinstance(request.stream, AsyncIterable):
        async for piece in request.stream:
            if piece:
                framed = b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece
                await stream.write(framed, seconds)
    if chunked:
        await stream.write(b"0\r\n\r\n", seconds)


class _Reply:
    """One reply as it arrives: its head, then the pieces of its body."""

    def __init__(
        self,
        connection: ProviderConnection,
        stream: httpcore2.AsyncNetworkStream,
        seconds: float | None,
        *,
        bodiless: bool,
    ) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        # Whether all of the request was sent.
        self.asked = False
        self._connection = connection
        self._stream = stream
        self._seconds = seconds
        self._bodiless = bodiless
        self._parser = httptools.HttpResponseParser(self)
        self._fields: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._read = 0
        self._fault: httpcore2.RemoteProtocolError | None = None
        self._whole = False
        self._kept = False
        self._surplus = False

    async def head(self) -> None:
        """Read until the head is there."""
        while not self.status:
            await self._receive()
            if not self.status and self._fault is not None:
                raise self._fault
            if not self.status and self._read > _LARGEST_HEAD:
                raise httpcore2.RemoteProtocolError("the head of the response is too long")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if self._pieces:
                pieces, self._pieces = self._pieces, []
                yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
            elif self._whole:
                return
            elif self._fault is not None:
                raise self._fault
            else:
                await self._receive()

    async def aclose(self) -> None:
        reusable = self._whole and self._kept and self.asked and not self._surplus
        await self._connection.released(reusable=reusable)

    async def _receive(self) -> None:
        data = await self._stream.read(_LARGEST_READ, self._seconds)
        if not data:
            self._ended()
            return
        self._read += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # Data before the fault is forwarded to the client first; data after the reply is
            # surplus.
            self._surplus = self._whole
            self._fault = httpcore2.RemoteProtocolError(str(error))

    def _ended(self) -> None:
        """The provider closed the connection: the end of a body without a length."""
        if not self.status:
            raise httpcore2.RemoteProtocolError("Server disconnected without sending a response.")
        if {b"content-length", b"transfer-encoding"} & {name.lower() for name, _ in self.headers}:
            raise httpcore2.RemoteProtocolError("the response was broken off")
        self._whole = True

    # --- the parser's side ---

    def on_message_begin(self) -> None:
        self._surplus = self._whole

    def on_status(self, reason: bytes) -> None:
        if CONTROL.search(reason):
            self._fault = httpcore2.RemoteProtocolError(f"the status is {reason!r}")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))
        # Any other coding would have to be decoded, since it applies to one connection only.
        if name.lower() == b"transfer-encoding" and value.lower() != b"chunked":
            self._fault = httpcore2.RemoteProtocolError(f"the transfer encoding is {value!r}")

    def on_headers_complete(self) -> None:
        if self._surplus or self._fault is not None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            # Another head follows, such as after 100 Continue; the parser refuses 101.
            self._fields = []
            return
        self.status, self.headers = status, self._fields
        self._kept = self._parser.should_keep_alive()
        self._whole = self._bodiless

    def on_body(self, body: bytes) -> None:
        if not self._surplus:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.status:
            self._whole = True
