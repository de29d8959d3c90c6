# ruff: noqa: ASYNC109 - httpcore's interface has timeouts as arguments
"""Connections to providers and to clients, straight on the event loop's own transports.

httpx and its usual backend take most of the processor time of a request that only passes through.
The pool, the HTTP protocol and TLS are the same here; only the layers around them are left out.
What is written in one iteration of the event loop goes out in one system call, and a client's body
is not copied.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from asyncio.staggered import staggered_race
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias, cast
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reverie.proxy.http1 import ProviderPool

Waited: TypeAlias = Literal["woken", "late"]

# A provider that does not read blocks the client once this much is waiting to be written.
_MOST_WAITING = 1024 * 1024
_MOST_UNREAD = 1024 * 1024
_KEPT_CONNECTIONS = 64
# Smaller writes are joined with others of the same iteration of the event loop.
_LITTLE = 16 * 1024
# When an address takes this long, the host's next address is tried in parallel.
_NEXT_ADDRESS_SECONDS = 0.25


def new_pool(
    address: httpx2.URL, context: ssl.SSLContext, kept_seconds: float | None
) -> httpcore2.AsyncConnectionPool:
    """A pool for one address, through the proxy that the environment names for it.

    A kept connection that the provider has closed is replaced before anything is written to it. A
    request that was written is never sent again, because both might be billed.
    """
    through = _proxy_for(address)
    if through is None:
        return ProviderPool(context, LoopBackend(), _KEPT_CONNECTIONS, kept_seconds)
    return httpcore2.AsyncConnectionPool(
        ssl_context=context,
        proxy=through,
        max_connections=None,
        max_keepalive_connections=_KEPT_CONNECTIONS,
        keepalive_expiry=kept_seconds,
        network_backend=LoopBackend(),
    )


@contextmanager
def library_known() -> Iterator[None]:
    """Tell httpcore once that this thread runs asyncio; it asks several times for every request."""
    try:
        from sniffio import thread_local
    except ImportError:
        yield
        return
    before, thread_local.name = thread_local.name, "asyncio"
    try:
        yield
    finally:
        thread_local.name = before


def _proxy_for(address: httpx2.URL) -> httpcore2.Proxy | None:
    """The proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, unless NO_PROXY names the host."""
    known = getproxies()
    url = known.get(address.scheme) or known.get("all")
    if not url or proxy_bypass(address.host):
        return None
    given = httpx2.Proxy(url if "://" in url else f"http://{url}")
    return httpcore2.Proxy(
        httpcore2.URL(given.url.raw_scheme + b"://" + given.url.netloc), auth=given.raw_auth
    )


class LoopBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections on the running event loop."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                connected = await _connected(host, port)
                for option in socket_options or ():
                    connected.setsockopt(*option)
                _, made = await loop.create_connection(Connection, sock=connected)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return made

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _connected(host: str, port: int) -> socket.socket:
    """A socket to the first address that answers; a slow one does not delay the next."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    tries = [partial(_connect, family, address) for family, _, _, _, address in found]
    winner, _, errors = await staggered_race(tries, _NEXT_ADDRESS_SECONDS)
    if winner is None:
        raise next(error for error in errors if error is not None)
    return cast(socket.socket, winner)


async def _connect(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


class Gathering:
    """A transport that joins all writes of one iteration of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._gathered: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        if len(data) >= _LITTLE:
            self.flush()

    def flush(self) -> None:
        if gathered := self._gathered:
            self._gathered = []
            self._transport.writelines(gathered)

    def close(self) -> None:
        self.flush()
        self._transport.close()


class ClientProtocol(HttpToolsProtocol):
    """Uvicorn's side of a client's connection, without a copy of its body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, Gathering(transport)))

    def on_body(self, body: bytes) -> None:
        if not self.cycle.body:
            # Added to empty bytes, the body stays the same object; uvicorn's own array would copy
            # it.
            self.cycle.body = b""  # type: ignore[assignment]
        super().on_body(body)


class Connection(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One connection: the event loop's protocol on one side, httpcore's stream on the other."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._gathering: Gathering | None = None
        self._unread: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._error: Exception | None = None
        self._writable = True
        # Set while a read or a write is waiting; only one task at a time uses the connection.
        self._waiter: asyncio.Future[Waited] | None = None

    # --- the event loop's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._gathering = Gathering(self._transport)
        self._transport.set_write_buffer_limits(_MOST_WAITING)

    def data_received(self, data: bytes) -> None:
        self._unread.append(data)
        self._size += len(data)
        if self._size > _MOST_UNREAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._error = True, exc
        self._wake()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            _end(self._waiter, "woken")

    async def _wait(self, seconds: float | None) -> bool:
        """Wait until something happens; False if nothing did in time."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Waited] = loop.create_future()
        self._waiter = waiter
        timer = None if seconds is None else loop.call_later(seconds, _end, waiter, "late")
        try:
            return await waiter == "woken"
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    # --- httpcore's side ---

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while not self._unread:
            if self._error is not None:
                raise httpcore2.ReadError(str(self._error)) from self._error
            if self._ended:
                return b""
            if not await self._wait(timeout):
                raise httpcore2.ReadTimeout("nothing came in time")
        piece = self._unread.popleft()
        if len(piece) > max_bytes:
            self._unread.appendleft(piece[max_bytes:])
            piece = piece[:max_bytes]
        was_full = self._size > _MOST_UNREAD
        self._size -= len(piece)
        if was_full and self._size <= _MOST_UNREAD and not self._ended and self._transport:
            self._transport.resume_reading()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        if self._ended or self._gathering is None or self._gathering.is_closing():
            raise httpcore2.WriteError(str(self._error or "the connection is closed"))
        self._gathering.write(buffer)
        while not self._writable:
            if self._ended:
                raise httpcore2.WriteError(str(self._error or "the connection is closed"))
            if not await self._wait(timeout):
                raise httpcore2.WriteTimeout("nothing was taken in time")

    async def aclose(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> Connection:
        loop = asyncio.get_running_loop()
        if self._transport is None:
            raise httpcore2.ConnectError("the connection is closed")
        try:
            async with asyncio.timeout(timeout):
                made = await loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        if made is None:
            raise httpcore2.ConnectError("the provider closed the connection")
        self.connection_made(made)
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._ended or bool(self._unread) or self._is_readable()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._transport and self._transport.get_extra_info(names.get(info, info))

    def _is_readable(self) -> bool:
        """Whether something arrived that the event loop has not reported yet, such as the connection's end."""
        given: socket.socket | None = self.get_extra_info("socket")
        if given is None or given.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(given.fileno(), select.POLLIN)
        return bool(poll.poll(0))


def _end(waiter: asyncio.Future[Waited], how: Waited) -> None:
    if not waiter.done():
        waiter.set_result(how)
