"""Runs the proxy: its socket, its token, its server, and a client started with it."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from reverie.errors import InputError
from reverie.files.atomic import make_private, read_json, write_json
from reverie.http_server import HttpServer
from reverie.logs import log_to
from reverie.proxy.access import Access, is_loopback
from reverie.proxy.app import ProxyApp
from reverie.proxy.clients import ProxySwitches
from reverie.proxy.connections import ClientProtocol
from reverie.proxy.engine import ProxyEngine
from reverie.proxy.upstream import TOKEN_HEADER, Upstreams
from reverie.workspace import without_secrets

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from reverie.workspace import Workspace

LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "REVERIE_PROXY_TOKEN"
STATE = "proxy.json"
LOG = "proxy.log"
# A request must not wait for a ranking model, nor share its thread with indexing.
OVERRIDES = ("models.side=offline", "features.search_past_context=false")
_SHORTEST_TOKEN = 16
_SHUTDOWN_SECONDS = 5
_BACKLOG = 512
# M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h.
_MALLOC_OPTIONS = {-3: 4 * 1024 * 1024, -1: 8 * 1024 * 1024}
# How long the layers' thread may hold the interpreter, in seconds.
_SWITCH_INTERVAL = 0.001


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket and how clients reach it; `token` is empty on loopback."""

    socket: socket.socket
    url: str
    access: Access

    @property
    def token(self) -> str:
        return self.access.token


def listen(host: str, port: int, token: str | None) -> Listener:
    """Bind a socket. Beyond this machine a token is needed; one is made if none is given."""
    loopback = _checked_loopback(host)
    if not loopback and token is not None and len(token) < _SHORTEST_TOKEN:
        raise InputError(
            f"{TOKEN_VARIABLE} has {len(token)} characters; give at least {_SHORTEST_TOKEN}, "
            "or leave it out and one is made"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; "
            "choose another with --port (0 takes any free one), or stop the other program"
        ) from error
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound.getsockname()[1]}"
    if loopback:
        return Listener(bound, url, Access(hosts=frozenset({"localhost"})))
    return Listener(bound, url, Access(token or secrets.token_urlsafe(32), hosts=None))


def _checked_loopback(host: str) -> bool:
    """Whether only this machine reaches the address; names other than localhost are refused."""
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError as error:
            raise InputError(
                f"--listen {host!r} is not an address; give one such as 0.0.0.0"
            ) from error
    return is_loopback(host)


def make_engine(
    app: Workspace,
    *,
    home: Path | None = None,
    overrides: Sequence[str] = (),
) -> ProxyEngine:
    switches = ProxySwitches.of(app.settings)
    return ProxyEngine(app, switches, home=home, overrides=tuple(overrides))


def application(app: Workspace, engine: ProxyEngine, listener: Listener) -> ProxyApp:
    return ProxyApp(engine, Upstreams.of(app.settings), listener.access)


def server(app: ASGIApp, ready: Callable[[], None]) -> HttpServer:
    config = uvicorn.Config(
        app,
        http=ClientProtocol,
        ws="none",
        loop="auto",
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        date_header=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return HttpServer(config, ready)


def serve(
    app: Workspace, engine: ProxyEngine, listener: Listener, ready: Callable[[], None]
) -> None:
    """Serve until a signal, and write a status file for `reverie doctor`."""
    _prepare_process(app)
    _keep_freed_memory()
    engine.warm_up().result()
    running = server(application(app, engine, listener), ready)
    with _announced(app, listener):
        running.run([listener.socket])


def _prepare_process(app: Workspace) -> None:
    sys.setswitchinterval(_SWITCH_INTERVAL)
    make_private(app.settings.home)
    log_to(app.settings.home / LOG, without_secrets)


def _keep_freed_memory() -> None:
    """Let the C library keep a few megabytes of freed memory, where it has such a setting (glibc).

    Otherwise the memory of every long body is returned to the system, and its pages are cleared
    again for the next one.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        for option, size in _MALLOC_OPTIONS.items():
            set_option(option, size)


@contextmanager
def _announced(app: Workspace, listener: Listener) -> Iterator[None]:
    path = app.settings.home / STATE
    with suppress(OSError):
        write_json(path, {"url": listener.url, "pid": os.getpid(), "token": bool(listener.token)})
    try:
        yield
    finally:
        state = read_json(path)
        if isinstance(state, dict) and state.get("pid") == os.getpid():
            path.unlink(missing_ok=True)


def announced(home: Path) -> dict[str, Any] | None:
    """The status file of the running proxy; None if there is none."""
    state = read_json(home / STATE)
    return state if isinstance(state, dict) and isinstance(state.get("url"), str) else None


def client_environment(url: str, token: str = "") -> dict[str, str]:
    """The variables by which clients find the proxy, and keep their features behind it."""
    variables = {
        "ANTHROPIC_BASE_URL": url,
        # Behind a foreign address Claude Code would load every tool at once.
        "ENABLE_TOOL_SEARCH": "true",
        "OPENAI_BASE_URL": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": f"{url}/gemini",
    }
    if token:
        variables["ANTHROPIC_CUSTOM_HEADERS"] = f"{TOKEN_HEADER.decode()}: {token}"
    return variables


def client_command(command: Sequence[str], url: str) -> list[str]:
    """The command, with the options that a client does not read from variables."""
    if Path(command[0]).name != "codex":
        return list(command)
    provider = "model_providers.reverie"
    given = {
        "model_provider": '"reverie"',
        f"{provider}.name": '"OpenAI through Reverie"',
        f"{provider}.base_url": f'"{url}/v1"',
        f"{provider}.env_key": '"OPENAI_API_KEY"',
        f"{provider}.wire_api": '"responses"',
        f"{provider}.supports_websockets": "false",
    }
    options = [part for key, value in given.items() for part in ("-c", f"{key}={value}")]
    return [command[0], *options, *command[1:]]


def run_client(
    app: Workspace,
    engine: ProxyEngine,
    listener: Listener,
    command: Sequence[str],
    environment: Mapping[str, str],
) -> int:
    """Serve while a client runs, and return its exit code."""
    _prepare_process(app)
    started = threading.Event()
    running = server(application(app, engine, listener), started.set)
    engine.warm_up().result()
    thread = threading.Thread(target=running.run, args=([listener.socket],))
    thread.start()
    try:
        started.wait()
        full = {**environment, **client_environment(listener.url)}
        return _foreground(client_command(command, listener.url), full)
    finally:
        running.should_exit = True
        thread.join()


def _foreground(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the client in the foreground; Ctrl-C is the client's."""
    try:
        child = subprocess.Popen(command, env=dict(environment))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot start {command[0]!r}: {reason}; is it installed?") from error
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = child.wait()
    finally:
        signal.signal(signal.SIGINT, previous)
    return 128 - code if code < 0 else code
