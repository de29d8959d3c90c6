"""The server on loopback HTTP: which requests are accepted and which refused."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import Implementation
from tests.cli.run import hears_signals
from tests.clients.mcp.stage import SESSION, Stage, call, refused

pytestmark = pytest.mark.anyio

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


class Running:
    """A server in a process of its own."""

    def __init__(self, place: Stage, *arguments: str, **env: str) -> None:
        command = [sys.executable, "-m", "reverie", "mcp", "--http", "--port", "0", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=place.root,
            env=place.environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hears_signals,
        )
        self.output = self._first_words()

    def _first_words(self) -> str:
        """Until it can be used: the end of the JSON object, or the last line for people."""
        lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("}") or "Ctrl-C" in line:
                break
        return "".join(lines)

    @property
    def info(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.output)
        return found

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors

    def post(self, body: object, **headers: str) -> tuple[int, str]:
        """One request, exactly as written."""
        place = urlsplit(self.info["url"])
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)
        given = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.info.get('token', '')}",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {name: value for name, value in given.items() if value}
        connection.request("POST", place.path, data, sent)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text


@pytest.fixture(scope="module")
def server(place: Stage) -> Iterator[Running]:
    running = Running(place, "--json", CLAUDE_CODE_SESSION_ID=SESSION)
    yield running
    code, errors = running.stop()
    assert code == 0
    assert "Traceback" not in errors


@asynccontextmanager
async def connected(url: str, token: str, **options: Any) -> AsyncIterator[Client]:
    info = Implementation(name="remote editor", version="3")
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as web:
        transport = streamable_http_client(url, http_client=web)
        async with Client(
            transport, client_info=info, cache=None, read_timeout_seconds=30, **options
        ) as client:
            yield client


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_a_client_with_the_token_has_everything(
    server: Running, place: Stage, mode: str, version: str
) -> None:
    async with connected(server.info["url"], server.info["token"], mode=mode) as client:
        assert client.protocol_version == version
        assert len((await client.list_tools()).tools) == 7
        text = f"The {mode} lighthouse keeper is called Jonna"
        saved = await call(client, "remember", text=text, even_if_known=True)
        found = await call(client, "recall", question="who keeps the lighthouse?")
        assert saved["file"] in [one["file"] for one in found["memories"]]
        assert (await client.read_resource("memory://index")).contents
        assert (await client.get_prompt("save", {})).messages
        assert "no memory" in await refused(client, "forget", file="nowhere.md")
    author = next(place.app().memory().history.log(saved["file"])).author
    # The session in the server's environment is not the session of an HTTP client.
    assert (author.session, author.model) == ("", "mcp:remote-editor")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, 401),
        ({"Authorization": "Bearer w\u00f6rt"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example", "Authorization": ""}, 401),
        ({"Content_Type": "text/plain"}, 400),
    ],
)
def test_which_requests_are_accepted(server: Running, headers: dict[str, str], status: int) -> None:
    got, text = server.post(INITIALIZE, **headers)
    assert got == status, text
    if status == 401:
        assert "Authorization: Bearer TOKEN" in text
        assert server.info["token"] not in text


def test_a_page_of_this_server_may_come_and_large_bodies_may_not(server: Running) -> None:
    origin = server.info["url"].removesuffix("/mcp")
    assert server.post(INITIALIZE, Origin=origin)[0] == 200
    assert server.post(b"[" + b" " * 1_100_000 + b"]")[0] == 413
    status, text = server.post(b"{no json")
    assert status == 400
    assert "Traceback" not in text
    assert server.post(INITIALIZE)[0] == 200


def test_only_one_address_listens(server: Running) -> None:
    place = urlsplit(server.info["url"])
    assert place.hostname == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|assign|timed out"):
        socket.create_connection(("127.0.0.2", place.port or 0), timeout=5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_token_from_a_file_is_not_printed(place: Stage, number: int) -> None:
    file = place.base / "token"
    running = Running(place, "--token-file", str(file))
    token = file.read_text().strip()
    url = next(line.split()[-1] for line in running.output.splitlines() if " at " in line)
    assert token not in running.output
    async with connected(url, token) as client:
        assert await client.list_tools()
        # A client that stays connected does not hold up the end.
        assert running.stop(number) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600


def test_it_can_be_stopped_as_soon_as_it_speaks(place: Stage) -> None:
    assert Running(place, REVERIE_MCP_TOKEN="0123456789abcdef").stop() == (0, "")


def test_a_port_that_is_taken_is_reported(server: Running, place: Stage) -> None:
    port = str(urlsplit(server.info["url"]).port)
    second = Running(place, "--port", port)
    _, errors = second.process.communicate(timeout=120)
    assert second.process.returncode == 1
    assert "choose another with --port" in errors
