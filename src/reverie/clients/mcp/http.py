"""The server on loopback HTTP: for this machine only, and only for who knows the token."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
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

from reverie.errors import InputError

if TYPE_CHECKING:
    from types import FrameType

    from mcp.server import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
LARGEST_BODY = 1024 * 1024
TOKEN_VARIABLE = "REVERIE_MCP_TOKEN"

_SHORTEST_TOKEN = 16
_LARGEST_TOKEN_FILE = 4096
# How long connections that stay open may hold up the end.
_FAREWELL_SECONDS = 1
# How long a connection may take to show the token, and a request to bring its body.
_HEAD_SECONDS = 10.0
_BODY_SECONDS = 30.0
# How many connections that have not shown the token may wait at once.
_MOST_STRANGERS = 64
_MOST_AT_A_TIME = 16


@dataclass(frozen=True, slots=True)
class Token:
    """What a client must show, and whether it was made for this start."""

    value: str
    fresh: bool


def choose_token(variable: str | None, file: Path | None) -> Token:
    """From a file, else the environment, else a new one."""
    if file is not None:
        return Token(_from_file(file), fresh=False)
    if variable:
        return Token(_accepted(variable, TOKEN_VARIABLE), fresh=False)
    return Token(secrets.token_urlsafe(32), fresh=True)


def _from_file(path: Path) -> str:
    """The token in a file; one that is not there is made, for the owner's eyes only."""
    try:
        with suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(made, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as kept:
            seen = os.fstat(kept.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise InputError(f"--token-file {path} is not a plain file")
            if seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) & 0o077:
                raise InputError(
                    f"--token-file {path} can be read by others; run: chmod 600 {path}"
                )
            content = kept.read(_LARGEST_TOKEN_FILE)
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
    """A socket on loopback; port 0 takes any that is free."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
    except OSError as error:
        opened.close()
        raise InputError(
            f"cannot listen on {HOST}:{port} ({error.strerror}); choose another with --port"
        ) from error
    return opened


def address(opened: socket.socket) -> str:
    return f"http://{HOST}:{opened.getsockname()[1]}{PATH}"


def serve(
    server: Server[Any], opened: socket.socket, token: Token, ready: Callable[[], None]
) -> None:
    """Until SIGINT or SIGTERM; `ready` is called when clients can come."""
    port = opened.getsockname()[1]
    running = uvicorn.Server(configured(_endpoint(server, port), token.value, ConnectionLimit()))

    def leave(number: int, frame: FrameType | None) -> None:
        running.should_exit = True

    # For a signal before Uvicorn listens to them, and for the one it sends itself at its end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    opened.listen()
    ready()
    anyio.run(running.serve, [opened])


def configured(app: ASGIApp, token: str, door: ConnectionLimit) -> uvicorn.Config:
    """Uvicorn's settings for an app behind a token, and a door that strangers cannot block."""
    return uvicorn.Config(
        TokenCheck(app, token, door),
        http=cast("type[asyncio.Protocol]", partial(_Connection, door)),
        # A connection that is upgraded would leave the door's sight.
        ws="none",
        # Accepted at a time, before the door can send one away: descriptors must suffice for them.
        backlog=_MOST_AT_A_TIME,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_FAREWELL_SECONDS,
    )


class ConnectionLimit:
    """Connections that have not shown the token: each for a while, and only so many at once.

    The one that waited longest makes way for a new one, so whoever holds the token gets through
    however many others hold connections open.
    """

    def __init__(
        self, most: int = _MOST_STRANGERS, head: float = _HEAD_SECONDS, body: float = _BODY_SECONDS
    ) -> None:
        self.body = body
        self._most = most
        self._head = head
        self._strangers: dict[_Connection, asyncio.TimerHandle] = {}

    def came(self, connection: _Connection) -> None:
        if len(self._strangers) >= self._most:
            self._send_away(next(iter(self._strangers)))
        timer = connection.loop.call_later(self._head, self._send_away, connection)
        self._strangers[connection] = timer

    def left(self, connection: _Connection) -> None:
        timer = self._strangers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def admitted(self, client: tuple[str, int] | None) -> None:
        """The request from this address showed the token."""
        for connection in [one for one in self._strangers if one.client == client]:
            self.left(connection)

    def _send_away(self, connection: _Connection) -> None:
        self.left(connection)
        connection.transport.abort()


class _Connection(H11Protocol):
    """A connection that the door knows of."""

    def __init__(self, door: ConnectionLimit, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._door = door

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._door.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.left(self)
        super().connection_lost(exc)


def _endpoint(server: Server[Any], port: int) -> ASGIApp:
    """The protocol's own app; who comes under another name or from a foreign page is sent away."""
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
    """An app behind a bearer token."""

    def __init__(self, app: ASGIApp, token: str, door: ConnectionLimit) -> None:
        self._app = app
        self._door = door
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._knows_token(scope):
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
        self._door.admitted(scope["client"])
        await self._app(scope, self._in_time(receive), send)

    def _in_time(self, receive: Receive) -> Receive:
        """A body that does not come counts as a client that went away."""
        whole = False

        async def receive_in_time() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            with anyio.move_on_after(self._door.body):
                message = await receive()
                whole = not message.get("more_body", False)
                return message
            return {"type": "http.disconnect"}

        return receive_in_time

    def _knows_token(self, scope: Scope) -> bool:
        given = Headers(scope=scope).getlist("authorization")
        # Compared in constant time: how long it takes says nothing about the token.
        return len(given) == 1 and hmac.compare_digest(
            given[0].encode("latin-1", "replace"), self._expected
        )
