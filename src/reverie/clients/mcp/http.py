"""The server on loopback HTTP, for clients on this machine that have the token."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from reverie import http_server
from reverie.errors import InputError

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
LARGEST_BODY = 1024 * 1024
TOKEN_VARIABLE = "REVERIE_MCP_TOKEN"

_SHORTEST_TOKEN = 16
_LARGEST_TOKEN_FILE = 4096
# How long open connections may delay shutdown.
_SHUTDOWN_SECONDS = 1
# How long a connection may take to send the token, and a request to send its body.
_HEAD_SECONDS = 10.0
_BODY_SECONDS = 30.0
# How many connections may be open at once that have not sent the token.
_MOST_UNAUTHENTICATED = 64
_BACKLOG = 16


@dataclass(frozen=True, slots=True)
class Token:
    """The token a client must send, and whether it was generated for this run."""

    value: str
    fresh: bool


def choose_token(variable: str | None, file: Path | None) -> Token:
    """The token from a file, else from the environment, else a new one."""
    if file is not None:
        return Token(_from_file(file), fresh=False)
    if variable:
        return Token(_accepted(variable, TOKEN_VARIABLE), fresh=False)
    return Token(secrets.token_urlsafe(32), fresh=True)


def _from_file(path: Path) -> str:
    """The token in a file; a missing file is created, readable by its owner only."""
    try:
        with suppress(FileExistsError):
            created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(created, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as existing:
            seen = os.fstat(existing.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise InputError(f"--token-file {path} is not a plain file")
            if seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) & 0o077:
                raise InputError(
                    f"--token-file {path} can be read by others; run: chmod 600 {path}"
                )
            content = existing.read(_LARGEST_TOKEN_FILE)
    except OSError as error:
        raise InputError(f"--token-file {path}: {error.strerror}") from error
    return _accepted(content.decode("utf-8", "replace"), f"--token-file {path}")


def _accepted(text: str, where: str) -> str:
    token = text.strip()
    if (
        len(token) < _SHORTEST_TOKEN
        or not (token.isascii() and token.isprintable())
        or " " in token
    ):
        raise InputError(
            f"{where} holds no usable token: give at least {_SHORTEST_TOKEN} letters and digits, "
            "without spaces"
        )
    return token


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 chooses a free one."""
    return http_server.listen(HOST, port)


def address(opened: socket.socket) -> str:
    return f"http://{HOST}:{opened.getsockname()[1]}{PATH}"


def serve(
    server: Server[Any], opened: socket.socket, token: Token, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once clients can connect."""
    port = opened.getsockname()[1]
    config = configured(_endpoint(server, port), token.value, ConnectionLimit())
    http_server.serve(config, opened, ready)


def configured(app: ASGIApp, token: str, limit: ConnectionLimit) -> uvicorn.Config:
    """Uvicorn's settings for an app behind a token and a connection limit."""
    return uvicorn.Config(
        TokenCheck(app, token, limit),
        http=cast("type[asyncio.Protocol]", partial(_Connection, limit)),
        # The limit would not see a connection that is upgraded.
        ws="none",
        # These are accepted before the limit can close any, so descriptors must suffice for them.
        backlog=_BACKLOG,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


class ConnectionLimit:
    """Limits connections that have not sent the token, in time and in number.

    A new connection evicts the one that has waited longest, so a client with the token gets through
    however many connections others hold open.
    """

    def __init__(
        self,
        most: int = _MOST_UNAUTHENTICATED,
        head: float = _HEAD_SECONDS,
        body: float = _BODY_SECONDS,
    ) -> None:
        self.body = body
        self._most = most
        self._head = head
        self._unauthenticated: dict[_Connection, asyncio.TimerHandle] = {}

    def opened(self, connection: _Connection) -> None:
        if len(self._unauthenticated) >= self._most:
            self._abort(next(iter(self._unauthenticated)))
        timer = connection.loop.call_later(self._head, self._abort, connection)
        self._unauthenticated[connection] = timer

    def forget(self, connection: _Connection) -> None:
        timer = self._unauthenticated.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def admitted(self, client: tuple[str, int] | None) -> None:
        """A request from this address sent the token."""
        for connection in [one for one in self._unauthenticated if one.client == client]:
            self.forget(connection)

    def _abort(self, connection: _Connection) -> None:
        self.forget(connection)
        connection.transport.abort()


class _Connection(H11Protocol):
    """A connection that reports to the limit when it opens and closes."""

    def __init__(self, limit: ConnectionLimit, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limit = limit

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.forget(self)
        super().connection_lost(exc)


def _endpoint(server: Server[Any], port: int) -> ASGIApp:
    """The MCP app; it refuses other host names and foreign origins."""
    names = [f"{name}:{port}" for name in (HOST, "localhost")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    return server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=LARGEST_BODY,
        host=HOST,
    )


class TokenCheck:
    """Middleware that requires a bearer token."""

    def __init__(self, app: ASGIApp, token: str, limit: ConnectionLimit) -> None:
        self._app = app
        self._limit = limit
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._has_token(scope):
            refusal = PlainTextResponse(
                "send the token that `reverie mcp --http` was started with, as: "
                "Authorization: Bearer TOKEN\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
            )
            await refusal(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._limit.admitted(scope["client"])
        await self._app(scope, self._in_time(receive), send)

    def _in_time(self, receive: Receive) -> Receive:
        """Treat a body that does not arrive in time as a disconnect."""
        whole = False

        async def receive_in_time() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            with anyio.move_on_after(self._limit.body):
                message = await receive()
                whole = not message.get("more_body", False)
                return message
            return {"type": "http.disconnect"}

        return receive_in_time

    def _has_token(self, scope: Scope) -> bool:
        given = Headers(scope=scope).getlist("authorization")
        # Compared in constant time, so that timing reveals nothing about the token.
        return len(given) == 1 and hmac.compare_digest(
            given[0].encode("latin-1", "replace"), self._expected
        )
