"""A proxy in a thread in front of the provider on loopback, or of a server that records raw bytes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.cli.run import hears_signals

from reverie.proxy.engine import ProxyEngine
from reverie.proxy.running import OVERRIDES, application, listen, make_engine, server
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from tests.place import Place
    from tests.provider.provider import Provider

OFFLINE = (*OVERRIDES, "models.main=offline")
ALL_OFF = tuple(
    f"proxy.{name}=false"
    for name in (*("memory", "layers", "marks", "compaction", "learning", "record", "slim_tools"),)
)


@dataclass
class RunningProxy:
    """One proxy; `stop` waits until everything is recorded."""

    url: str
    app: Workspace
    engine: ProxyEngine
    stop: Callable[[], None]


def start_proxy(place: Place, upstream: str, *settings: str) -> RunningProxy:
    families = ("anthropic", "openai", "gemini")
    upstreams = tuple(f"proxy.upstream.{family}={upstream}" for family in families)
    # A busy machine is no reason for a request to be passed on as it came.
    overrides = (*OFFLINE, "proxy.patience=60000", *upstreams, *settings)
    app = Workspace.open(place.root, home=place.home, overrides=overrides)
    listener = listen("127.0.0.1", 0, None)
    engine = make_engine(app, home=place.home, overrides=overrides)
    ready = threading.Event()
    running = server(application(app, engine, listener), ready.set)
    thread = threading.Thread(target=running.run, args=([listener.socket],))
    thread.start()
    ready.wait()

    def stop() -> None:
        running.should_exit = True
        thread.join()
        listener.socket.close()

    return RunningProxy(listener.url, app, engine, stop)


@pytest.fixture
def start(place: Place, provider: Provider) -> Iterator[Callable[..., RunningProxy]]:
    """Start a proxy with these settings in front of the provider, or of another address."""
    running: list[RunningProxy] = []

    def begin(*settings: str, upstream: str | None = None) -> RunningProxy:
        running.append(start_proxy(place, upstream or provider.base_url, *settings))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def proxy_process(
    place: Place, provider: Provider, *options: str
) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """`reverie proxy` as a person starts it, and what it says once it listens."""
    command = [
        sys.executable, "-m", "reverie", "--project", str(place.root), "--home", str(place.home),
        "--set", f"proxy.upstream.anthropic={provider.base_url}", "--set", "models.main=offline",
        "--set", "proxy.patience=60000", "--json", "proxy", "--port", "0", *options,
    ]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=hears_signals)
    assert child.stdout is not None
    told = "".join(iter(child.stdout.readline, "}\n"))
    return child, json.loads(told + "}")


@dataclass
class RawUpstream:
    """A server that records what it gets, byte for byte, and answers with given bytes."""

    answers: list[bytes] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            data = self._whole_request(connection)
            if data:
                self.received.append(data)
                connection.sendall(self.answers[min(len(self.received), len(self.answers)) - 1])

    def _whole_request(self, connection: socket.socket) -> bytes:
        data = bytearray()
        wanted: int | None = None
        while piece := connection.recv(1 << 20):
            data += piece
            if wanted is None and (end := data.find(b"\r\n\r\n")) >= 0:
                wanted = self._length(bytes(data[:end]).lower(), end + 4)
            if wanted == -1 and data.endswith(b"0\r\n\r\n"):
                break
            if wanted is not None and 0 <= wanted <= len(data):
                break
        return bytes(data)

    def _length(self, head: bytes, end: int) -> int:
        """Where the request ends; -1 if its pieces say so."""
        if b"transfer-encoding: chunked" in head:
            return -1
        if b"content-length:" not in head:
            return end
        return end + int(head.split(b"content-length:")[1].split(b"\r\n")[0])

    def close(self) -> None:
        # Closing alone would not wake the thread that waits for connections.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def raw_upstream() -> Iterator[RawUpstream]:
    upstream = RawUpstream()
    yield upstream
    upstream.close()
